"""What the gateway asks brokers about a topic of its own; real brokers answer in tests/kafka/operations."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import (
    ProducerIdDenied,
    TopicMissing,
    TopicSettings,
    UpstreamTopic,
)
from bifrost.records.record_batch import NO_PRODUCER, ProducerId
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsResponse, InitProducerIdResponse, MetadataResponse
from support.stage.stage import broker_versions

BROKER = Broker(1, "kafka.example", 9092, offered_versions(broker_versions()))


class Topic(UpstreamTopic):
    """A topic whose only broker gives these answers."""

    def __init__(self, *answers: Any, broker: Broker = BROKER, replication_factor: int = 1) -> None:
        cluster: Any = SimpleNamespace(any_broker=lambda: broker, broker={1: broker}.get, security=None)
        settings = TopicSettings(
            "state", 3, replication_factor, {"cleanup.policy": "compact"}, origin="proxy.state"
        )
        super().__init__(cluster, settings, 1000)
        self.answers = deque(answers)
        self.asked: list[Any] = []

    def client_of(self, broker: Broker) -> Any:
        return SimpleNamespace(request=self.request)

    async def request(self, message: Any, version: int) -> Any:
        self.asked.append(message)
        return self.answers.popleft()


def metadata(error: ErrorCode = ErrorCode.NONE, leaders: tuple[int, ...] = ()) -> MetadataResponse:
    partition = MetadataResponse.MetadataResponsePartition
    partitions = [partition(partition_index=index, leader_id=one) for index, one in enumerate(leaders)]
    topic = MetadataResponse.MetadataResponseTopic(name="state", error_code=error, partitions=partitions)
    return MetadataResponse(topics=[topic], controller_id=1)


def created(error: ErrorCode) -> CreateTopicsResponse:
    result = CreateTopicsResponse.CreatableTopicResult(name="state", error_code=error, error_message="no")
    return CreateTopicsResponse(topics=[result])


def ask(request: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(request)


def older(**ranges: tuple[int, int]) -> Broker:
    return Broker(1, "kafka.example", 9092, offered_versions(broker_versions(**ranges)))


def test_only_partitions_whose_leader_is_known_have_one() -> None:
    topic = Topic(metadata(leaders=(1, 7, 1)))

    ask(topic.find())

    assert topic.leaders == {0: BROKER, 2: BROKER}
    assert topic.partition_count == 3
    assert not topic.asked[0].allow_auto_topic_creation


def test_a_missing_topic_names_the_broker_that_creates_it() -> None:
    with pytest.raises(TopicMissing, match="topic state: UNKNOWN_TOPIC_OR_PARTITION") as missing:
        ask(Topic(metadata(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)).find())

    assert missing.value.controller_id == 1


def test_another_error_of_the_topic_is_told() -> None:
    with pytest.raises(BrokerError, match="topic state: TOPIC_AUTHORIZATION_FAILED"):
        ask(Topic(metadata(ErrorCode.TOPIC_AUTHORIZATION_FAILED)).find())


def test_a_topic_is_created_with_its_settings() -> None:
    topic = Topic(created(ErrorCode.NONE))

    assert ask(topic.create(1))

    (wanted,) = topic.asked[0].topics
    assert (wanted.name, wanted.num_partitions, wanted.replication_factor) == ("state", 3, 1)
    assert [(one.name, one.value) for one in wanted.configs] == [("cleanup.policy", "compact")]


def test_another_process_may_create_the_topic_first() -> None:
    assert not ask(Topic(created(ErrorCode.TOPIC_ALREADY_EXISTS)).create(1))


def test_a_topic_that_the_broker_does_not_create_is_told() -> None:
    with pytest.raises(BrokerError, match="cannot create state: POLICY_VIOLATION no"):
        ask(Topic(created(ErrorCode.POLICY_VIOLATION)).create(1))


def test_an_old_broker_needs_a_number_of_replicas() -> None:
    topic = Topic(broker=older(CreateTopics=(0, 3)), replication_factor=-1)

    with pytest.raises(BrokerError, match=r"proxy\.state\.replication_factor is -1, which needs Kafka 2\.4"):
        ask(topic.create(1))


def test_a_broker_without_the_record_format_is_too_old() -> None:
    with pytest.raises(BrokerError, match="too old for state"):
        ask(Topic(broker=older(Metadata=(0, 3))).find())


def test_a_producer_id_is_given_or_denied() -> None:
    given = InitProducerIdResponse(producer_id=7, producer_epoch=2)
    denied = InitProducerIdResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    failed = InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    topic = Topic(given, denied, failed)

    assert ask(topic.new_producer()) == ProducerId(7, 2)
    with pytest.raises(ProducerIdDenied) as error:
        ask(topic.new_producer())
    assert error.value.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="InitProducerId: COORDINATOR_LOAD_IN_PROGRESS"):
        ask(topic.new_producer())


def test_a_broker_without_producer_ids_gives_none() -> None:
    assert ask(Topic(broker=older(InitProducerId=(0, -1))).new_producer()) == NO_PRODUCER
