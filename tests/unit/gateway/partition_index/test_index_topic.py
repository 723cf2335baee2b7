from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.partition_index.index_topic import index_topic_settings


def test_the_topic_is_compacted_and_has_one_partition() -> None:
    settings = index_topic_settings(PartitionIndex(replication_factor=3))

    assert (settings.name, settings.partitions, settings.replication_factor) == (
        "__bifrost_partition_index",
        1,
        3,
    )
    assert settings.configs["cleanup.policy"] == "compact"
    assert settings.origin == "proxy.partition_index"
