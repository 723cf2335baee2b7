"""What brokers are asked about logs; real ones answer in tests/kafka/virtual/test_partition_index.py."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.partition_index import leader_logs as module
from bifrost.gateway.partition_index.leader_logs import Bounds, LeaderLogs, TopicAtBrokers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import broker_versions

TOPIC_ID = bytes(range(16))
PLACES = [(b"orders", 0), (b"orders", 1), (b"bills", 0)]


class Script:
    """Stands for the class BrokerClient: gives answers in their order, and keeps what was asked."""

    address = "kafka-1:9092"

    def __init__(self, *answers: tuple[str, dict[str, Any]]) -> None:
        self.answers = [messages.build(name, fields) for name, fields in answers]
        self.asked: list[tuple[Any, int]] = []
        self.opened = self.closed = 0

    def __call__(self, host: str, port: int, **_options: Any) -> Script:
        self.opened += 1
        return self

    async def request(self, message: Any, version: int) -> Any:
        self.asked.append((message, version))
        return self.answers.pop(0)

    async def close(self) -> None:
        self.closed += 1


def logs_of(monkeypatch: pytest.MonkeyPatch, script: Script, *without: ApiKey) -> LeaderLogs:
    answer = broker_versions()
    answer.api_keys = [one for one in answer.api_keys if one.api_key not in without]
    broker = Broker(1, "kafka-1", 9092, offered_versions(answer))
    cluster: Any = SimpleNamespace(any_broker=lambda: broker, broker={1: broker}.get, security=None)
    monkeypatch.setattr(module, "BrokerClient", script)
    return LeaderLogs(cluster, None)


def offsets(*rows: tuple[str, int, int, int]) -> tuple[str, dict[str, Any]]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for name, partition, offset, code in rows:
        one = {"partition_index": partition, "offset": offset, "error_code": code}
        topics.setdefault(name, []).append(one)
    return "ListOffsetsResponse", {
        "topics": [{"name": name, "partitions": some} for name, some in topics.items()]
    }


def test_topics_are_told_with_their_ids_and_leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    partitions = [{"partition_index": 0, "leader_id": 1}, {"partition_index": 1, "leader_id": -1}]
    answer = {
        "topics": [
            {"name": "orders", "topic_id": TOPIC_ID, "partitions": partitions},
            {"name": "denied", "error_code": int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)},
        ]
    }
    script = Script(("MetadataResponse", answer))
    found = asyncio.run(logs_of(monkeypatch, script).topics())

    assert found == [TopicAtBrokers(b"orders", TOPIC_ID, {0: 1, 1: -1})]
    [(request, _)] = script.asked
    assert (request.topics, request.allow_auto_topic_creation) == (None, False)


def test_logs_that_a_broker_does_not_tell_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    ends = offsets(("orders", 0, 50, 0), ("orders", 1, -1, wrong), ("bills", 0, 7, 0))
    starts = offsets(("orders", 0, 5, 0), ("orders", 1, 0, 0), ("bills", 0, 9, 0))
    script = Script(ends, starts)
    found = asyncio.run(logs_of(monkeypatch, script).bounds(1, PLACES))

    # The second was cut between the two answers.
    assert found == {PLACES[0]: Bounds(5, 50), PLACES[2]: Bounds(9, 9)}


def test_so_many_are_asked_for_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_A_TIME", 2)
    first = offsets(("orders", 0, 1, 0), ("orders", 1, 1, 0))
    script = Script(first, first, offsets(("bills", 0, 1, 0)), offsets(("bills", 0, 1, 0)))
    logs = logs_of(monkeypatch, script)
    found = asyncio.run(logs.bounds(1, PLACES))

    assert len(found) == 3
    assert (len(script.asked), script.opened) == (4, 1)
    asyncio.run(logs.close())
    assert script.closed == 1


def test_a_part_of_a_log_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    part = {"partition_index": 1, "records": b"batches", "error_code": 0}
    script = Script(("FetchResponse", {"responses": [{"topic": "orders", "partitions": [part]}]}))
    found = asyncio.run(logs_of(monkeypatch, script).read(1, PLACES[1], 17, 4096))

    assert found == (0, b"batches")
    [(request, version)] = script.asked
    assert version <= 12, "by name"
    [wanted] = request.topics[0].partitions
    assert (wanted.partition, wanted.fetch_offset, wanted.partition_max_bytes) == (1, 17, 4096)


def test_an_answer_about_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(("FetchResponse", {"responses": []}))

    assert asyncio.run(logs_of(monkeypatch, script).read(1, PLACES[1], 17, 1)) == (
        int(ErrorCode.KAFKA_STORAGE_ERROR),
        b"",
    )


def test_without_a_broker_or_its_api_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = logs_of(monkeypatch, Script(), ApiKey.FETCH)
    with pytest.raises(BrokerError, match="broker 2 is gone"):
        asyncio.run(logs.read(2, PLACES[0], 0, 1))
    with pytest.raises(BrokerError, match="it has no FetchRequest of version 4"):
        asyncio.run(logs.read(1, PLACES[0], 0, 1))

    cluster: Any = SimpleNamespace(any_broker=lambda: None, security=None)
    with pytest.raises(BrokerError, match="no broker is known"):
        asyncio.run(LeaderLogs(cluster, None).topics())
