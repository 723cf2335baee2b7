"""Requests about one topic that is given by its name, for tests of names that a tenant cannot use."""

from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    DescribeProducersRequest,
    DescribeTopicPartitionsRequest,
    IncrementalAlterConfigsRequest,
    ListOffsetsRequest,
)

TOPIC = 2
"""ConfigResource.Type.TOPIC."""


def describe_configs(name: str) -> Message:
    """Ask for all configs of the topic."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=[resource])


def alter_configs(name: str) -> Message:
    """Set a config of the topic, and all others to their defaults."""
    config = AlterConfigsRequest.AlterableConfig(name="retention.ms", value="1")
    resource = AlterConfigsRequest.AlterConfigsResource(
        resource_type=TOPIC, resource_name=name, configs=[config]
    )
    return AlterConfigsRequest(resources=[resource])


def incremental_alter_configs(name: str) -> Message:
    """Set a config of the topic."""
    config = IncrementalAlterConfigsRequest.AlterableConfig(name="retention.ms", value="1")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=TOPIC, resource_name=name, configs=[config]
    )
    return IncrementalAlterConfigsRequest(resources=[resource])


def describe_producers(name: str) -> Message:
    """Ask for the producers of partition 0."""
    topic = DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[0])
    return DescribeProducersRequest(topics=[topic])


def describe_topic_partitions(name: str) -> Message:
    """Ask for the partitions of the topic."""
    return DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name)])


def list_offsets(name: str) -> Message:
    """Ask for the offset behind the last record of partition 0."""
    partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=[partition])
    return ListOffsetsRequest(replica_id=-1, topics=[topic])
