"""What administrators ask for."""

from __future__ import annotations

from data_scenarios import ABSENT, ABSENT_ID, DATA, data

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED
from bifrost.wire.messages import (
    AlterConfigsRequest,
    ApiVersionsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeTopicPartitionsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from support.brokers.kafka_versions import version_under_test
from support.clients.raw_operations import await_config, await_no_topic, await_topic, fetch_request
from support.forgery.worlds import World

COMPARED_APIS = frozenset(SERVED) - {
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.ADD_PARTITIONS_TO_TXN,
}
"""What is not served is not offered, and what brokers say to each other neither (see test_every_api.py)."""
TOPIC, GROUP = 2, 32
"""Kafka's ConfigResource.Type codes."""


def api_versions(world: World, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="raw", client_software_version="1.0")
    response = world.ask(request, version)
    response.api_keys = [api for api in response.api_keys if api.api_key in COMPARED_APIS]
    # It counts what the cluster's controller does, and the gateway asked a while ago.
    assert response.finalized_features_epoch >= 0 or version < 3
    response.finalized_features_epoch = 0
    if version >= 3:
        world.ask(ApiVersionsRequest(client_software_name="not legal", client_software_version=""), version)


def describe_cluster(world: World, version: int) -> None:
    world.ask(DescribeClusterRequest(), version)


def create_topics(world: World, version: int) -> None:
    name = f"eq-created-{version}"
    plain = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=3, replication_factor=1)
    config = CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="12345")
    with_config = CreateTopicsRequest.CreatableTopic(
        name=f"{name}-config", num_partitions=1, replication_factor=1, configs=[config]
    )
    placed = CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    with_assignment = CreateTopicsRequest.CreatableTopic(
        name=f"{name}-placed", num_partitions=-1, replication_factor=-1, assignments=[placed]
    )
    topics = [plain, with_config, with_assignment]
    if version >= 1:
        validated = world.ask(CreateTopicsRequest(topics=topics, validate_only=True), version)
        for topic in validated.topics:
            # An ID that no topic will have.
            topic.topic_id = bytes(16)
    created = world.ask(CreateTopicsRequest(topics=topics), version)
    assert {topic.error_code for topic in created.topics} == {ErrorCode.NONE}
    for topic in created.topics:
        await_topic(world.admin, topic.name, 3 if topic.name == name else 1)
        world.id_of(topic.name)
    world.ask(CreateTopicsRequest(topics=[plain]), version)
    bad_config = CreateTopicsRequest.CreatableTopicConfig(name="no.such.config", value="1")
    for bad in (
        CreateTopicsRequest.CreatableTopic(name="eq/illegal", num_partitions=1, replication_factor=1),
        CreateTopicsRequest.CreatableTopic(name="", num_partitions=1, replication_factor=1),
        CreateTopicsRequest.CreatableTopic(name=".", num_partitions=1, replication_factor=1),
        CreateTopicsRequest.CreatableTopic(name="eq-none", num_partitions=0, replication_factor=1),
        CreateTopicsRequest.CreatableTopic(name="eq-many", num_partitions=1, replication_factor=3),
        CreateTopicsRequest.CreatableTopic(
            name="eq-config", num_partitions=1, replication_factor=1, configs=[bad_config]
        ),
    ):
        world.ask(CreateTopicsRequest(topics=[bad]), version)


def create_partitions(world: World, version: int) -> None:
    name = f"eq-partitions-{version}"
    world.topic(name)
    for topic, count in ((name, 3), (name, 2), (name, 3), (ABSENT, 2)):
        wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
        world.ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000), version)
    await_topic(world.admin, name, 3)


def delete_topics(world: World, version: int) -> None:
    name, other = f"eq-deleted-{version}", f"eq-deleted-too-{version}"
    world.topic(name)
    other_id = world.topic(other)
    if version < 6:
        world.ask(DeleteTopicsRequest(topic_names=[name, other, ABSENT], timeout_ms=10_000), version)
    else:
        states = [
            DeleteTopicsRequest.DeleteTopicState(name=name),
            DeleteTopicsRequest.DeleteTopicState(topic_id=other_id),
            DeleteTopicsRequest.DeleteTopicState(name=ABSENT),
            DeleteTopicsRequest.DeleteTopicState(topic_id=ABSENT_ID),
        ]
        world.ask(DeleteTopicsRequest(topics=states, timeout_ms=10_000), version)
    await_no_topic(world.admin, name)
    await_no_topic(world.admin, other)


def delete_records(world: World, version: int) -> None:
    name = f"eq-trimmed-{version}"
    world.topic(name, records=[b"1", b"2", b"3"])
    for topic, partition, offset in (
        (name, 0, 2),
        (name, 0, 99),
        (name, 9, 0),
        (name, 0, -1),
        (ABSENT, 0, 0),
    ):
        wanted = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=offset)
        named = DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[wanted])
        world.ask(DeleteRecordsRequest(topics=[named], timeout_ms=10_000), version)
    world.ask(fetch_request(name, offset=0), 12)


def describe_configs(world: World, version: int) -> None:
    data(world)
    for kind, name in (
        (TOPIC, DATA),
        (TOPIC, ABSENT),
        (TOPIC, "eq/illegal"),
        (TOPIC, ""),
        (GROUP, "eq-group"),
    ):
        for keys in (None, ["retention.ms", "no.such.config"]):
            resource = DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=keys
            )
            request = DescribeConfigsRequest(
                resources=[resource], include_synonyms=version >= 1, include_documentation=version >= 3
            )
            world.ask(request, version)


def alter_configs(world: World, version: int) -> None:
    name = f"eq-altered-{version}"
    world.topic(name)
    offered = AlterConfigsRequest
    for topic, config, value in (
        (name, "retention.ms", "98765"),
        (name, "retention.ms", "a while"),
        (name, "no.such.config", "1"),
        (ABSENT, "retention.ms", "1"),
        ("eq/illegal", "retention.ms", "1"),
    ):
        resource = offered.AlterConfigsResource(
            resource_type=TOPIC,
            resource_name=topic,
            configs=[offered.AlterableConfig(name=config, value=value)],
        )
        world.ask(AlterConfigsRequest(resources=[resource]), version)
    await_config(world.admin, TOPIC, name, "retention.ms", "98765")


def incremental_alter_configs(world: World, version: int) -> None:
    name = f"eq-incremental-{version}"
    world.topic(name)
    offered = IncrementalAlterConfigsRequest
    for kind, resource_name, config, value in (
        (TOPIC, name, "retention.ms", "45678"),
        (TOPIC, name, "retention.ms", "a while"),
        (TOPIC, ABSENT, "retention.ms", "1"),
        (GROUP, f"eq-group-{version}", "consumer.session.timeout.ms", "50000"),
        # Before Kafka 4 a broker calls it an invalid request, not an invalid config.
        *([(GROUP, f"eq-group-{version}", "no.such.config", "1")] if version_under_test() >= "4" else []),
    ):
        change = offered.AlterableConfig(name=config, config_operation=0, value=value)
        resource = offered.AlterConfigsResource(
            resource_type=kind, resource_name=resource_name, configs=[change]
        )
        world.ask(IncrementalAlterConfigsRequest(resources=[resource]), version)
    await_config(world.admin, TOPIC, name, "retention.ms", "45678")


def list_config_resources(world: World, version: int) -> None:
    """All that is the tenant's; without types only what has subscriptions of client metrics, which is of no tenant."""
    name = f"eq-listed-{version}"
    world.topic(name)
    world.prefix = name
    if version == 0:
        world.ask(ListConfigResourcesRequest(), version)
    else:
        listed = world.ask(ListConfigResourcesRequest(resource_types=[TOPIC, GROUP]), version)
        assert name in {resource.resource_name for resource in listed.config_resources}


def describe_topic_partitions(world: World, version: int) -> None:
    data(world)
    world.topic(f"{DATA}-too")
    world.prefix = DATA
    offered = DescribeTopicPartitionsRequest
    for names in ([DATA, f"{DATA}-too", f"{DATA}-absent"], [f"{DATA}/illegal"]):
        topics = [offered.TopicRequest(name=name) for name in names]
        world.ask(DescribeTopicPartitionsRequest(topics=topics), version)
    topics = [offered.TopicRequest(name=name) for name in (DATA, f"{DATA}-too")]
    page = world.ask(DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=1), version)
    cursor = offered.Cursor(
        topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
    )
    world.ask(DescribeTopicPartitionsRequest(topics=topics, cursor=cursor), version)
    world.ask(DescribeTopicPartitionsRequest(topics=[]), version)


def describe_log_dirs(world: World, version: int) -> None:
    """Sizes are the same; which disk it is, the tenant is not told."""
    data(world)
    world.prefix = DATA
    topic = DescribeLogDirsRequest.DescribableLogDirTopic(topic=DATA, partitions=[0, 1])
    for topics in ([topic], None):
        answer = world.ask(DescribeLogDirsRequest(topics=topics), version)
        for result in answer.results:
            assert result.log_dir.startswith("/")
            assert version < 4 or world.is_tenant == (result.total_bytes == -1)
            result.log_dir, result.total_bytes, result.usable_bytes = "/", -1, -1
