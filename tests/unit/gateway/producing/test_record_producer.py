"""What the producer does with what brokers answer; real ones it meets in tests/kafka/operations/test_journal.py."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing import record_producer
from bifrost.gateway.producing.record_producer import RecordProducer
from bifrost.wire.error_codes import ErrorCode
from support.brokers.upstream_topics import FakeTopic


@dataclass(frozen=True)
class Outgoing:
    """A record to write, with a number in its value."""

    number: int
    key: bytes | None = b"acme"
    timestamp_ms: int = 1

    @property
    def value(self) -> bytes:
        return json.dumps({"number": self.number}).encode()


@dataclass
class Owner:
    """Remembers what the producer tells."""

    created: list[tuple[str, int]] = field(default_factory=list)
    denied: list[ErrorCode] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    refused: list[tuple[list[int], ErrorCode]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def topic_created(self, topic: str, partitions: int) -> None:
        self.created.append((topic, partitions))

    def idempotence_denied(self, error: ErrorCode) -> None:
        self.denied.append(error)

    def records_accepted(self, records: Sequence[Outgoing]) -> None:
        self.accepted += [one.number for one in records]

    def records_refused(self, records: Sequence[Outgoing], error: ErrorCode) -> None:
        self.refused.append(([one.number for one in records], error))

    def attempt_ended(self, problem: str) -> None:
        self.problems.append(problem)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_producer, "FIRST_RETRY_MS", 0)
    monkeypatch.setattr(record_producer, "LAST_RETRY_MS", 0)


def produced(topic: FakeTopic, *pieces: Sequence[Outgoing]) -> Owner:
    owner = Owner()
    producer: RecordProducer[Outgoing] = RecordProducer(topic, owner, 1000)  # type: ignore[arg-type]

    async def produce_all() -> None:
        for piece in pieces:
            await producer.produce(piece)

    asyncio.run(produce_all())
    return owner


def numbered(count: int, first: int = 0) -> list[Outgoing]:
    return [Outgoing(first + number) for number in range(count)]


def test_records_of_a_key_are_in_one_batch_and_in_order() -> None:
    topic = FakeTopic()

    owner = produced(topic, numbered(5))

    assert topic.batches == [(0, 101, 0, 5)]
    assert [one["number"] for one in topic.taken] == owner.accepted == [0, 1, 2, 3, 4]
    assert owner.problems == [""]


def test_records_without_a_key_are_in_the_first_partition() -> None:
    topic = FakeTopic(partitions=50)

    produced(topic, [Outgoing(0, b"acme"), Outgoing(1, b"globex"), Outgoing(2, None), Outgoing(3, b"acme")])

    counts = {partition: count for partition, _, _, count in topic.batches}
    assert counts.pop(0) == 1
    assert sorted(counts.values()) == [1, 2]


def test_a_batch_is_sent_again_with_the_same_sequence_after_an_error_that_may_pass() -> None:
    passing = [ErrorCode.NOT_ENOUGH_REPLICAS, BrokerError("gone"), ErrorCode.NOT_LEADER_OR_FOLLOWER]
    topic = FakeTopic(passing)

    owner = produced(topic, numbered(2))

    assert topic.batches == [(0, 101, 0, 2)] * 3
    assert owner.accepted == [0, 1]
    assert owner.problems == [
        "partition 0: NOT_ENOUGH_REPLICAS",
        "gone",
        "partition 0: NOT_LEADER_OR_FOLLOWER",
        "",
    ]


def test_a_batch_that_the_broker_has_already_is_accepted() -> None:
    topic = FakeTopic([ErrorCode.DUPLICATE_SEQUENCE_NUMBER])

    assert produced(topic, numbered(2)).accepted == [0, 1]


def test_a_producer_that_is_not_known_any_more_is_replaced() -> None:
    topic = FakeTopic([ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER])

    owner = produced(topic, numbered(2), numbered(1, 2))

    assert topic.batches == [(0, 101, 0, 2), (0, 101, 2, 1), (0, 102, 0, 1)]
    assert owner.accepted == [0, 1, 2]


def test_a_batch_that_is_too_large_is_halved_until_it_fits() -> None:
    topic = FakeTopic([ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE])

    owner = produced(topic, numbered(4))

    assert [count for *_, count in topic.batches] == [4, 2, 1, 1, 2]
    assert [sequence for _, _, sequence, _ in topic.batches[2:]] == [0, 1, 2]
    assert owner.accepted == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_RECORD])
def test_the_owner_learns_which_records_the_brokers_will_never_take(error: ErrorCode) -> None:
    owner = produced(FakeTopic([error]), numbered(1), numbered(1, 1))

    assert owner.refused == [([0], error)]
    assert owner.accepted == [1]


def test_without_idempotence_batches_have_no_sequence() -> None:
    topic = FakeTopic(is_idempotent=False)

    owner = produced(topic, numbered(3))

    assert topic.batches == [(0, -1, -1, 3)]
    assert owner.denied == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]


def test_a_missing_topic_is_created_and_found_again() -> None:
    topic = FakeTopic(partitions=3)
    topic.missing = 2

    owner = produced(topic, numbered(1))

    assert owner.created[0] == ("__bifrost_journal", 3)
    assert owner.problems == ["topic __bifrost_journal: UNKNOWN_TOPIC_OR_PARTITION", ""]
    assert owner.accepted == [0]
