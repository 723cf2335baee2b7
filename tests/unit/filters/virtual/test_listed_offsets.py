"""ListOffsets of topics with five virtual partitions on two: what the broker is asked, what is read, what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.filters.virtual import offset_scans
from bifrost.filters.virtual.offset_scans import CHUNK, FIRST_CHUNK
from bifrost.forwarding.broker_costs import READ_BATCH_NS
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import TIMESTAMP_MS, build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import Playbook, Step, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
EARLIEST, LATEST = -2, -1
AGAIN = int(ErrorCode.KAFKA_STORAGE_ERROR)
VERSION = 7


def asked(*topics: tuple[str, list[tuple[int, int]]]) -> Any:
    """Return a request for partitions, each with a time."""
    entries = [
        {
            "name": name,
            "partitions": [
                {"partition_index": one, "timestamp": at, "current_leader_epoch": 3} for one, at in some
            ],
        }
        for name, some in topics
    ]
    return messages.build("ListOffsetsRequest", {"replica_id": -1, "topics": entries})


def told(*topics: tuple[str, list[tuple[int, ...]]]) -> Any:
    """Return an answer: partition, offset, timestamp and error of each; a leader has answered where there is none."""
    names = ("partition_index", "offset", "timestamp", "error_code")
    entries = []
    for name, some in topics:
        partitions = [
            {"timestamp": -1, "error_code": 0} | dict(zip(names, one, strict=False)) for one in some
        ]
        for one in partitions:
            one["leader_epoch"] = -1 if one["offset"] < 0 else 3
        entries.append({"name": name, "partitions": partitions})
    return messages.build("ListOffsetsResponse", {"topics": entries})


def log_of(*groups: int, base: int = 0, **fields: Any) -> bytes:
    """Return a batch of two records of each group, from an offset on."""
    log = b""
    for at, group in enumerate(groups):
        batch = marked_batch(
            build_batch([b"one", b"two"], producer_id=7, producer_epoch=0, base_sequence=0, **fields), group
        )
        whole = b"".join(batch) if isinstance(batch, tuple) else bytes(batch)
        log += (base + 2 * at).to_bytes(8, "big") + whole[8:]
    return log


def read(log: dict[tuple[int, int, int], bytes | int]) -> Step:
    """Give the session what it waits for; by partition, offset and size records or an error, and nothing else."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, StoredBatches)
        wanted = {StoredAt(ORDERS.encode(), *at) for at in log}
        assert set(need.wanted) == wanted
        found = {
            StoredAt(ORDERS.encode(), *at): StoredBatch(one) if isinstance(one, int) else StoredBatch(0, one)
            for at, one in log.items()
        }
        book.play(lambda: book.session.meet(replace(need, found=found)), CloseReason.MALFORMED)
        return f"{set(log)} are read"

    return step


@pytest.fixture
def book(stage: Stage) -> Playbook:
    divided(stage, "orders")
    return stage.play()


def test_the_end_is_behind_the_last_own_record(book: Playbook) -> None:
    log = log_of(0, 1, 2, 0, 0)

    assert (
        book
        >> client_sends(asked(("orders", [(0, LATEST), (2, LATEST), (4, LATEST)])), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, 10)])))
        >> broker_answers(told((ORDERS, [(0, 0)])))
        >> read({(0, 0, CHUNK): log})
        << to_client(told(("orders", [(0, 10), (2, 4), (4, 6)])))
    )


def test_only_what_is_new_is_read(book: Playbook) -> None:
    def ends(end: int, step: Step | None, expected: int) -> None:
        scene = (
            book
            >> client_sends(asked(("orders", [(2, LATEST)])), VERSION)
            << to_broker(asked((ORDERS, [(0, LATEST)])))
            << to_broker(asked((ORDERS, [(0, EARLIEST)])))
            >> broker_answers(told((ORDERS, [(0, end)])))
            >> broker_answers(told((ORDERS, [(0, 0)])))
        )
        if step is not None:
            scene = scene >> step
        assert scene << to_client(told(("orders", [(2, expected)])))

    ends(4, read({(0, 0, CHUNK): log_of(1, 0)}), 2)
    ends(4, None, 2)
    # As the last own record is known, and nothing is new of which is not known whose it is.
    ends(8, read({(0, 4, CHUNK): log_of(0, 0, base=4)}), 2)
    ends(10, read({(0, 8, CHUNK): log_of(1, base=8)}), 10)


def test_without_a_record_it_ends_a_little_before_the_physical_one(book: Playbook) -> None:
    end = 5 * STEP + 4
    low = 4 * STEP
    assert (
        book
        >> client_sends(asked(("orders", [(2, LATEST), (4, EARLIEST)])), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, end)])))
        >> broker_answers(told((ORDERS, [(0, 7)])))
        >> read(
            {
                (0, end - 64, CHUNK): log_of(*[0] * 32, base=end - 64),
                (0, 7, FIRST_CHUNK): log_of(0, base=6),
            }
        )
        >> read(
            {
                (0, end - 64 - 256, CHUNK): log_of(*[0] * 128, base=end - 64 - 256),
                (0, 8, CHUNK): b"",
            }
        )
        >> read({(0, end - 64 - 256 - 1024, CHUNK): log_of(*[0] * 512, base=end - 64 - 256 - 1024)})
        >> read(
            {(0, end - 64 - 256 - 1024 - 4096, CHUNK): log_of(*[0] * 2048, base=end - 64 - 256 - 1024 - 4096)}
        )
        >> read({(0, low, CHUNK): log_of(*[0] * (STEP // 2), base=low)})
        << to_client(told(("orders", [(2, low), (4, 8)])))
    )


@pytest.mark.parametrize(("after_ms", "found"), [(-100, (4, 0)), (0, (4, 0)), (1, (5, 1))])
@pytest.mark.parametrize("codec", [0, 1])
def test_a_record_is_found_by_its_time(
    book: Playbook, after_ms: int, found: tuple[int, int], codec: int
) -> None:
    """The records of each batch are a millisecond apart."""
    time_ms, (offset, behind_ms) = TIMESTAMP_MS + after_ms, found

    assert (
        book
        >> client_sends(asked(("orders", [(4, time_ms)])), VERSION)
        << to_broker(asked((ORDERS, [(0, time_ms)])))
        >> broker_answers(told((ORDERS, [(0, 1, TIMESTAMP_MS + 1)])))
        >> read({(0, 1, FIRST_CHUNK): log_of(0, 1, 2, compression_type=codec)})
        << to_client(told(("orders", [(4, offset, TIMESTAMP_MS + behind_ms)])))
    )


def test_times_after_the_last_own_record_have_none(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(("orders", [(4, 900), (1, 900)])), VERSION)
        << to_broker(asked((ORDERS, [(0, 900), (1, 900)])))
        >> broker_answers(told((ORDERS, [(0, 0, 1_000), (1, -1)])))
        >> read({(0, 0, FIRST_CHUNK): log_of(0)})
        >> read({(0, 2, CHUNK): b""})
        << to_client(told(("orders", [(4, -1), (1, -1)])))
    )


def test_partitions_that_share_what_is_read_have_it_read_once(book: Playbook) -> None:
    log = log_of(0, 2, 1)

    assert (
        book
        >> client_sends(asked(("orders", [(0, EARLIEST), (2, EARLIEST), (4, EARLIEST)])), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, 6)])))
        >> broker_answers(told((ORDERS, [(0, 0)])))
        >> read({(0, 0, FIRST_CHUNK): log})
        << to_client(told(("orders", [(0, 0), (2, 4), (4, 2)])))
    )


def test_other_topics_and_unknown_times_stay_as_the_broker_says(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(("billing", [(7, LATEST)]), ("orders", [(2, -7), (0, -8)])), VERSION)
        << to_broker(asked((ORDERS, [(0, -8)])))
        << to_broker(asked((BILLING, [(7, LATEST)]), (ORDERS, [(0, -7)])))
        >> broker_answers(told((ORDERS, [(0, 6)])))
        >> broker_answers(told((BILLING, [(7, 70)]), (ORDERS, [(0, 4)])))
        << to_client(told(("billing", [(7, 70)]), ("orders", [(2, 4), (0, 6)])))
    )


@pytest.mark.parametrize("time", [-4, -6])
def test_what_begins_elsewhere_begins_with_the_first_own_record_from_there_on(
    book: Playbook, time: int
) -> None:
    """What is on the broker's own disk (KIP-405), and what is not uploaded yet (KIP-1023)."""
    assert (
        book
        >> client_sends(asked(("orders", [(2, time), (4, time)])), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, time)])))
        >> broker_answers(told((ORDERS, [(0, 12)])))
        >> broker_answers(told((ORDERS, [(0, 6)])))
        >> read({(0, 6, FIRST_CHUNK): log_of(0, 1, 0, base=6)})
        >> read({(0, 12, CHUNK): b""})
        << to_client(told(("orders", [(2, 8), (4, 6)])))
    )


def test_the_last_offset_in_remote_storage_is_that_of_the_last_own_record_there(book: Playbook) -> None:
    """KIP-1005. The first virtual partition has none there, though it has one behind."""
    assert (
        book
        >> client_sends(asked(("orders", [(2, -5), (0, -5)])), VERSION)
        << to_broker(asked((ORDERS, [(0, -5)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, 7)])))
        >> broker_answers(told((ORDERS, [(0, 2)])))
        >> read({(0, 2, CHUNK): log_of(1, 2, 2, 0, base=2)})
        << to_client(told(("orders", [(2, 3), (0, -1)])))
    )


def test_where_nothing_is_in_remote_storage_there_is_no_last_offset(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(("orders", [(2, -5)])), VERSION)
        << to_broker(asked((ORDERS, [(0, -5)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, -1)])))
        >> broker_answers(told((ORDERS, [(0, 2)])))
        << to_client(told(("orders", [(2, -1)])))
    )


def test_what_cannot_be_asked_is_answered_here(book: Playbook) -> None:
    unknown, twice = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), int(ErrorCode.INVALID_REQUEST)
    wanted = [(5, LATEST), (-1, LATEST), (3, -3), (1, -7), (1, LATEST), (5, LATEST)]

    assert (
        book
        >> client_sends(asked(("orders", wanted)), 6)
        << to_broker(asked((ORDERS, [(1, -7)])))
        >> broker_answers(told((ORDERS, [(1, 4)])))
        << to_client(
            told(
                (
                    "orders",
                    [
                        (1, 4),
                        (5, -1, -1, unknown),
                        (-1, -1, -1, unknown),
                        (3, -1, -1, int(ErrorCode.UNSUPPORTED_VERSION)),
                        (1, -1, -1, twice),
                        (5, -1, -1, twice),
                    ],
                )
            )
        )
    )


def test_a_request_of_nothing_that_there_is_goes_on_empty(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(("orders", [(5, LATEST)])), VERSION)
        << to_broker(asked())
        >> broker_answers(told())
        << to_client(told(("orders", [(5, -1, -1, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))])))
    )


def test_the_brokers_errors_are_told(book: Playbook) -> None:
    assert (
        book
        >> client_sends(asked(("orders", [(0, 5), (2, LATEST), (4, EARLIEST)])), VERSION)
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, 5)])))
        >> broker_answers(told((ORDERS, [(0, -1, -1, 6)])))
        >> broker_answers(told((ORDERS, [(0, -1, -1, 6)])))
        >> broker_answers(told((ORDERS, [(0, -1, -1, 6)])))
        << to_client(told(("orders", [(0, -1, -1, 6), (2, -1, -1, 6), (4, -1, -1, 6)])))
    )


def after(book: Playbook, *wanted: tuple[int, int]) -> Playbook:
    """Play until the broker has said that the log has the offsets 0 to 9."""
    return (
        book
        >> client_sends(asked(("orders", list(wanted))), VERSION)
        << to_broker(asked((ORDERS, [(0, LATEST)])))
        << to_broker(asked((ORDERS, [(0, EARLIEST)])))
        >> broker_answers(told((ORDERS, [(0, 10)])))
        >> broker_answers(told((ORDERS, [(0, 0)])))
    )


@pytest.mark.parametrize(
    "code", [AGAIN, int(ErrorCode.NOT_LEADER_OR_FOLLOWER), int(ErrorCode.OFFSET_OUT_OF_RANGE)]
)
def test_what_cannot_be_read_now_is_asked_for_again(book: Playbook, code: int) -> None:
    assert (
        after(book, (2, LATEST), (4, EARLIEST))
        >> read({(0, 0, CHUNK): code, (0, 0, FIRST_CHUNK): code})
        << to_client(told(("orders", [(2, -1, -1, AGAIN), (4, -1, -1, AGAIN)])))
    )


@pytest.mark.parametrize("spoilt", [int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), b"\0" * 16 + b"\1" * 90])
def test_where_the_log_may_not_be_read_the_brokers_answer_stands(book: Playbook, spoilt: bytes | int) -> None:
    assert (
        after(book, (2, LATEST), (4, EARLIEST))
        >> read({(0, 0, CHUNK): spoilt, (0, 0, FIRST_CHUNK): spoilt})
        << to_client(told(("orders", [(2, 10), (4, 0)])))
    )


def test_a_log_that_ends_before_its_end_is_asked_for_again(book: Playbook) -> None:
    assert (
        after(book, (2, LATEST))
        >> read({(0, 0, CHUNK): b""})
        << to_client(told(("orders", [(2, -1, -1, AGAIN)])))
    )


def test_what_one_request_reads_has_a_bound(
    stage: Stage, book: Playbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = log_of(0)
    monkeypatch.setattr(offset_scans, "MAX_SCANNED_BYTES", 2 * len(part))
    one = after(book, (2, LATEST)) >> read({(0, 0, CHUNK): part})
    assert not hits_of(stage)

    assert (
        one >> read({(0, 2, CHUNK): log_of(0, base=2)}) << to_client(told(("orders", [(2, -1, -1, AGAIN)])))
    )
    assert hits_of(stage) == {("virtual_offset_bytes", "acme"): 1}


def test_what_is_read_of_one_partition_has_a_bound(book: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is then an offset before which, or from which on, there is certainly none."""
    part = log_of(0)
    monkeypatch.setattr(offset_scans, "MAX_SCAN_BYTES", 2 * len(part))

    assert (
        after(book, (2, LATEST), (4, EARLIEST))
        >> read({(0, 0, CHUNK): part, (0, 0, FIRST_CHUNK): part})
        >> read({(0, 2, CHUNK): log_of(0, base=2)})
        << to_client(told(("orders", [(2, 10), (4, 0)])))
    )


def test_what_is_read_is_charged_to_the_brokers_time(stage: Stage, book: Playbook) -> None:
    load = stage.shared.lanes.in_flight_limits.load("acme")
    begun = after(book, (2, LATEST), (0, LATEST))
    before_ns = load.broker_left_ns
    for at in range(0, 10, 2):
        begun = begun >> read({(0, at, CHUNK): log_of(0, base=at)})
    assert begun << to_client(told(("orders", [(2, 0), (0, 10)])))

    # The request has told of two.
    assert before_ns - load.broker_left_ns == 3 * READ_BATCH_NS


def test_so_many_parts_are_read_at_a_time(book: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_scans, "AT_A_TIME", 1)

    assert (
        after(book, (2, LATEST), (4, EARLIEST))
        >> read({(0, 0, CHUNK): log_of(0, 0, 0, 1, 0)})
        >> read({(0, 0, FIRST_CHUNK): log_of(0, 2)})
        << to_client(told(("orders", [(2, 8), (4, 2)])))
    )


def test_the_oldest_version_has_offsets_of_segments(book: Playbook) -> None:
    request = messages.build(
        "ListOffsetsRequest",
        {
            "replica_id": -1,
            "topics": [
                {
                    "name": "orders",
                    "partitions": [{"partition_index": 3, "timestamp": LATEST, "max_num_offsets": 2}],
                }
            ],
        },
    )
    at_broker = messages.build(
        "ListOffsetsRequest",
        {
            "replica_id": -1,
            "topics": [
                {
                    "name": ORDERS,
                    "partitions": [{"partition_index": 1, "timestamp": LATEST, "max_num_offsets": 2}],
                }
            ],
        },
    )

    def answer(name: str, partition: int) -> Any:
        some = [{"partition_index": partition, "old_style_offsets": [9, 4]}]
        return messages.build("ListOffsetsResponse", {"topics": [{"name": name, "partitions": some}]})

    assert (
        book
        >> client_sends(request, 0)
        << to_broker(at_broker)
        >> broker_answers(answer(ORDERS, 1))
        << to_client(answer("orders", 3))
    )
