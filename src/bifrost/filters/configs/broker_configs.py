"""DescribeConfigs of a broker: read-only, and only the configs that a client needs.

A client may want to know how large a record may be, how long offsets are kept or which defaults its topics get.
Addresses, paths, credentials and everything else in the broker's configuration remain hidden from tenants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.wire.entity import Entity
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeConfigsResponse


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
    """Removes the configs that clients do not need from a broker's answer."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_response(self, exchange: Exchange, response: DescribeConfigsResponse) -> ResponseStep:
        """Keep the configs that tenants may read; hide the source of each value, and mark all as read-only."""
        for result in in_steps(response.results):
            if result.resource_type != BROKER:
                continue
            result.configs = [config for config in in_steps(result.configs) if config.name in SHOWN]
            for config in in_steps(result.configs):
                config.read_only = True
                config.synonyms = []
        return FORWARD
