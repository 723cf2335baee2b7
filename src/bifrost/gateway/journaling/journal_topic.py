"""The journal's topic: the leaders of its partitions, and its creation where it is missing."""

from typing import Any

import structlog

from bifrost.config.fields.journal import JOURNAL_TOPIC, Journal
from bifrost.gateway.brokers.broker_client import BrokerClient
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.brokers.cluster import Broker, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, InitProducerIdRequest, MetadataRequest
from bifrost.wire.record_batch import NOBODY, ProducerId

log = structlog.get_logger()

_METADATA, _CREATE_TOPICS, _INIT_PRODUCER_ID = 9, 5, 4
"""Newest versions that are used here: by name, and with the cluster's own defaults (KIP-464)."""

_OLDEST_DEFAULTS = 4
"""CreateTopics version from which -1 means the cluster's default."""

_NO_PRODUCER_ID = frozenset({ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION})
"""Before KIP-679 idempotence needed a right of its own; without it only sequence numbers reveal duplicates."""


def newest(broker: Broker, api_key: ApiKey, ours: int) -> int:
    """Return the newest version of an API, up to `ours`, that a broker has; -1: none."""
    for one in broker.offered.broker_response.api_keys:
        if one.api_key == api_key:
            return int(min(one.max_version, ours))
    return -1


class JournalTopic:
    """The journal's topic on one physical cluster."""

    def __init__(self, cluster: Cluster, settings: Journal, timeout_ms: int) -> None:
        """Send no request yet; `timeout_ms` bounds every request."""
        self._cluster, self._settings, self._timeout_ms = cluster, settings, timeout_ms
        self._clients: dict[tuple[str, int], tuple[BrokerSecurity, BrokerClient]] = {}
        self.leaders: dict[int, Broker] = {}
        """Leaders by partition; only partitions whose leader is known."""
        self.partition_count = 0

    def client_of(self, broker: Broker) -> BrokerClient:
        """Return the connection to a broker, secured as the configuration in force says."""
        key, security = (broker.host, broker.port), self._cluster.security
        known = self._clients.get(key)
        if known is None or known[0] is not security:
            client = BrokerClient(broker.host, broker.port, timeout_ms=self._timeout_ms, security=security)
            known = self._clients[key] = (security, client)
        return known[1]

    async def find(self) -> None:
        """Find the leaders of the partitions; create the topic if it is missing.

        Raises:
            BrokerError: no broker answered, or the topic could not be created.
        """
        metadata = await self._metadata()
        (topic,) = metadata.topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            await self._create(metadata.controller_id)
            (topic,) = (await self._metadata()).topics
        if topic.error_code != ErrorCode.NONE:
            raise BrokerError(f"topic {JOURNAL_TOPIC}: {ErrorCode(topic.error_code).name}")
        self.partition_count = len(topic.partitions)
        leaders = {one.partition_index: self._cluster.broker(one.leader_id) for one in topic.partitions}
        self.leaders = {partition: broker for partition, broker in leaders.items() if broker is not None}

    async def new_producer(self) -> ProducerId:
        """Return a new producer ID, or NOBODY if the gateway is not allowed to have one.

        Raises:
            BrokerError: the brokers returned none.
        """
        broker = self._any_broker()
        version = newest(broker, ApiKey.INIT_PRODUCER_ID, _INIT_PRODUCER_ID)
        if version < 0:
            return NOBODY
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = await self.client_of(broker).request(request, version)
        if answer.error_code in _NO_PRODUCER_ID:
            log.warning("journal_not_idempotent", error=ErrorCode(answer.error_code).name)
            return NOBODY
        if answer.error_code != ErrorCode.NONE:
            raise BrokerError(f"InitProducerId: {ErrorCode(answer.error_code).name}")
        return ProducerId(answer.producer_id, answer.producer_epoch)

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, {}
        for _, client in clients.values():
            await client.close()

    async def _metadata(self) -> Any:
        broker = self._any_broker()
        topics = [MetadataRequest.MetadataRequestTopic(name=JOURNAL_TOPIC)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        version = newest(broker, ApiKey.METADATA, _METADATA)
        if version < 4:  # In older versions asking for a topic may create it, without our settings.
            raise BrokerError("the brokers are too old for a journal: it needs Kafka 0.11")
        return await self.client_of(broker).request(request, version)

    async def _create(self, controller_id: int) -> None:
        settings, broker = self._settings, self._cluster.broker(controller_id) or self._any_broker()
        version = newest(broker, ApiKey.CREATE_TOPICS, _CREATE_TOPICS)
        if version < _OLDEST_DEFAULTS and settings.replication_factor < 0:
            raise BrokerError("proxy.journal.replication_factor is -1, which needs Kafka 2.4: give a number")
        configs = {"cleanup.policy": "delete", "retention.ms": str(settings.retention_ms)}
        topic = CreateTopicsRequest.CreatableTopic(
            name=JOURNAL_TOPIC,
            num_partitions=settings.partitions,
            replication_factor=settings.replication_factor,
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
                for name, value in configs.items()
            ],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self._timeout_ms)
        (result,) = (await self.client_of(broker).request(request, version)).topics
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return  # Another worker, or gateway, was first: the controller creates it once.
        if result.error_code != ErrorCode.NONE:
            detail = getattr(result, "error_message", None) or ""
            raise BrokerError(
                f"cannot create {JOURNAL_TOPIC}: {ErrorCode(result.error_code).name} {detail}".strip()
            )
        log.info("journal_topic_created", topic=JOURNAL_TOPIC, partitions=settings.partitions)

    def _any_broker(self) -> Broker:
        broker = self._cluster.any_broker()
        if broker is None:
            raise BrokerError("no broker is known")
        return broker
