from bifrost.config.fields.journal import Journal
from bifrost.gateway.journaling.journal_topic import journal_topic_settings


def test_the_topic_is_created_as_the_configuration_says() -> None:
    settings = Journal(partitions=7, replication_factor=3, retention_ms=60_000)

    found = journal_topic_settings(settings)

    assert (found.name, found.partitions, found.replication_factor) == ("__bifrost_journal", 7, 3)
    assert found.configs == {"cleanup.policy": "delete", "retention.ms": "60000"}
