"""DescribeConfigs of a broker: read-only, and only what a client needs to know.

A client may want to know how large a record may be, how long offsets are kept or which defaults its topics get.
Addresses, paths, credentials and everything else of the broker's configuration stay with the operator.
"""

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity

BROKER = 4
"""ConfigResource.Type.BROKER."""

SHOWN = frozenset(
    {
        "auto.create.topics.enable",
        "compression.type",
        "connections.max.idle.ms",
        "default.replication.factor",
        "delete.topic.enable",
        "fetch.max.bytes",
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
        "group.consumer.max.session.timeout.ms",
        "group.consumer.max.size",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.session.timeout.ms",
        "group.initial.rebalance.delay.ms",
        "group.max.session.timeout.ms",
        "group.max.size",
        "group.min.session.timeout.ms",
        "group.share.heartbeat.interval.ms",
        "group.share.record.lock.duration.ms",
        "group.share.session.timeout.ms",
        "group.streams.heartbeat.interval.ms",
        "group.streams.session.timeout.ms",
        "log.cleanup.policy",
        "log.message.timestamp.type",
        "log.retention.bytes",
        "log.retention.ms",
        "log.segment.bytes",
        "max.incremental.fetch.session.cache.slots",
        "message.max.bytes",
        "min.insync.replicas",
        "num.partitions",
        "offset.metadata.max.bytes",
        "offsets.retention.minutes",
        "producer.id.expiration.ms",
        "socket.request.max.bytes",
        "transaction.max.timeout.ms",
        "transactional.id.expiration.ms",
        "unclean.leader.election.enable",
    }
)
"""The configs a tenant may read: limits, timeouts and defaults that decide how its own clients, groups and topics
behave."""


class BrokerConfigsFilter(ResponseFilter):
    """Leaves out of a broker's configs what is not a client's concern."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Keep what is shown; where a value comes from is not told, and nothing of it can be changed."""
        for result in in_steps(response.results):
            if result.resource_type != BROKER:
                continue
            result.configs = [config for config in in_steps(result.configs) if config.name in SHOWN]
            for config in in_steps(result.configs):
                config.read_only = True
                config.synonyms = []
