"""The topic of the index: how it is created."""

from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.producing.upstream_topic import TopicSettings

SEGMENT_BYTES = 16 * 1024 * 1024
"""Bytes of a segment: a broker compacts all but the last one, so this is what a process that starts reads beside the
entries themselves."""


def index_topic_settings(settings: PartitionIndex) -> TopicSettings:
    """Return the settings of the topic."""
    return TopicSettings(
        settings.topic,
        settings.partitions,
        settings.replication_factor,
        {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "message.timestamp.type": "LogAppendTime",  # No gateway's clock decides when a deletion is removed.
            "segment.bytes": str(SEGMENT_BYTES),
        },
        origin="proxy.partition_index",
    )
