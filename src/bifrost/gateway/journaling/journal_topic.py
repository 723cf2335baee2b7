"""The topic of the journal, as the configuration wants it where it is missing."""

from bifrost.config.fields.journal import JOURNAL_TOPIC, Journal
from bifrost.gateway.producing.upstream_topic import TopicSettings


def journal_topic_settings(settings: Journal) -> TopicSettings:
    """Return the settings of the journal's topic."""
    return TopicSettings(
        JOURNAL_TOPIC,
        settings.partitions,
        settings.replication_factor,
        {"cleanup.policy": "delete", "retention.ms": str(settings.retention_ms)},
        origin="proxy.journal",
    )
