"""ListOffsets by the index of logs, and the commits that it has to know of."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.virtual.offset_scans import CHUNK, FIRST_CHUNK
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.index.log_piece import read_piece
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import counts_of, divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

from . import test_fetched_offsets as fetched_offsets
from .test_committed_partitions import APP, beaten, commit, committed, elsewhere, heartbeat
from .test_listed_offsets import EARLIEST, LATEST, ORDERS, VERSION, asked, log_of, read, told

PLACE = (ORDERS.encode(), 0)
END = 5 * STEP
LOW = 4 * STEP
LAST = log_of(0, base=END - 2)


@pytest.fixture
def index() -> IndexTable:
    return IndexTable()


@pytest.fixture
def book(stage: Stage, index: IndexTable) -> Playbook:
    divided(stage, "orders", index=index)
    return stage.play()


def entry(last: bytes = LAST) -> IndexEntry:
    """Return an entry about a log with records of two groups, the second one only at its beginning."""
    piece = read_piece(last, is_keyed=False)
    assert piece is not None
    return IndexEntry(bytes(16), 0, piece.end, piece.last, {0: piece.end, 1: 4})


def begun(book: Playbook, *partitions: tuple[int, int]) -> Playbook:
    """Ask for partitions, and let the broker answer: the log has 40,960 records."""
    return (
        book
        >> client_sends(asked(("orders", [*partitions])), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, END)])))
        >> broker_answers(told((ORDERS, [(0, 0)])))
    )


def tail_read(book: Playbook) -> Playbook:
    """Read what is near the end."""
    at = END
    for length in (64, 256, 1024, 4096):
        at -= length
        book = book >> read({(0, at, CHUNK): log_of(*[0] * (length // 2), base=at)})
    return book >> read({(0, LOW, CHUNK): log_of(*[0] * (STEP // 2), base=LOW)})


def test_a_far_end_is_told_by_the_index_when_the_log_has_proved_it(
    stage: Stage, book: Playbook, index: IndexTable
) -> None:
    index.extend(PLACE, entry(), 0)

    assert (
        tail_read(begun(book, (2, LATEST), (4, LATEST)))
        >> read({(0, END - 1, 1): LAST})
        << to_client(told(("orders", [(2, 4), (4, 0)])))
    )
    assert counts_of(stage)["acme", "index_distrusted"] == 0


def test_an_index_about_another_log_is_counted_and_not_used(
    stage: Stage, book: Playbook, index: IndexTable
) -> None:
    index.extend(PLACE, entry(log_of(1, base=END - 2)), 0)

    assert (
        tail_read(begun(book, (2, LATEST)))
        >> read({(0, END - 1, 1): LAST})
        << to_client(told(("orders", [(2, LOW)])))
    )
    assert counts_of(stage)["acme", "index_distrusted"] == 1
    assert index.of(PLACE) is None


def test_ends_near_the_end_need_no_index(book: Playbook, index: IndexTable) -> None:
    index.extend(PLACE, entry(), 0)
    tail = log_of(*[0] * 31, 1, base=END - 64)

    assert (
        begun(book, (0, LATEST), (2, LATEST))
        >> read({(0, END - 64, CHUNK): tail})
        << to_client(told(("orders", [(0, END - 2), (2, END)])))
    )


def test_a_partition_without_records_begins_where_it_ends(book: Playbook) -> None:
    assert (
        begun(book, (4, EARLIEST))
        >> read({(0, 0, FIRST_CHUNK): log_of(0, 0)})
        >> read({(0, 4, CHUNK): b""})
        << to_client(told(("orders", [(4, 0)])))
    )


@pytest.mark.parametrize(
    ("offset", "error", "moved"),
    [
        (STEP, 0, STEP),
        (STEP, ErrorCode.ILLEGAL_GENERATION, 0),
        (STEP + 1, 0, 0),
        (0, 0, 0),
        (-1, 0, 0),
    ],
)
def test_a_commit_tells_where_fetch_has_moved_a_consumer_once_it_is_accepted(
    book: Playbook, index: IndexTable, offset: int, error: int, moved: int
) -> None:
    request = commit("app", ("orders", {0: offset}))
    assert book >> client_sends(request, 8) << to_broker(commit(APP, (ORDERS, {0: offset})))
    assert index.moved_to(PLACE, 0, END) == 0
    assert (
        book
        >> broker_answers(committed((ORDERS, {0: error})))
        << to_client(committed(("orders", {0: error})))
    )

    assert index.moved_to(PLACE, 0, END) == moved


@pytest.mark.parametrize(("error", "moved"), [(0, STEP), (ErrorCode.NOT_COORDINATOR, 0)])
def test_a_commit_to_an_offset_group_tells_it_likewise(
    book: Playbook, index: IndexTable, error: int, moved: int
) -> None:
    assert (
        book
        >> client_sends(commit("app", ("orders", {0: 3 * STEP, 2: STEP})), 8)
        << to_broker(heartbeat())
        >> broker_answers(beaten())
        << to_broker(elsewhere(1, {0: STEP}))
        >> broker_answers(committed((ORDERS, {0: error})))
        << to_broker(commit(APP, (ORDERS, {0: 3 * STEP})))
        >> broker_answers(committed((ORDERS, {0: 0})))
        << to_client(committed(("orders", {0: 0, 2: error})))
    )

    assert [index.moved_to(PLACE, group, END) for group in range(3)] == [3 * STEP, moved, 0]


def test_a_commit_of_a_zombie_tells_nothing(book: Playbook, index: IndexTable) -> None:
    code = ErrorCode.ILLEGAL_GENERATION
    assert (
        book
        >> client_sends(commit("app", ("orders", {0: 3 * STEP, 2: STEP})), 8)
        << to_broker(heartbeat())
        >> broker_answers(beaten(code))
        << to_broker(commit(APP, (ORDERS, {0: 3 * STEP})))
        >> broker_answers(committed((ORDERS, {0: code})))
        << to_client(committed(("orders", {0: code, 2: code})))
    )

    assert [index.moved_to(PLACE, group, END) for group in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(("error", "moved"), [(0, STEP), (ErrorCode.INVALID_PRODUCER_EPOCH, 0)])
def test_a_commit_in_a_transaction_tells_it_likewise(
    book: Playbook, index: IndexTable, error: int, moved: int
) -> None:
    def asked(group: str, transactional_id: str, topic: str) -> Any:
        topics = [{"name": topic, "partitions": [{"partition_index": 0, "committed_offset": STEP}]}]
        fields = {"transactional_id": transactional_id, "group_id": group, "producer_id": 9}
        return messages.build("TxnOffsetCommitRequest", {**fields, "producer_epoch": 2, "topics": topics})

    def told(topic: str) -> Any:
        topics = [{"name": topic, "partitions": [{"partition_index": 0, "error_code": error}]}]
        return messages.build("TxnOffsetCommitResponse", {"topics": topics})

    assert (
        book
        >> client_sends(asked("app", "txn", "orders"), 2)
        << to_broker(asked(APP, physical_name("acme", "txn"), ORDERS))
        >> broker_answers(told(ORDERS))
        << to_client(told("orders"))
    )

    assert index.moved_to(PLACE, 0, END) == moved


def test_an_offset_that_a_client_asks_for_tells_it_as_well(book: Playbook, index: IndexTable) -> None:
    """A gateway may have been killed before it has told the others of the commit."""
    own = fetched_offsets.told(**{APP: {ORDERS: {0: 3 * STEP, 1: 5}}})
    elsewhere = fetched_offsets.told(**{fetched_offsets.owner(1): {ORDERS: {0: 2 * STEP}}})
    both = messages.build("OffsetFetchResponse", {"groups": [*own.groups, *elsewhere.groups]})

    assert (
        book
        >> client_sends(fetched_offsets.asked(app={"orders": [0, 1, 2]}), 8)
        << to_broker(
            fetched_offsets.asked(**{APP: {ORDERS: [0, 1]}, fetched_offsets.owner(1): {ORDERS: [0]}})
        )
        >> broker_answers(both)
        << to_client(fetched_offsets.told(app={"orders": {0: 3 * STEP, 1: 5, 2: 2 * STEP}}))
    )
    assert [index.moved_to(PLACE, group, END) for group in range(3)] == [3 * STEP, 2 * STEP, 0]
    assert index.moved_to((PLACE[0], 1), 0, END) == 0
