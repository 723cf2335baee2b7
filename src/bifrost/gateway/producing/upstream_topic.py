"""A topic of an upstream that the gateway writes to: the leaders of its partitions, and how it is created."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.records.record_batch import NO_PRODUCER, ProducerId
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, InitProducerIdRequest, MetadataRequest

_METADATA, _CREATE_TOPICS, _INIT_PRODUCER_ID = 12, 5, 4
"""Newest versions that are used here: with topic IDs (KIP-516), and with the cluster's own defaults (KIP-464)."""

_OLDEST_DEFAULTS = 4
"""CreateTopics version from which -1 means the cluster's default."""

NO_TOPIC_ID = bytes(16)
"""What stands for the ID of a topic before Kafka 2.8."""

_NO_PRODUCER_ID = frozenset({ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION})
"""Before KIP-679 idempotence needed a right of its own; without it only a record's own content reveals duplicates."""


class TopicMissing(BrokerError):
    """The topic does not exist."""

    def __init__(self, name: str, controller_id: int) -> None:
        super().__init__(f"topic {name}: {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name}")
        self.controller_id = controller_id
        """The broker that creates topics."""


class ProducerIdDenied(Exception):
    """The brokers give the gateway no producer ID, and will not later either."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """How a topic is created where it is missing."""

    name: str
    partitions: int
    replication_factor: int
    """-1: the cluster's default."""

    configs: Mapping[str, str]
    """Configuration of the topic, by Kafka's names."""

    origin: str
    """Section of the gateway's configuration with these settings, for messages: `proxy.journal`."""


class UpstreamTopic:
    """A topic on one physical cluster."""

    def __init__(self, cluster: Cluster, settings: TopicSettings, timeout_ms: int) -> None:
        """Send no request yet; `timeout_ms` bounds every request."""
        self.settings, self.cluster, self.timeout_ms = settings, cluster, timeout_ms
        self._clients: dict[tuple[str, int], tuple[BrokerSecurity, BrokerClient]] = {}
        self.leaders: dict[int, Broker] = {}
        """Leaders by partition; only partitions whose leader is known."""
        self.partition_count = 0
        self.topic_id = NO_TOPIC_ID
        """Its ID, by which a topic that was deleted and created again is another one."""

    def client_of(self, broker: Broker) -> BrokerClient:
        """Return the connection to a broker, secured as the configuration in force says."""
        key, security = (broker.host, broker.port), self.cluster.security
        known = self._clients.get(key)
        if known is None or known[0] is not security:
            client = BrokerClient(broker.host, broker.port, timeout_ms=self.timeout_ms, security=security)
            known = self._clients[key] = (security, client)
        return known[1]

    async def find(self) -> None:
        """Find the leaders of the partitions.

        Raises:
            TopicMissing: the topic does not exist.
            BrokerError: no broker answered.
        """
        metadata = await self._metadata()
        (topic,) = metadata.topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise TopicMissing(self.settings.name, metadata.controller_id)
        if topic.error_code != ErrorCode.NONE:
            raise BrokerError(f"topic {self.settings.name}: {ErrorCode(topic.error_code).name}")
        self.partition_count, self.topic_id = len(topic.partitions), topic.topic_id
        leaders = {one.partition_index: self.cluster.broker(one.leader_id) for one in topic.partitions}
        self.leaders = {partition: broker for partition, broker in leaders.items() if broker is not None}

    async def create(self, controller_id: int) -> bool:
        """Create the topic; return whether it was still missing.

        Raises:
            BrokerError: it could not be created.
        """
        settings, broker = self.settings, self.cluster.broker(controller_id) or self.any_broker()
        version = broker.newest(ApiKey.CREATE_TOPICS, _CREATE_TOPICS)
        if version < _OLDEST_DEFAULTS and settings.replication_factor < 0:
            raise BrokerError(
                f"{settings.origin}.replication_factor is -1, which needs Kafka 2.4: give a number"
            )
        topic = CreateTopicsRequest.CreatableTopic(
            name=settings.name,
            num_partitions=settings.partitions,
            replication_factor=settings.replication_factor,
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
                for name, value in settings.configs.items()
            ],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self.timeout_ms)
        (result,) = (await self.client_of(broker).request(request, version)).topics
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return False  # Another worker, or gateway, was first: the controller creates it once.
        if result.error_code != ErrorCode.NONE:
            detail = getattr(result, "error_message", None) or ""
            raise BrokerError(
                f"cannot create {settings.name}: {ErrorCode(result.error_code).name} {detail}".strip()
            )
        return True

    async def new_producer(self) -> ProducerId:
        """Return a new producer ID, or NO_PRODUCER if the brokers know none.

        Raises:
            ProducerIdDenied: the gateway is not allowed to have one.
            BrokerError: the brokers returned none.
        """
        broker = self.any_broker()
        version = broker.newest(ApiKey.INIT_PRODUCER_ID, _INIT_PRODUCER_ID)
        if version < 0:
            return NO_PRODUCER
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = await self.client_of(broker).request(request, version)
        if answer.error_code in _NO_PRODUCER_ID:
            raise ProducerIdDenied(ErrorCode(answer.error_code))
        if answer.error_code != ErrorCode.NONE:
            raise BrokerError(f"InitProducerId: {ErrorCode(answer.error_code).name}")
        return ProducerId(answer.producer_id, answer.producer_epoch)

    def too_old(self) -> BrokerError:
        """Return the error of brokers without the record format of Kafka 0.11."""
        return BrokerError(f"the brokers are too old for {self.settings.name}: it needs Kafka 0.11")

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, {}
        for _, client in clients.values():
            await client.close()

    async def _metadata(self) -> Any:
        broker = self.any_broker()
        topics = [MetadataRequest.MetadataRequestTopic(name=self.settings.name)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        version = broker.newest(ApiKey.METADATA, _METADATA)
        if version < 4:  # In older versions asking for a topic may create it, without our settings.
            raise self.too_old()
        return await self.client_of(broker).request(request, version)

    def any_broker(self) -> Broker:
        """Return a broker of the cluster.

        Raises:
            BrokerError: none is known.
        """
        broker = self.cluster.any_broker()
        if broker is None:
            raise BrokerError("no broker is known")
        return broker
