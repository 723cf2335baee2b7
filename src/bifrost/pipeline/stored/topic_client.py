"""A Kafka client that reads and writes batches as they are, without a look inside; for executors and drivers of jobs.

It asks the leader of a partition, finds a new one when leaders change, and tries again what may be tried again. A batch
that was perhaps written is never sent twice: `produce` says so, and its caller looks.

Source: Kafka protocol guide; Fetcher, NetworkClient.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.broker_connection import BrokerConnection, BrokerLost
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DescribeConfigsRequest,
    FetchRequest,
    IncrementalAlterConfigsRequest,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
)

ATTEMPTS = 20
PAUSE_S = 0.5
"""Between two attempts: ten seconds in all, in which a cluster has elected new leaders."""
FETCH_BYTES = 8 << 20
"""Bytes of batches in an answer; a larger first batch comes whole."""
MAX_WAIT_MS = 500
EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
TOPIC_RESOURCE = 2
TOPIC_CONFIG = 1
"""Where a config comes from: the topic's own (DescribeConfigsResponse.ConfigSource)."""
_METADATA, _LIST_OFFSETS, _FETCH, _PRODUCE, _CREATE_TOPICS, _DESCRIBE_CONFIGS, _ALTER_CONFIGS = (
    8,
    5,
    11,
    8,
    5,
    2,
    0,
)
"""Versions that brokers have from Kafka 2.4 to 4.x, and that name topics."""
_SET, _DELETE = 0, 1
"""AlterConfigOp.OpType."""
_ELSEWHERE = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors that pass: nothing was written, and another attempt may find the leader. That of a topic that was just created
may not know it yet."""

R = TypeVar("R")


class Topic(NamedTuple):
    """A topic that exists."""

    name: str
    partitions: int
    is_internal: bool
    replicas: int
    """Of its first partition."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a broker answered about one partition."""

    data: memoryview
    """Batches; the last one may be cut off, the first one may begin before the offset."""
    aborted: tuple[tuple[int, int], ...]
    """Aborted transactions that reach into the batches, as producer ID and first offset; with READ_COMMITTED only."""


class DeletedOffset(Exception):
    """The partition does not have the offset any more, or not yet."""


class UnknownOutcome(Exception):
    """Whether a batch was written is not known."""


class TopicClient:
    """The brokers of one cluster."""

    def __init__(self, settings: ClientSettings) -> None:
        """Prepare; nothing is asked yet."""
        self._settings = settings
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._leaders: dict[tuple[str, int], tuple[str, int]] = {}
        self.cluster_id = ""
        """Kafka's ID of the cluster, once a topic was asked for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def topics(self, names: Collection[str] | None = None) -> list[Topic]:
        """Return these topics, or all that the account may describe, by name.

        Raises:
            PipelineError: one does not exist or may not be described, or no broker answers.
        """
        answer = self._metadata(None if names is None else sorted(names))
        found = []
        for one in answer.topics:
            if one.error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
                raise PipelineError(f"topic {one.name}: {_name(one.error_code)}")
            replicas = max((len(part.replica_nodes) for part in one.partitions), default=1)
            found.append(Topic(one.name, len(one.partitions), one.is_internal, replicas))
        return sorted(found)

    def offset(self, topic: str, partition: int, timestamp: int, isolation: int = READ_UNCOMMITTED) -> int:
        """Return the first offset (EARLIEST), or the one behind the last (LATEST), that readers see."""
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
        request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[named])
        found = self._ask_leader(
            topic, partition, request, _LIST_OFFSETS, lambda answer: answer.topics[0].partitions[0]
        )
        self._check(found, topic, partition)
        return int(found.offset)

    def fetch(self, topic: str, partition: int, offset: int, isolation: int = READ_UNCOMMITTED) -> Fetched:
        """Return batches from the one with an offset on.

        Raises:
            DeletedOffset: the partition does not have the offset.
            PipelineError: it cannot be read.
        """
        wanted = FetchRequest.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES
        )
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=isolation,
            session_id=0,
            session_epoch=-1,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[wanted])],
        )
        found = self._ask_leader(
            topic, partition, request, _FETCH, lambda answer: answer.responses[0].partitions[0]
        )
        if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise DeletedOffset(f"{topic}-{partition} has no offset {offset}")
        self._check(found, topic, partition)
        aborted = tuple((one.producer_id, one.first_offset) for one in found.aborted_transactions or ())
        return Fetched(memoryview(found.records or b""), aborted)

    def produce(self, topic: str, partition: int, batch: bytes) -> int:
        """Write a batch to all replicas; return its base offset.

        Raises:
            UnknownOutcome: the connection failed, or not enough replicas have it.
            PipelineError: the broker refuses it.
        """
        data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
        named = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=20_000, topic_data=[named])
        found = self._ask_leader(
            topic,
            partition,
            request,
            _PRODUCE,
            lambda answer: answer.responses[0].partition_responses[0],
            is_repeatable=False,
        )
        if found.error_code in (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT):
            raise UnknownOutcome(f"{topic}-{partition}: {_name(found.error_code)}")
        self._check(found, topic, partition)
        return int(found.base_offset)

    def configs(self, topic: str) -> dict[str, str]:
        """Return the configs that a topic has itself."""
        own = (one for one in self._configs(topic) if one.config_source == TOPIC_CONFIG)
        return {str(one.name): str(one.value) for one in own}

    def is_compacted(self, topic: str) -> bool:
        """Whether a topic is compacted, by its own config or by that of the brokers."""
        policies = (str(one.value) for one in self._configs(topic) if one.name == "cleanup.policy")
        return any("compact" in one for one in policies)

    def _configs(self, topic: str) -> list[Any]:
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=None
        )
        answer = self._ask_any(DescribeConfigsRequest(resources=[resource]), _DESCRIBE_CONFIGS).results[0]
        if answer.error_code != ErrorCode.NONE:
            raise PipelineError(f"the configs of {topic}: {_name(answer.error_code)}")
        return [one for one in answer.configs if one.value is not None]

    def set_configs(self, topic: str, configs: Mapping[str, str | None]) -> None:
        """Set configs of a topic; None: it takes the broker's again.

        Raises:
            PipelineError: the broker refuses one.
        """
        named = [
            IncrementalAlterConfigsRequest.AlterableConfig(
                name=name, config_operation=_DELETE if value is None else _SET, value=value
            )
            for name, value in configs.items()
        ]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name=topic, configs=named
        )
        answer = self._ask_any(IncrementalAlterConfigsRequest(resources=[resource]), _ALTER_CONFIGS)
        (result,) = answer.responses
        if result.error_code != ErrorCode.NONE:
            words = (result.error_message or "")[:200]
            raise PipelineError(f"the configs of {topic} are not set: {_name(result.error_code)} {words}")

    def create_topic(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Create a topic, and wait until its partitions have leaders.

        Raises:
            PipelineError: it is not created.
        """
        named = CreateTopicsRequest.CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replicas,
            configs=[CreateTopicsRequest.CreatableTopicConfig(name=k, value=v) for k, v in configs.items()],
        )
        # A broker passes it on to the controller.
        answer = self._ask_any(CreateTopicsRequest(topics=[named], timeout_ms=20_000), _CREATE_TOPICS)
        (result,) = answer.topics
        if result.error_code != ErrorCode.NONE:
            words = (result.error_message or "")[:200]
            raise PipelineError(f"topic {topic.name} is not created: {_name(result.error_code)} {words}")
        for partition in range(topic.partitions):
            self.offset(topic.name, partition, LATEST)

    def _check(self, found: Any, topic: str, partition: int) -> None:
        if found.error_code != ErrorCode.NONE:
            raise PipelineError(f"{topic}-{partition}: {_name(found.error_code)}")

    def _ask_leader(
        self,
        topic: str,
        partition: int,
        message: Message,
        version: int,
        pick: Callable[[Any], R],
        *,
        is_repeatable: bool = True,
    ) -> R:
        """Ask the leader of a partition until it answers without an error that passes."""
        last = "no leader"
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_S)
            address = self._leader(topic, partition)
            if address is None:
                continue
            try:
                connection = self._connection(address)
            except BrokerLost as error:
                last = self._forget(address, error)
                continue
            try:
                found: Any = pick(connection.request(message, version))
            except BrokerLost as error:
                last = self._forget(address, error)
                if not is_repeatable:
                    raise UnknownOutcome(last) from None
                continue
            if found.error_code not in _ELSEWHERE:
                return found  # type: ignore[no-any-return]
            last = _name(found.error_code)
            self._leaders.clear()
        raise PipelineError(f"{topic}-{partition}: {last}")

    def _leader(self, topic: str, partition: int) -> tuple[str, int] | None:
        """Return the address of a partition's leader, None while there is none."""
        if (topic, partition) not in self._leaders:
            answer = self._metadata([topic])
            brokers = {one.node_id: (one.host, one.port) for one in answer.brokers}
            (found,) = answer.topics
            if found.error_code not in (
                ErrorCode.NONE,
                ErrorCode.LEADER_NOT_AVAILABLE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ):
                raise PipelineError(f"topic {topic}: {_name(found.error_code)}")
            for part in found.partitions:
                if part.leader_id in brokers:
                    self._leaders[topic, part.partition_index] = brokers[part.leader_id]
        return self._leaders.get((topic, partition))

    def _metadata(self, names: Collection[str] | None) -> Any:
        topics = None if names is None else [MetadataRequest.MetadataRequestTopic(name=one) for one in names]
        answer = self._ask_any(MetadataRequest(topics=topics, allow_auto_topic_creation=False), _METADATA)
        self.cluster_id = answer.cluster_id or ""
        return answer

    def _ask_any(self, message: Message, version: int) -> Any:
        last = ""
        for attempt in range(ATTEMPTS):
            address = self._settings.servers[attempt % len(self._settings.servers)]
            try:
                return self._connection(address).request(message, version)
            except BrokerLost as error:
                last = self._forget(address, error)
            if attempt >= len(self._settings.servers) - 1:
                time.sleep(PAUSE_S)
        raise PipelineError(f"{last}; check --bootstrap-servers, and the security in --kafka-config")

    def _connection(self, address: tuple[str, int]) -> BrokerConnection:
        found = self._connections.get(address)
        if found is None:
            found = self._connections[address] = BrokerConnection(*address, self._settings)
        return found

    def _forget(self, address: tuple[str, int], error: BrokerLost) -> str:
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()
        self._leaders.clear()
        return str(error)


def _name(error_code: int) -> str:
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error {error_code}"
