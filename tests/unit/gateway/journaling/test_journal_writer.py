"""What the writer does with what brokers answer; real ones it meets in tests/kafka/operations/test_journal.py."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable
from gzip import decompress
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.journaling import journal_writer
from bifrost.gateway.journaling.journal_writer import JournalWriter
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import RecordBuffer
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest, ProduceResponse
from bifrost.wire.record_batch import NOBODY, ProducerId
from support.journalling import StillClock, journal
from support.stage import broker_versions

BROKER = Broker(1, "kafka.example", 9092, offered_versions(broker_versions()))
Answer = ErrorCode | BrokerError


class Topic:
    """Stands for the journal's topic, whose leader gives these answers, one for each batch, and then none but NONE."""

    def __init__(
        self, answers: Iterable[Answer] = (), *, partitions: int = 1, is_idempotent: bool = True
    ) -> None:
        self.answers = deque(answers)
        self.partition_count = partitions
        self.leaders: dict[int, Broker] = {}
        self.producers = 0
        self.is_idempotent = is_idempotent
        self.batches: list[tuple[int, int, int, int]] = []
        """Of each that came: partition, producer ID, base sequence, records."""
        self.taken: list[dict[str, Any]] = []

    async def find(self) -> None:
        self.leaders = dict.fromkeys(range(self.partition_count), BROKER)

    async def new_producer(self) -> ProducerId:
        self.producers += 1
        return ProducerId(100 + self.producers, 0) if self.is_idempotent else NOBODY

    def client_of(self, broker: Broker) -> Any:
        assert broker is BROKER
        return SimpleNamespace(request=self.request)

    async def request(self, message: ProduceRequest, version: int) -> ProduceResponse:
        assert (message.acks, version) == (-1, 12)
        results = []
        for part in message.topic_data[0].partition_data:
            batch = bytes(part.records)
            answer = self.answers.popleft() if self.answers else ErrorCode.NONE
            if isinstance(answer, BrokerError):
                raise answer
            count = int.from_bytes(batch[57:61], "big")
            producer_id, sequence = (
                int.from_bytes(batch[a:b], "big", signed=True) for a, b in ((43, 51), (53, 57))
            )
            self.batches.append((part.index, producer_id, sequence, count))
            if answer in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.taken += list(_values(decompress(batch[61:])))
            results.append(ProduceResponse.PartitionProduceResponse(index=part.index, error_code=answer))
        named = ProduceResponse.TopicProduceResponse(name="__bifrost_journal", partition_responses=results)
        return ProduceResponse(responses=[named])


def _values(records: bytes) -> Iterable[dict[str, Any]]:
    decoder, text = json.JSONDecoder(), records.decode("latin-1")
    at = text.find("{")
    while at >= 0:
        value, end = decoder.raw_decode(text, at)
        yield value
        at = text.find("{", end)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_writer, "FIRST_RETRY_MS", 0)
    monkeypatch.setattr(journal_writer, "LAST_RETRY_MS", 0)


def buffer_with(count: int, tenants: Iterable[str | None] = ("acme",)) -> RecordBuffer:
    buffer = journal(StillClock()).buffer
    names = list(tenants)
    for number in range(count):
        buffer.append(
            RecordKind.EVENT, names[number % len(names)], (1, 2), {"type": "start", "outcome": "done"}
        )
    return buffer


def write(topic: Topic, buffer: RecordBuffer) -> JournalWriter:
    writer = JournalWriter(topic, buffer, 1000)  # type: ignore[arg-type]
    asyncio.run(writer.write_all())
    return writer


def test_records_are_written_and_their_room_is_free() -> None:
    topic, buffer = Topic(), buffer_with(5)

    writer = write(topic, buffer)

    assert topic.batches == [(0, 101, 0, 5)]
    assert [one["sequence"] for one in topic.taken] == [0, 1, 2, 3, 4]
    assert (writer.written, buffer.size, writer.is_failing) == (5, 0, False)


def test_tenants_go_to_their_partitions_and_nobody_s_records_to_the_first() -> None:
    topic, buffer = Topic(partitions=50), buffer_with(6, ["acme", "globex", None])

    write(topic, buffer)

    assert sorted(count for *_, count in topic.batches) == [2, 2, 2]
    assert 0 in {partition for partition, *_ in topic.batches}
    assert len({partition for partition, *_ in topic.batches}) == 3


def test_what_may_pass_is_tried_again_with_the_same_sequence() -> None:
    passing = [ErrorCode.NOT_ENOUGH_REPLICAS, BrokerError("gone"), ErrorCode.NOT_LEADER_OR_FOLLOWER]
    topic, buffer = Topic(passing), buffer_with(2)

    writer = write(topic, buffer)

    assert topic.batches == [(0, 101, 0, 2)] * 3
    assert [one["sequence"] for one in topic.taken] == [0, 1]
    assert writer.written == 2
    assert not writer.is_failing


def test_a_batch_that_was_taken_before_is_taken() -> None:
    topic, buffer = Topic([ErrorCode.DUPLICATE_SEQUENCE_NUMBER]), buffer_with(2)

    assert write(topic, buffer).written == 2


def test_a_producer_that_is_not_known_any_more_is_replaced() -> None:
    topic, buffer = Topic([ErrorCode.NONE]), buffer_with(2)
    writer = write(topic, buffer)
    topic.answers.append(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    buffer.append(RecordKind.EVENT, "acme", (1, 2), {"type": "start", "outcome": "done"})

    asyncio.run(writer.write_all())

    assert topic.batches == [(0, 101, 0, 2), (0, 101, 2, 1), (0, 102, 0, 1)]
    assert [one["sequence"] for one in topic.taken] == [0, 1, 2]


def test_a_batch_that_is_too_large_is_halved_until_it_fits() -> None:
    topic, buffer = Topic([ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE]), buffer_with(4)

    write(topic, buffer)

    assert [count for *_, count in topic.batches] == [4, 2, 1, 1, 2]
    assert [sequence for _, _, sequence, _ in topic.batches[2:]] == [0, 1, 2]
    assert [one["sequence"] for one in topic.taken] == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
def test_what_the_broker_will_never_take_is_told_as_dropped(error: ErrorCode) -> None:
    topic, buffer = Topic([error]), buffer_with(1)

    writer = write(topic, buffer)

    assert buffer.drops == {("acme", "event", "refused"): 1}
    (drop,) = topic.taken
    assert (drop["drop"]["reason"], drop["drop"]["first_sequence"]) == ("refused", 0)
    assert (writer.written, buffer.size) == (1, 0)


def test_without_idempotence_batches_have_no_sequence() -> None:
    topic, buffer = Topic(is_idempotent=False), buffer_with(3)

    write(topic, buffer)

    assert topic.batches == [(0, -1, -1, 3)]


def test_it_ends_when_everything_is_written() -> None:
    topic, buffer = Topic(), buffer_with(3)

    async def run() -> JournalWriter:
        writer = JournalWriter(topic, buffer, 1000)  # type: ignore[arg-type]
        task = asyncio.create_task(writer.run())
        writer.finish()
        await asyncio.wait_for(task, 5)
        return writer

    assert asyncio.run(run()).written == 3


def test_records_that_a_bug_keeps_from_being_written_are_dropped_and_the_next_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic, buffer = Topic(), buffer_with(5)
    writer = JournalWriter(topic, buffer, 1000)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(topic, "new_producer", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asyncio.run(writer.write_all())

    buffer.append(RecordKind.EVENT, "acme", (1, 2), {"type": "start", "outcome": "done"})
    asyncio.run(writer.write_all())

    assert buffer.drops == {("acme", "event", "refused"): 5}
    assert [one["kind"] for one in topic.taken] == ["event", "drop"]
    assert buffer.size == 0
