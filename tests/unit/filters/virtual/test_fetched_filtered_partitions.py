"""What clients fetch of topics with virtual partitions and filters, and offsets by time there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.filters.virtual.offset_scans import FIRST_CHUNK
from bifrost.records.codec.columns import ColumnRecord
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions.virtual_batches import own_records
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
)
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.needing import AtHand, Text
from support.records.record_columns import batch_of
from support.stage import messages
from support.stage.divided_records import IDEMPOTENT, NO_PRODUCER, Opening, batch, marked, met, use
from support.stage.playbook import Playbook, Step, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")


def stored(*groups: int, **fields: Any) -> bytes:
    """Return a batch of each group, as a broker has them from offset 0 on."""
    log = b""
    for offset, group in enumerate(groups):
        log += offset.to_bytes(8, "big") + marked(batch(value=b"%d" % offset, **fields), group)[8:]
    return log


def own(log: bytes, group: int) -> bytes:
    """Return what a consumer gets without filters; nothing moves it behind its last record."""
    found = own_records(log, {group: 0}, 0).records[group]  # type: ignore[dict-item, index]
    return b"".join(found) if isinstance(found, tuple) else bytes(found)


def fetches(topic: str, *partitions: int, offset: int = 0) -> Any:
    some = [{"partition": one, "fetch_offset": offset, "partition_max_bytes": 1024} for one in partitions]
    return messages.build(
        "FetchRequest",
        {
            "max_wait_ms": 500,
            "session_epoch": -1,
            "session_id": 0,
            "topics": [{"topic": topic, "partitions": some}],
        },
    )


def told(topic: str, **partitions: bytes | int) -> Any:
    """Answer with records or an error by partition: `p0=...`."""
    some = [
        {"partition_index": int(name[1:]), "high_watermark": 9}
        | ({"records": one} if isinstance(one, bytes) else {"error_code": one, "records": b""})
        for name, one in partitions.items()
    ]
    return messages.build("FetchResponse", {"responses": [{"topic": topic, "partitions": some}]})


OPENED = {one: batch(value=b"opened %d" % one, producer=NO_PRODUCER) for one in range(5)}


def placed(partition: int, log: bytes, *offsets: int) -> bytes:
    """Return what a consumer of a virtual partition gets: what is opened, and markers for what is not its own."""
    found = own(log, partition // 2)
    for offset in offsets:
        before = offset.to_bytes(8, "big") + marked(batch(value=b"%d" % offset), partition // 2)[8:]
        assert before in found
        found = found.replace(before, offset.to_bytes(8, "big") + OPENED[partition][8:])
    return found


def test_a_consumer_gets_its_own_batches_as_filters_of_its_partition_leave_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = use(TransformKind(frozenset(Direction), lambda *_: Opening()), stage, monkeypatch)
    records.process.sources = AtHand({Text(f"key {one}"): data for one, data in OPENED.items()})
    log = stored(0, 1, 2, 2, 0)

    assert (
        stage.play()
        >> client_sends(fetches("orders", 0, 2, 4), 12)
        << to_broker(fetches(ORDERS, 0))
        >> broker_answers(told(ORDERS, p0=log))
        << to_client(told("orders", p0=placed(0, log, 0, 4), p2=placed(2, log, 1), p4=placed(4, log, 2, 3)))
    )


def test_a_batch_that_does_not_pass_is_an_error_of_its_virtual_partition_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = use(TransformKind(frozenset(Direction), lambda *_: Opening()), stage, monkeypatch)
    gone = Failure("gone", is_retriable=False)
    records.process.sources = AtHand({Text("key 0"): OPENED[0], Text("key 2"): gone})
    log = stored(0, 1)

    assert (
        stage.play()
        >> client_sends(fetches("orders", 0, 2), 12)
        << to_broker(fetches(ORDERS, 0))
        >> broker_answers(told(ORDERS, p0=log))
        # What stands before it comes first: a marker for what others have there.
        << to_client(told("orders", p0=placed(0, log, 0), p2=own(log, 1)[: -len(log) // 2]))
        >> client_sends(fetches("orders", 0, 2, offset=1), 12)
        << to_broker(fetches(ORDERS, 0, offset=1))
        >> broker_answers(told(ORDERS, p0=log[len(log) // 2 :]))
        << to_client(told("orders", p0=b"", p2=int(ErrorCode.CORRUPT_MESSAGE)))
    )


def test_an_answer_that_waits_is_divided_again_and_counted_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = use(TransformKind(frozenset(Direction), lambda *_: Opening()), stage, monkeypatch)
    records.process.sources = AtHand({})
    log = stored(0, 1)
    cluster = stage.shared.virtual_clusters.of_tenant("acme")
    assert cluster is not None
    assert cluster.virtual_partitions is not None

    assert (
        stage.play()
        >> client_sends(fetches("orders", 2), 12)
        << to_broker(fetches(ORDERS, 0))
        >> broker_answers(told(ORDERS, p0=log))
        >> met({"key 2": OPENED[2]})
        << to_client(told("orders", p2=placed(2, log, 1)))
    )
    counts = cluster.virtual_partitions.counts
    assert counts["acme", "own_bytes"] == len(log) // 2
    assert counts["acme", "foreign_bytes"] == len(log) // 2


TIMES = (1_000, 1_500, 1_200)
LATE = batch_of(
    [ColumnRecord(i, time - TIMES[0], b"k", b"open") for i, time in enumerate(TIMES)],
    base_timestamp_ms=TIMES[0],
    producer=IDEMPOTENT,
)


def sealed_log(*groups: int) -> bytes:
    """Return batches of three records as a broker has them: the first of each has the latest time."""
    closed = batch_of(
        [ColumnRecord(i, 500 * (i == 0), None, b"") for i in range(3)],
        base_timestamp_ms=TIMES[0],
        producer=IDEMPOTENT,
    )
    return b"".join(
        (3 * at).to_bytes(8, "big") + marked(closed, group)[8:] for at, group in enumerate(groups)
    )


def look_up(topic: str, **timestamps: int) -> Any:
    partitions = [{"partition_index": int(name[1:]), "timestamp": at} for name, at in timestamps.items()]
    return messages.build("ListOffsetsRequest", {"topics": [{"name": topic, "partitions": partitions}]})


def offsets(topic: str, **found: tuple[int, int]) -> Any:
    partitions = [
        {"partition_index": int(name[1:]), "offset": offset, "timestamp": at, "leader_epoch": -1}
        for name, (offset, at) in found.items()
    ]
    return messages.build("ListOffsetsResponse", {"topics": [{"name": topic, "partitions": partitions}]})


def reads(size: int, found: dict[int, bytes]) -> Step:
    """Give the session what it waits for: what partition 0 has at these offsets."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, StoredBatches)
        known = {StoredAt(ORDERS.encode(), 0, at, size): StoredBatch(0, one) for at, one in found.items()}
        assert set(need.wanted) == set(known)
        book.play(lambda: book.session.meet(replace(need, found=known)), CloseReason.MALFORMED)
        return f"{set(found)} are read"

    return step


def test_a_time_is_looked_up_in_the_opened_batch_of_the_virtual_partition(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = use(TransformKind(frozenset(Direction), lambda *_: Opening()), stage, monkeypatch)
    records.process.sources = AtHand({Text("key 2"): LATE})
    log = sealed_log(0, 1, 1)
    one = len(log) // 3

    book = stage.play()
    assert (
        book
        >> client_sends(look_up("orders", p2=1_100), 7)
        << to_broker(look_up(ORDERS, p0=1_100))
        >> broker_answers(offsets(ORDERS, p0=(0, 1_500)))
        >> reads(FIRST_CHUNK, {0: log})
        >> reads(1, {3: log[one : 2 * one]})
        << to_client(offsets("orders", p2=(4, 1_500)))
    )
    assert records.process.memory.used == 0


def test_a_time_of_which_only_others_have_a_record_is_not_looked_up_in_theirs(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is an offset before which the partition has none; the batch there is not opened."""
    records = use(TransformKind(frozenset(Direction), lambda *_: Opening()), stage, monkeypatch)
    records.process.sources = AtHand({})
    monkeypatch.setattr("bifrost.filters.virtual.offset_scans.MAX_SCAN_BYTES", 1)
    log = sealed_log(0, 0)
    more = (6).to_bytes(8, "big") + log[8 : len(log) // 2]

    assert (
        stage.play()
        >> client_sends(look_up("orders", p2=1_100), 7)
        << to_broker(look_up(ORDERS, p0=1_100))
        >> broker_answers(offsets(ORDERS, p0=(0, 1_500)))
        >> reads(FIRST_CHUNK, {0: log})
        >> reads(1, {6: more})
        << to_client(offsets("orders", p2=(6, 1_500)))
    )
