"""Every operation that a tenant is told it may do works, and every other is refused (KIP-430).

For each kind of resource that has such a set, each of Kafka's operations on it (AclEntry.supportedOperations) is done
by a request that needs it (KafkaApis), on a real broker. Some APIs are refused whatever the set says, because a virtual
cluster has no such thing: to list reassignments, client quotas, SCRAM users and ACLs, which Kafka counts to DESCRIBE
and DESCRIBE_CONFIGS of the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterConfigsRequest,
    AlterPartitionReassignmentsRequest,
    AlterShareGroupOffsetsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteRecordsRequest,
    DeleteShareGroupOffsetsRequest,
    DeleteTopicsRequest,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeShareGroupOffsetsRequest,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, metadata_of, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import Connect, FreshTopic, UniqueName
from support.physical_names import physical_name

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = range(3, 10)
DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(10, 13)
"""AclOperation's codes."""
TOPIC, BROKER, GROUP = 2, 4, 32
TENANTS = ["acme", "globex", "initech"]
"""One with a list of topics, one that may call topics as it likes, and one that may delete them too."""

Attempt = Callable[[RawClient, str], int]
"""Does something to a topic or a group of this name, and returns the error code."""
Attempts = Mapping[int, Sequence[Attempt]]
"""The requests that need an operation, by the operation."""


def read_topic(client: RawClient, name: str) -> int:
    (topic,) = client.request(fetch_request(name), 12).responses
    return int(topic.partitions[0].error_code)


def write_topic(client: RawClient, name: str) -> int:
    (topic,) = client.request(produce_request(name, build_batch([b"x"])), 9).responses
    return int(topic.partition_responses[0].error_code)


def create_the_topic(client: RawClient, name: str) -> int:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    (result,) = client.request(CreateTopicsRequest(topics=[topic], validate_only=True), 5).topics
    # It is there already, which is told to who may create it.
    return 0 if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS else int(result.error_code)


def delete_the_topic(client: RawClient, name: str) -> int:
    """By both requests that need the operation; records first, or there would be no topic."""
    partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=0)
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=[partition])
    (emptied,) = client.request(DeleteRecordsRequest(topics=[topic], timeout_ms=5000), 2).topics
    (gone,) = client.request(DeleteTopicsRequest(topic_names=[name], timeout_ms=5000), 5).responses
    code = emptied.partitions[0].error_code
    assert code == gone.error_code
    return int(code)


def alter_topic(client: RawClient, name: str) -> int:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=2, assignments=None)
    (result,) = client.request(CreatePartitionsRequest(topics=[topic], timeout_ms=5000), 1).results
    return int(result.error_code)


def describe_topic(client: RawClient, name: str) -> int:
    return int(metadata_of(client, name)[0].error_code)


def describe_configs(kind: int) -> Attempt:
    def attempt(client: RawClient, name: str) -> int:
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=None
        )
        (result,) = client.request(DescribeConfigsRequest(resources=[resource]), 4).results
        return int(result.error_code)

    return attempt


def alter_configs(kind: int, config: str, value: str) -> Attempt:
    def attempt(client: RawClient, name: str) -> int:
        codes = set()
        for offered, version in ((IncrementalAlterConfigsRequest, 1), (AlterConfigsRequest, 2)):
            if kind == GROUP and offered is AlterConfigsRequest:
                continue  # Kafka has it for topics and brokers only.
            change = offered.AlterableConfig(name=config, value=value)
            resource = offered.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[change])
            (result,) = client.request(offered(resources=[resource]), version).responses
            codes.add(int(result.error_code))
        (code,) = codes
        return code

    return attempt


TOPIC_ATTEMPTS: Attempts = {
    READ: [read_topic],
    WRITE: [write_topic],
    CREATE: [create_the_topic],
    ALTER: [alter_topic],
    DESCRIBE: [describe_topic],
    DESCRIBE_CONFIGS: [describe_configs(TOPIC)],
    ALTER_CONFIGS: [alter_configs(TOPIC, "retention.ms", "12345678")],
    DELETE: [delete_the_topic],
}
"""The last one ends the topic."""


def read_group(client: RawClient, group: str) -> int:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="orders", partitions=[partition])
    (result,) = client.request(OffsetCommitRequest(group_id=group, topics=[topic]), 8).topics
    return int(result.partitions[0].error_code)


def describe_the_group(client: RawClient, group: str) -> int:
    return int(client.request(OffsetFetchRequest(group_id=group, topics=None), 7).error_code)


def delete_the_group(client: RawClient, group: str) -> int:
    (result,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    return int(result.error_code)


def delete_offsets(client: RawClient, group: str) -> int:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(name="orders", partitions=[partition])
    answer = client.request(OffsetDeleteRequest(group_id=group, topics=[topic]), 0)
    codes = [one.error_code for topic in answer.topics for one in topic.partitions]
    return int(answer.error_code or max(codes))


GROUP_ATTEMPTS: Attempts = {
    READ: [read_group],
    DESCRIBE: [describe_the_group],
    DESCRIBE_CONFIGS: [describe_configs(GROUP)],
    ALTER_CONFIGS: [alter_configs(GROUP, "consumer.session.timeout.ms", "50000")],
    DELETE: [delete_offsets, delete_the_group],
}
"""The last one ends the group."""


def alter_share_offsets(client: RawClient, group: str) -> int:
    offered = AlterShareGroupOffsetsRequest
    partition = offered.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = offered.AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=[partition])
    answer = client.request(offered(group_id=group, topics=[topic]), 0)
    codes = [one.error_code for topic in answer.responses for one in topic.partitions]
    return int(answer.error_code or max(codes))


def describe_share_offsets(client: RawClient, group: str) -> int:
    offered = DescribeShareGroupOffsetsRequest
    asked = offered.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    version = client.newest(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS)
    (result,) = client.request(offered(groups=[asked]), version).groups
    return int(result.error_code)


def delete_share_offsets(client: RawClient, group: str) -> int:
    offered = DeleteShareGroupOffsetsRequest
    topic = offered.DeleteShareGroupOffsetsRequestTopic(topic_name="orders")
    answer = client.request(offered(group_id=group, topics=[topic]), 0)
    return int(answer.error_code or max(one.error_code for one in answer.responses))


SHARE_GROUP_ATTEMPTS: Attempts = {
    READ: [alter_share_offsets],
    DESCRIBE: [describe_share_offsets],
    DESCRIBE_CONFIGS: [describe_configs(GROUP)],
    ALTER_CONFIGS: [alter_configs(GROUP, "share.auto.offset.reset", "earliest")],
    DELETE: [delete_share_offsets, delete_the_group],
}


def create_any_topic(client: RawClient, name: str) -> int:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    (result,) = client.request(CreateTopicsRequest(topics=[topic], validate_only=True), 5).topics
    return int(result.error_code)


def act_as_a_broker(client: RawClient, _name: str) -> int:
    """A fetch as a follower, which needs CLUSTER_ACTION."""
    request = fetch_request("orders")
    assert isinstance(request, FetchRequest)
    request.replica_id = 2
    (topic,) = client.request(request, 12).responses
    return int(topic.partitions[0].error_code)


def alter_cluster(client: RawClient, _name: str) -> int:
    offered = AlterPartitionReassignmentsRequest
    partition = offered.ReassignablePartition(partition_index=0, replicas=[1])
    topic = offered.ReassignableTopic(name="orders", partitions=[partition])
    return int(client.request(offered(topics=[topic]), 0).error_code)


def describe_the_cluster(client: RawClient, _name: str) -> int:
    one = DescribeLogDirsRequest.DescribableLogDirTopic(topic="orders", partitions=[0])
    return int(client.request(DescribeLogDirsRequest(topics=[one]), 3).error_code)


def write_idempotently(client: RawClient, _name: str) -> int:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    return int(client.request(request, 4).error_code)


CLUSTER_ATTEMPTS: Attempts = {
    CREATE: [create_any_topic],
    CLUSTER_ACTION: [act_as_a_broker],
    DESCRIBE_CONFIGS: [lambda client, _name: describe_configs(BROKER)(client, "1")],
    ALTER_CONFIGS: [lambda client, _name: alter_configs(BROKER, "log.retention.ms", "1")(client, "1")],
    IDEMPOTENT_WRITE: [write_idempotently],
    ALTER: [alter_cluster],
    DESCRIBE: [describe_the_cluster],
}

REFUSALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}


def check(client: RawClient, name: str, told: int, attempts: Attempts) -> None:
    """Do everything, and compare with what was told."""
    outcomes = {one: [attempt(client, name) for attempt in some] for one, some in attempts.items()}

    assert {code for codes in outcomes.values() for code in codes if code} <= REFUSALS, outcomes
    assert {one for one, codes in outcomes.items() if not any(codes)} == operations_in(told)
    assert all(len(set(codes)) == 1 for codes in outcomes.values()), outcomes


def operations_in(bits: int) -> set[int]:
    return {code for code in range(32) if bits & (1 << code)}


@pytest.mark.parametrize("tenant", TENANTS)
def test_what_is_told_of_a_topic_is_what_happens(
    tenant: str, connect: Connect, fresh_topic: FreshTopic
) -> None:
    fresh_topic(tenant, "orders")
    client = connect(tenant)
    offered = DescribeTopicPartitionsRequest
    told = set()
    named = [MetadataRequest.MetadataRequestTopic(name="orders")]
    for version in range(8, client.newest(ApiKey.METADATA) + 1):
        request = MetadataRequest(topics=named, include_topic_authorized_operations=True)
        told.add(client.request(request, version).topics[0].topic_authorized_operations)
    if ApiKey.DESCRIBE_TOPIC_PARTITIONS in client.versions():
        page = client.request(offered(topics=[offered.TopicRequest(name="orders")]), 0)
        told.add(page.topics[0].topic_authorized_operations)

    (bits,) = told

    check(client, "orders", bits, TOPIC_ATTEMPTS)


@pytest.mark.parametrize("tenant", TENANTS)
def test_what_is_told_of_a_group_is_what_happens(
    tenant: str, connect: Connect, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic(tenant, "orders")
    client, group = connect(tenant), unique("group")
    assert read_group(client, group) == ErrorCode.NONE
    told = set()
    for version in range(3, client.newest(ApiKey.DESCRIBE_GROUPS) + 1):
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
        told.add(client.request(request, version).groups[0].authorized_operations)

    (bits,) = told

    # A broker before 4.0 has no configs of groups, and tells of none.
    has_configs = bool(bits & 1 << ALTER_CONFIGS)
    configs = () if has_configs else (DESCRIBE_CONFIGS, ALTER_CONFIGS)
    check(client, group, bits, {one: GROUP_ATTEMPTS[one] for one in GROUP_ATTEMPTS if one not in configs})


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
def test_the_same_is_told_of_a_group_of_the_new_kind(
    connect: Connect, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("globex", "orders")
    client, group = connect("globex"), unique("group")
    joining = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="b3BlcmF0aW9ucy1tZW1iZQ",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    assert client.request(joining, 1).error_code == ErrorCode.NONE

    request = ConsumerGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (described,) = client.request(request, 1).groups

    assert operations_in(described.authorized_operations) == set(GROUP_ATTEMPTS)


@pytest.mark.needs_api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0)
@pytest.mark.parametrize("tenant", TENANTS)
def test_what_is_told_of_a_share_group_is_what_happens(
    tenant: str, connect: Connect, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic(tenant, "orders")
    client, group = connect(tenant), unique("shared")
    member, version = "b3BlcmF0aW9ucy1tZW1iZQ", client.newest(ApiKey.SHARE_GROUP_HEARTBEAT)
    for epoch in (0, -1):
        beat = ShareGroupHeartbeatRequest(
            group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=["orders"]
        )
        assert client.request(beat, version).error_code == ErrorCode.NONE
    # The coordinator makes the state of the partitions in the background; until then there are no offsets to delete.
    deadline = time.monotonic() + 20
    while alter_share_offsets(client, group):
        assert time.monotonic() < deadline
        time.sleep(0.1)

    request = ShareGroupDescribeRequest(group_ids=[group], include_authorized_operations=True)
    (described,) = client.request(request, client.newest(ApiKey.SHARE_GROUP_DESCRIBE)).groups

    check(client, group, described.authorized_operations, SHARE_GROUP_ATTEMPTS)


@pytest.mark.parametrize("tenant", TENANTS)
def test_what_is_told_of_the_cluster_is_what_happens(
    tenant: str, connect: Connect, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic(tenant, "orders")
    client = connect(tenant)
    told = set()
    for version in range(8, 11):
        request = MetadataRequest(topics=[], include_cluster_authorized_operations=True)
        told.add(client.request(request, version).cluster_authorized_operations)
    for version in range(client.newest(ApiKey.DESCRIBE_CLUSTER) + 1):
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        told.add(client.request(request, version).cluster_authorized_operations)

    (bits,) = told

    check(client, unique("any"), bits, CLUSTER_ATTEMPTS)


@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_a_tenant_that_may_not_delete_empties_nothing(
    tenant: str, connect: Connect, fresh_topic: FreshTopic, direct: RawClient
) -> None:
    fresh_topic(tenant, "orders")
    client = connect(tenant)
    assert write_topic(client, "orders") == ErrorCode.NONE

    for version in range(3):
        partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=-1)
        topic = DeleteRecordsRequest.DeleteRecordsTopic(name="orders", partitions=[partition])
        (answer,) = client.request(DeleteRecordsRequest(topics=[topic], timeout_ms=5000), version).topics
        assert answer.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert answer.partitions[0].low_watermark == -1
    fetched = direct.request(fetch_request(physical_name(tenant, "orders")), 12).responses[0].partitions[0]
    assert fetched.log_start_offset == 0
    assert fetched.records
