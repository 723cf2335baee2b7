"""What the writer does with what brokers answer; real ones it meets in tests/kafka/operations/test_journal.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.journaling.journal_writer import JournalWriter
from bifrost.gateway.producing import record_producer
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import RecordBuffer
from bifrost.wire.error_codes import ErrorCode
from support.brokers.upstream_topics import FakeTopic
from support.gateways.journalling import StillClock, journal


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_producer, "FIRST_RETRY_MS", 0)
    monkeypatch.setattr(record_producer, "LAST_RETRY_MS", 0)


def buffer_with(count: int, tenants: Iterable[str | None] = ("acme",)) -> RecordBuffer:
    buffer = journal(StillClock()).buffer
    names = list(tenants)
    for number in range(count):
        buffer.append(
            RecordKind.EVENT, names[number % len(names)], (1, 2), {"type": "start", "outcome": "done"}
        )
    return buffer


def write(topic: FakeTopic, buffer: RecordBuffer) -> JournalWriter:
    writer = JournalWriter(topic, buffer, 1000)  # type: ignore[arg-type]
    asyncio.run(writer.write_all())
    return writer


def test_records_are_written_and_their_room_is_free() -> None:
    topic, buffer = FakeTopic(), buffer_with(5)

    writer = write(topic, buffer)

    assert topic.batches == [(0, 101, 0, 5)]
    assert [one["sequence"] for one in topic.taken] == [0, 1, 2, 3, 4]
    assert (writer.written, buffer.size, writer.is_failing) == (5, 0, False)


def test_each_tenant_has_a_partition_and_records_of_no_tenant_are_in_the_first() -> None:
    topic, buffer = FakeTopic(partitions=50), buffer_with(6, ["acme", "globex", None])

    write(topic, buffer)

    assert sorted(count for *_, count in topic.batches) == [2, 2, 2]
    assert 0 in {partition for partition, *_ in topic.batches}
    assert len({partition for partition, *_ in topic.batches}) == 3


def test_the_log_says_when_writing_begins_to_fail_and_when_it_works_again(
    logged: list[dict[str, Any]],
) -> None:
    passing = [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS, BrokerError("gone")]
    topic, buffer = FakeTopic(passing), buffer_with(2)

    writer = write(topic, buffer)

    assert [(one["event"], one.get("error")) for one in logged] == [
        ("journal_not_written", "partition 0: NOT_ENOUGH_REPLICAS"),
        ("journal_not_written", "gone"),
        ("journal_written_again", None),
    ]
    assert (writer.written, writer.is_failing) == (2, False)


def test_the_log_says_that_the_topic_was_created_and_may_have_records_twice(
    logged: list[dict[str, Any]],
) -> None:
    topic, buffer = FakeTopic(is_idempotent=False), buffer_with(2)
    topic.missing = 1

    write(topic, buffer)

    assert [one["event"] for one in logged] == ["journal_topic_created", "journal_not_idempotent"]


@pytest.mark.parametrize("error", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
def test_what_the_broker_will_never_take_is_told_as_dropped(error: ErrorCode) -> None:
    topic, buffer = FakeTopic([error]), buffer_with(1)

    writer = write(topic, buffer)

    assert buffer.drops == {("acme", "event", "refused"): 1}
    (drop,) = topic.taken
    assert (drop["drop"]["reason"], drop["drop"]["first_sequence"]) == ("refused", 0)
    assert (writer.written, buffer.size) == (1, 0)


def test_it_ends_when_everything_is_written() -> None:
    topic, buffer = FakeTopic(), buffer_with(3)

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
    topic, buffer = FakeTopic(), buffer_with(5)
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
