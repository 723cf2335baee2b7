"""The topic of the exchange: how it is created."""

from bifrost.config.quotas.quota_exchange import QuotaExchange
from bifrost.gateway.producing.upstream_topic import TopicSettings

RETENTION_MS = 300_000
"""How long records are kept, 5 min: no gateway reads one that is older than a few seconds."""

SEGMENT_BYTES = 8 * 1024 * 1024
"""Bytes of a segment: a broker deletes whole segments, and not the last one."""


def exchange_topic_settings(settings: QuotaExchange) -> TopicSettings:
    """Return the settings of the topic."""
    return TopicSettings(
        settings.topic,
        settings.partitions,
        settings.replication_factor,
        {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "message.timestamp.type": "LogAppendTime",  # Retention goes by it; no gateway's clock does.
            "retention.ms": str(RETENTION_MS),
            "segment.ms": str(RETENTION_MS),
            "segment.bytes": str(SEGMENT_BYTES),
        },
        origin="proxy.quota_exchange",
    )
