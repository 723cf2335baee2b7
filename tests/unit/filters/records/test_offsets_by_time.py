"""Offsets that clients look up by time where a broker sees other timestamps: the batch that it answers with is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.records import offsets_by_time, record_topics, tenant_records
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.steps import RecordNeeds, StoredAt, StoredBatch, StoredBatches
from bifrost.forwarding.broker_costs import READ_BATCH_NS
from bifrost.records.codec.client_batch import ClientBatch, without_records
from bifrost.records.codec.columns import ColumnRecord
from bifrost.records.codec.memory import MemoryBudget
from bifrost.session.close_reason import CloseReason
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Failure,
    Known,
    Needs,
    PlacedTransform,
)
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.physical_names import physical_name
from support.records.needing import AtHand, Text
from support.records.record_columns import batch_of, only_batch
from support.stage import messages
from support.stage.filtered import filtered, policy
from support.stage.playbook import Playbook, Step, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
VERSION, MAX_TIMESTAMP = 7, -3
TIMES = (1_000, 1_500, 1_200, 1_500)
BATCH = batch_of(
    [ColumnRecord(i, time - TIMES[0], b"k", b"open") for i, time in enumerate(TIMES)],
    base_offset=40,
    base_timestamp_ms=TIMES[0],
)
APPENDED = batch_of(
    [ColumnRecord(i, 0, b"k", b"open") for i in range(2)], base_offset=40, base_timestamp_ms=5, attributes=8
)


class Hiding(PlacedTransform, BatchTransform):
    """Opens each batch once the key of its partition is known, as the bytes of that key."""

    hides_timestamps = True
    name = "hiding"

    def __init__(self, partition: int = 0) -> None:
        self._partition = partition

    def at(self, partition: int) -> Hiding:
        return Hiding(partition)

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        assert direction is Direction.FETCH
        key = Text(f"key {self._partition}")
        found: Any = known.get(key)
        if isinstance(found, Failure):
            return found.rejected(direction, ErrorCode.CORRUPT_MESSAGE)
        return Needs(frozenset({key})) if found is None else bytes(found)


@pytest.fixture
def records(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> TenantRecords:
    kind = TransformKind(frozenset(Direction), lambda *_: Hiding())
    for module in (record_topics, tenant_records):
        monkeypatch.setattr(module, "kind_of", lambda _: kind)
    monkeypatch.setattr("bifrost.transforms.tenant_filters.kind_of", lambda _: kind)
    found = filtered(stage, policy({"topics": ["orders"]}, require_key=True))
    found.process.sources = AtHand({Text(f"key {one}"): BATCH for one in range(8)})
    return found


def look_up(topic: str, **timestamps: int) -> Message:
    """Ask for times by partition: `p0=...`."""
    partitions = [
        {"partition_index": int(name[1:]), "timestamp": timestamp} for name, timestamp in timestamps.items()
    ]
    return messages.build("ListOffsetsRequest", {"topics": [{"name": topic, "partitions": partitions}]})


def offsets(topic: str, **found: tuple[int, ...]) -> Message:
    """Answer with offset, timestamp and perhaps an error code by partition."""
    names = ("offset", "timestamp", "error_code")
    partitions = [
        {"partition_index": int(name[1:])} | dict(zip(names, one, strict=False))
        for name, one in found.items()
    ]
    return messages.build("ListOffsetsResponse", {"topics": [{"name": topic, "partitions": partitions}]})


def stored(*partitions: int, batch: bytes = BATCH, error_code: int = 0, first: int = 100) -> Step:
    """Give the session the batches that it waits for, of these partitions; only the `first` of them."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, StoredBatches)
        assert need.wanted == tuple(StoredAt(ORDERS.encode(), one, 40) for one in partitions)
        found = dict.fromkeys(need.wanted[:first], StoredBatch(error_code, batch))
        book.play(lambda: book.session.meet(replace(need, found=found)), CloseReason.MALFORMED)
        return f"the batches of {partitions} are read"

    return step


@pytest.mark.parametrize(
    ("asked", "offset", "time"),
    [
        (900, 40, 1_000),
        (1_000, 40, 1_000),
        (1_001, 41, 1_500),
        (1_500, 41, 1_500),
        (MAX_TIMESTAMP, 41, 1_500),
    ],
)
def test_the_first_record_of_a_time_is_found_in_its_batch(
    stage: Stage, records: TenantRecords, asked: int, offset: int, time: int
) -> None:
    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=asked), VERSION)
        << to_broker(look_up(ORDERS, p0=asked))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500)))
        >> stored(0)
        << to_client(offsets("orders", p0=(offset, time)))
    )
    assert records.process.memory.used == 0


def test_a_record_before_the_start_of_the_log_is_not_found(stage: Stage, records: TenantRecords) -> None:
    def read(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, StoredBatches)
        found = {StoredAt(ORDERS.encode(), 0, 42): StoredBatch(0, BATCH)}
        book.play(lambda: book.session.meet(replace(need, found=found)), CloseReason.MALFORMED)
        return "the batch is read"

    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=900), VERSION)
        << to_broker(look_up(ORDERS, p0=900))
        >> broker_answers(offsets(ORDERS, p0=(42, 1_000)))
        >> read
        << to_client(offsets("orders", p0=(42, 1_200)))
    )


def test_what_is_not_looked_up_by_time_or_has_no_record_stays(stage: Stage, records: TenantRecords) -> None:
    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=-1, p1=-2, p2=-4, p3=900, p4=900), VERSION)
        << to_broker(look_up(ORDERS, p0=-1, p1=-2, p2=-4, p3=900, p4=900))
        >> broker_answers(offsets(ORDERS, p0=(50, -1), p1=(3, -1), p2=(4, -1), p3=(-1, -1), p4=(-1, -1, 6)))
        << to_client(offsets("orders", p0=(50, -1), p1=(3, -1), p2=(4, -1), p3=(-1, -1), p4=(-1, -1, 6)))
    )


def test_topics_with_open_timestamps_are_not_decoded(
    stage: Stage, records: TenantRecords, decoded: list[str]
) -> None:
    book = stage.play()
    decoded.clear()

    assert (
        book
        >> client_sends(look_up("billing", p0=900), VERSION)
        << to_broker(look_up(BILLING, p0=900))
        >> broker_answers(offsets(BILLING, p0=(40, 1_500)))
        << to_client(offsets("billing", p0=(40, 1_500)))
    )
    assert decoded == []


def test_segments_of_the_oldest_version_are_not_looked_into(stage: Stage, records: TenantRecords) -> None:
    answer = {"partition_index": 0, "old_style_offsets": [40]}
    answers = [
        messages.build("ListOffsetsResponse", {"topics": [{"name": name, "partitions": [answer]}]})
        for name in (ORDERS, "orders")
    ]
    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=900), 0)
        << to_broker(look_up(ORDERS, p0=900))
        >> broker_answers(answers[0])
        << to_client(answers[1])
    )


def test_an_answer_waits_for_keys_too(stage: Stage, records: TenantRecords) -> None:
    records.process.sources = AtHand({Text("key 1"): BATCH})

    def answered(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, RecordNeeds)
        met = replace(need, known={**need.known, Text("key 0"): BATCH})
        book.play(lambda: book.session.meet(met), CloseReason.MALFORMED)
        return "the key is known"

    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=1_001, p1=1_001), VERSION)
        << to_broker(look_up(ORDERS, p0=1_001, p1=1_001))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500), p1=(40, 1_500)))
        >> stored(0, 1)
        >> answered
        << to_client(offsets("orders", p0=(41, 1_500), p1=(41, 1_500)))
    )


def test_batches_that_were_not_read_yet_are_asked_for_again(stage: Stage, records: TenantRecords) -> None:
    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=1_001, p1=1_001, p2=900), VERSION)
        << to_broker(look_up(ORDERS, p0=1_001, p1=1_001, p2=900))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500), p1=(40, 1_500), p2=(40, 1_500)))
        >> stored(0, 1, 2, first=2)
        >> stored(2)
        << to_client(offsets("orders", p0=(41, 1_500), p1=(41, 1_500), p2=(40, 1_000)))
    )


def test_more_than_the_bound_is_to_be_asked_for_again(
    stage: Stage, records: TenantRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets_by_time, "MAX_LOOK_UPS", 2)
    monkeypatch.setattr(offsets_by_time, "AT_A_TIME", 1)
    again = (-1, -1, int(ErrorCode.KAFKA_STORAGE_ERROR))

    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=900, p1=900, p2=900), VERSION)
        << to_broker(look_up(ORDERS, p0=900, p1=900, p2=900))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500), p1=(40, 1_500), p2=(40, 1_500)))
        >> stored(0)
        >> stored(1)
        << to_client(offsets("orders", p0=(40, 1_000), p1=(40, 1_000), p2=again))
    )
    assert records.process.memory.hits["offset_look_ups", "acme"] == 1


@pytest.mark.parametrize("away", [True, False])
def test_what_may_pass_is_an_error_and_what_stays_is_the_batch(
    stage: Stage, records: TenantRecords, away: bool
) -> None:
    records.process.sources = AtHand({Text("key 0"): Failure("gone", is_retriable=away)})
    again = (-1, -1, int(ErrorCode.KAFKA_STORAGE_ERROR))

    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=1_001), VERSION)
        << to_broker(look_up(ORDERS, p0=1_001))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500)))
        >> stored(0)
        << to_client(offsets("orders", p0=again if away else (40, 1_500)))
    )


def test_a_broker_that_does_not_give_the_batch_is_asked_again_by_the_client(
    stage: Stage, records: TenantRecords
) -> None:
    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=1_001), VERSION)
        << to_broker(look_up(ORDERS, p0=1_001))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500)))
        >> stored(0, batch=b"", error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        << to_client(offsets("orders", p0=(-1, -1, int(ErrorCode.KAFKA_STORAGE_ERROR))))
    )


@pytest.mark.parametrize(
    ("batch", "opened"),
    [
        (b"", BATCH),
        (BATCH[:-1] + b"?", BATCH),
        (APPENDED, BATCH),
        (BATCH, without_records(only_batch(BATCH))),
    ],
    ids=["none", "spoilt", "by append time", "left out"],
)
def test_the_answer_of_the_broker_stays_where_there_is_no_record_to_find(
    stage: Stage, records: TenantRecords, batch: bytes, opened: bytes
) -> None:
    records.process.sources = AtHand({Text("key 0"): opened})

    assert (
        stage.play()
        >> client_sends(look_up("orders", p0=1_001), VERSION)
        << to_broker(look_up(ORDERS, p0=1_001))
        >> broker_answers(offsets(ORDERS, p0=(40, 1_500)))
        >> stored(0, batch=batch)
        << to_client(offsets("orders", p0=(40, 1_500)))
    )


def test_batches_that_may_be_read_are_charged_to_the_brokers_time(
    stage: Stage, records: TenantRecords
) -> None:
    load = stage.shared.lanes.in_flight_limits.load("acme")

    def charged_ns(topic: str) -> int:
        before_ns = load.broker_left_ns
        book = stage.play() >> client_sends(look_up(topic, p0=900, p1=900, p2=-1), VERSION)
        book.said.to_broker.clear()
        return before_ns - load.broker_left_ns

    assert charged_ns("orders") - charged_ns("billing") == 2 * READ_BATCH_NS
