"""ShareFetch of a topic with five virtual partitions on two: 0, 2 and 4 lie in 0, and 1 and 3 in 1."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.shares import share_sessions
from bifrost.tenancy.virtual_partitions.shares.share_room import (
    PHYSICAL_BYTES,
    SESSION_BYTES,
    TOPIC_BYTES,
    VIRTUAL_BYTES,
    ShareRoom,
)
from bifrost.tenancy.virtual_partitions.shares.share_sessions import LIMIT, MAX_SESSIONS
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import counts_of, divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
ID, OTHER_ID = bytes(15) + b"\7", bytes(15) + b"\11"
APP = physical_name("acme", "app")
ACCEPT, RELEASE = 1, 2
Named = dict[int, list[tuple[int, int, int]]]
"""Partitions, each with what is acknowledged: first and last offset, and the type."""
Shown = dict[int, tuple[bytes, list[tuple[int, int, int]], int, int]]
"""Partitions, each with its records, what is acquired, its error, and that of its acknowledgements."""


@pytest.fixture
def sharing(stage: Stage) -> Stage:
    stage.topic_ids.learn(ID, ORDERS.encode())
    stage.topic_ids.learn(OTHER_ID, BILLING.encode())
    divided(stage, "orders")
    return stage


def batches(*groups: int, base: int = 0) -> bytes:
    """Return two records of each group, as a broker has them from an offset on."""
    log = b""
    for place, group in enumerate(groups):
        batch = marked_batch(build_batch([b"1", b"2"], producer_id=7, base_sequence=0), group)
        whole = b"".join(batch) if isinstance(batch, tuple) else bytes(batch)
        log += (base + 2 * place).to_bytes(8, "big") + whole[8:]
    return log


def plain(offset: int) -> bytes:
    """Return two records of the first group."""
    return batches(0, base=offset)


def fetch(
    epoch: int,
    named: Named | None = None,
    forgotten: list[int] | None = None,
    *,
    group: str = "app",
    member: str = "m",
    other: Named | None = None,
) -> Any:
    """Return a request about the topic, and about another one without virtual partitions."""
    topics = [
        {
            "topic_id": topic_id,
            "partitions": [
                {
                    "partition_index": number,
                    "acknowledgement_batches": [
                        {"first_offset": first, "last_offset": last, "acknowledge_types": [kind]}
                        for first, last, kind in acknowledged
                    ],
                }
                for number, acknowledged in some.items()
            ],
        }
        for topic_id, some in ((OTHER_ID, other), (ID, named))
        if some
    ]
    gone = [{"topic_id": ID, "partitions": forgotten}] if forgotten else []
    fields = {"group_id": group, "member_id": member, "share_session_epoch": epoch, "topics": topics}
    return messages.build("ShareFetchRequest", {**fields, "forgotten_topics_data": gone})


def answer(shown: Shown | None = None, *, error: int = 0, other: Shown | None = None) -> Any:
    topics = [
        {
            "topic_id": topic_id,
            "partitions": [
                {
                    "partition_index": number,
                    "records": records,
                    "acquired_records": [
                        {"first_offset": first, "last_offset": last, "delivery_count": count}
                        for first, last, count in acquired
                    ],
                    "error_code": code,
                    "acknowledge_error_code": acknowledge_code,
                }
                for number, (records, acquired, code, acknowledge_code) in some.items()
            ],
        }
        for topic_id, some in ((OTHER_ID, other), (ID, shown))
        if some
    ]
    return messages.build("ShareFetchResponse", {"responses": topics, "error_code": error})


def bytes_of(sessions: int, physical: int, virtual: int) -> int:
    """Return what sessions of a topic take with so many physical and virtual partitions."""
    named = sessions * (SESSION_BYTES + len("app") + len("m") + TOPIC_BYTES)
    return named + physical * PHYSICAL_BYTES + virtual * VIRTUAL_BYTES


ALL: Named = {number: [] for number in range(5)}


def test_a_physical_partition_is_fetched_with_all_of_its_virtual_ones(sharing: Stage) -> None:
    log = batches(0, 1, 2, 1)

    assert (
        sharing.play()
        >> client_sends(fetch(0, ALL, other={6: []}), 1)
        << to_broker(fetch(0, {0: [], 1: []}, group=APP, other={6: []}))
        >> broker_answers(answer({0: (log, [(0, 7, 1)], 0, 0)}, other={6: (plain(3), [(3, 4, 1)], 0, 0)}))
        << to_client(
            answer(
                {
                    0: (log[: len(log) // 4], [(0, 1, 1)], 0, 0),
                    2: (parts_of(log, 1, 3), [(2, 3, 1), (6, 7, 1)], 0, 0),
                    4: (parts_of(log, 2), [(4, 5, 1)], 0, 0),
                },
                other={6: (plain(3), [(3, 4, 1)], 0, 0)},
            )
        )
    )
    assert counts_of(sharing)["acme", "own_bytes"] == len(log)


def parts_of(log: bytes, *places: int) -> bytes:
    """Return some batches of a log of four."""
    size = len(log) // 4
    return b"".join(log[place * size : (place + 1) * size] for place in places)


def test_none_is_fetched_of_which_the_session_lacks_a_virtual_one(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(fetch(0, {0: [], 2: [], 1: []}), 1)
        << to_broker(fetch(0, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(1, {4: []}), 1)
        << to_broker(fetch(1, {0: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(2), 1)
        << to_broker(fetch(2, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(3, {3: []}, [2]), 1)
        << to_broker(fetch(3, {1: []}, [0], group=APP))
    )


def test_what_the_broker_did_not_take_is_said_again(sharing: Stage) -> None:
    refused = answer(error=int(ErrorCode.GROUP_AUTHORIZATION_FAILED))

    assert (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(refused)
        << to_client(refused)
        >> client_sends(fetch(1), 1)
        << to_broker(fetch(1, {1: []}, group=APP))
    )


def test_acknowledgements_of_a_physical_partition_go_together_in_the_order_of_offsets(sharing: Stage) -> None:
    failed = int(ErrorCode.INVALID_RECORD_STATE)

    assert (
        sharing.play()
        >> client_sends(fetch(0, ALL), 1)
        << to_broker(fetch(0, {0: [], 1: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(
            fetch(1, {2: [(2, 3, ACCEPT), (6, 7, RELEASE)], 0: [(0, 1, ACCEPT)], 3: [(5, 5, ACCEPT)]}), 1
        )
        << to_broker(
            fetch(
                1,
                {0: [(0, 1, ACCEPT), (2, 3, ACCEPT), (6, 7, RELEASE)], 1: [(5, 5, ACCEPT)]},
                group=APP,
            )
        )
        >> broker_answers(answer({0: (batches(2, base=8), [(8, 9, 1)], 0, failed), 1: (b"", [], 0, 0)}))
        << to_client(
            answer(
                {
                    0: (b"", [], 0, failed),
                    2: (b"", [], 0, failed),
                    4: (batches(2, base=8), [(8, 9, 1)], 0, 0),
                    3: (b"", [], 0, 0),
                }
            )
        )
    )


def test_what_is_acknowledged_of_a_partition_that_was_given_up_is_not_fetched(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(1, {3: [(5, 6, ACCEPT)]}, [1, 3]), 1)
        << to_broker(fetch(1, {1: [(5, 6, ACCEPT)]}, [1], group=APP))
        >> broker_answers(answer({1: (b"", [], 0, 0)}))
        << to_client(answer({3: (b"", [], 0, 0)}))
    )


def test_the_last_fetch_of_a_session_has_acknowledgements_alone(sharing: Stage) -> None:
    book = (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(-1, {1: [(0, 1, ACCEPT)]}), 1)
        << to_broker(fetch(-1, {1: [(0, 1, ACCEPT)]}, group=APP))
        >> broker_answers(answer({1: (b"", [], 0, 0)}))
        << to_client(answer({1: (b"", [], 0, 0)}))
    )
    assert (
        book >> client_sends(fetch(2), 1) << to_client(answer(error=int(ErrorCode.SHARE_SESSION_NOT_FOUND)))
    )


def test_an_error_of_a_physical_partition_is_one_of_each_virtual_one(sharing: Stage) -> None:
    moved = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    assert (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: [], 0: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer({1: (b"", [], moved, 0)}))
        << to_client(answer({1: (b"", [], moved, 0), 3: (b"", [], moved, 0)}))
    )


def test_partitions_that_there_are_not_are_refused(sharing: Stage) -> None:
    absent = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    assert (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: [], 5: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer({1: (batches(1), [(0, 1, 1)], 0, 0)}))
        << to_client(answer({3: (batches(1), [(0, 1, 1)], 0, 0), 5: (b"", [], absent, 0)}))
    )


def test_records_that_do_not_say_whose_they_are_are_left_to_their_locks(sharing: Stage) -> None:
    corrupt = int(ErrorCode.CORRUPT_MESSAGE)
    broken = batches(0) + batches(0)

    assert (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer({1: (broken, [(0, 1, 1)], 0, 0)}))
        << to_client(answer({1: (b"", [], corrupt, 0), 3: (b"", [], corrupt, 0)}))
    )


def test_a_session_goes_on_when_its_topic_has_more_partitions(sharing: Stage) -> None:
    """Then 1, 3 and 5 lie in 1: it is fetched again when the member has the last of them."""
    book = (
        sharing.play()
        >> client_sends(fetch(0, {1: [], 3: []}), 1)
        << to_broker(fetch(0, {1: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
    )
    virtual = book.session._scope.virtual
    assert virtual is not None
    virtual._maps["orders"] = PartitionMap(6, 2)

    assert (
        book
        >> client_sends(fetch(1, {3: [(0, 1, ACCEPT)]}), 1)
        << to_broker(fetch(1, {1: [(0, 1, ACCEPT)]}, [1], group=APP))
        >> broker_answers(answer({1: (b"", [], 0, 0)}))
        << to_client(answer({3: (b"", [], 0, 0)}))
        >> client_sends(fetch(2, {5: []}), 1)
        << to_broker(fetch(2, {1: []}, group=APP))
        >> broker_answers(answer({1: (batches(2), [(0, 1, 1)], 0, 0)}))
        << to_client(answer({5: (batches(2), [(0, 1, 1)], 0, 0)}))
    )


def test_other_topics_pass_unchanged(sharing: Stage) -> None:
    shown: Shown = {6: (plain(3), [(3, 4, 1)], 0, 0)}

    assert (
        sharing.play()
        >> client_sends(fetch(0, other={6: []}), 1)
        << to_broker(fetch(0, group=APP, other={6: []}))
        >> broker_answers(answer(other=shown))
        << to_client(answer(other=shown))
    )


def test_the_sessions_of_a_connection_are_bounded(sharing: Stage) -> None:
    book = sharing.play()
    for number in range(MAX_SESSIONS):
        book = book >> client_sends(fetch(0, {1: [], 3: []}, member=str(number)), 1)
        book = book << to_broker(fetch(0, {1: []}, group=APP, member=str(number)))
        book = book >> broker_answers(answer()) << to_client(answer())
    full = answer(error=int(ErrorCode.SHARE_SESSION_LIMIT_REACHED))

    book = book >> client_sends(fetch(0, {1: [], 3: []}, member="one more"), 1) << to_client(full)
    assert hits_of(sharing) == {(LIMIT, "acme"): 1}
    # One that begins anew needs no more room.
    assert (
        book
        >> client_sends(fetch(0, {1: [], 3: []}, member="3"), 1)
        << to_broker(fetch(0, {1: []}, group=APP, member="3"))
    )


def test_the_partitions_of_its_sessions_are_bounded(sharing: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_sessions, "MAX_BYTES_OF_ONE", bytes_of(2, 3, 6))
    full = answer(error=int(ErrorCode.SHARE_SESSION_LIMIT_REACHED))
    book = (
        sharing.play()
        >> client_sends(fetch(0, ALL), 1)
        << to_broker(fetch(0, {0: [], 1: []}, group=APP))
        >> broker_answers(answer())
        << to_client(answer())
        >> client_sends(fetch(0, {1: [], 3: []}, member="n"), 1)
        << to_client(full)
    )

    assert hits_of(sharing) == {(LIMIT, "acme"): 1}
    assert (
        book >> client_sends(fetch(0, {1: []}, member="n"), 1) << to_broker(fetch(0, group=APP, member="n"))
    )


def test_the_partitions_of_all_connections_of_a_tenant_are_bounded(
    sharing: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = ShareRoom(bytes_of(2, 3, 6))
    monkeypatch.setattr("bifrost.filters.virtual.virtual_topics.ShareRoom", lambda: room)
    divided(sharing, "orders")
    full = answer(error=int(ErrorCode.SHARE_SESSION_LIMIT_REACHED))
    first = sharing.play() >> client_sends(fetch(0, ALL), 1)
    assert room.used == bytes_of(1, 2, 5)

    other = sharing.play() >> client_sends(fetch(0, {1: [], 3: []}), 1) << to_client(full)
    assert hits_of(sharing) == {(LIMIT, "acme"): 1}
    other = other >> client_sends(fetch(0, {1: []}), 1) << to_broker(fetch(0, group=APP))
    # A member that goes on needs no more room, and may end its session.
    first = first << to_broker(fetch(0, {0: [], 1: []}, group=APP)) >> broker_answers(answer())
    first = first << to_client(answer()) >> client_sends(fetch(1), 1) << to_broker(fetch(1, group=APP))
    first = first >> broker_answers(answer()) << to_client(answer())
    ended = first >> client_sends(fetch(-1, {1: [(0, 1, ACCEPT)]}), 1)
    assert ended << to_broker(fetch(-1, {1: [(0, 1, ACCEPT)]}, group=APP))
    assert ended >> broker_answers(answer()) << to_client(answer())

    assert room.used == bytes_of(1, 1, 1)
    del other
    assert room.used == 0, "a connection that ends gives its bytes back"
