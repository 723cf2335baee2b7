"""Names that are no topic's: a tenant is told of them what a broker tells directly, and none is created.

Some would be legal behind the tenant's prefix. Answers are compared field by field, at every version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message, Struct
from bifrost.wire.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
)
from bifrost.wire.schema import request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import Connect
from support.physical_names import physical_name
from support.stage.requests_by_name import (
    alter_configs,
    describe_configs,
    describe_producers,
    describe_topic_partitions,
    incremental_alter_configs,
    list_offsets,
)

NAMES = [".", "..", "", "with space", "with/slash", "ä", "x" * 250]
IDS = ["dot", "two dots", "empty", "space", "slash", "umlaut", "too long"]

Build = Callable[[str], Message]


def metadata(name: str) -> Message:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=True)


def metadata_without_creation(name: str) -> Message:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    return MetadataRequest(topics=[topic], allow_auto_topic_creation=False)


def create(name: str) -> Message:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=5000)


def grow(name: str) -> Message:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=3, assignments=None)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=5000)


def delete(name: str) -> Message:
    return DeleteTopicsRequest(topic_names=[name], timeout_ms=5000)


def delete_by_state(name: str) -> Message:
    return DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=5000)


def delete_records(name: str) -> Message:
    partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=0)
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=[partition])
    return DeleteRecordsRequest(topics=[topic], timeout_ms=5000)


def leader_epoch(name: str) -> Message:
    partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=[partition])
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic])


def produce(name: str) -> Message:
    return produce_request(name, build_batch([b"nothing"]))


BUILDS: dict[Build, int | None] = {
    metadata: 13,
    metadata_without_creation: 13,
    create: 7,
    grow: 3,
    delete: 5,
    delete_by_state: 6,
    delete_records: 2,
    describe_configs: 4,
    alter_configs: 2,
    incremental_alter_configs: 1,
    describe_producers: 0,
    describe_topic_partitions: 0,
    list_offsets: 10,
    leader_epoch: 4,
    produce: 12,
    fetch_request: 12,
}
"""With the newest version that names topics."""


def cases() -> Iterator[tuple[Build, int]]:
    for build, newest in BUILDS.items():
        oldest = request_schema(build("x").SCHEMA.api_key).versions.low
        floor = {produce: 3, metadata_without_creation: 4, delete_by_state: 6}.get(build, oldest)
        yield from ((build, version) for version in range(floor, newest + 1))


CASES = list(cases())


OF_THE_CLUSTER = {"brokers", "cluster_id", "controller_id", "throttle_time_ms", "node_endpoints"}


def said(value: Any) -> Any:
    """Return an answer as plain values, without what is about the cluster and not about the topic."""
    if isinstance(value, Struct):
        names = [field.name for field in value.FIELDS if field.name not in OF_THE_CLUSTER]
        return {name: said(getattr(value, name)) for name in names}
    return [said(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def both(broker: Endpoint, initech: Endpoint, gateway: Any) -> Iterator[tuple[RawClient, RawClient]]:
    """A client of the broker's, and one of a tenant that may do everything."""
    with (
        RawClient(broker) as direct,
        RawClient.authenticated(gateway.broker_endpoint("initech")) as tenant,
    ):
        yield direct, tenant


@pytest.mark.parametrize("name", NAMES, ids=IDS)
@pytest.mark.parametrize(("build", "version"), CASES, ids=[f"{build.__name__}-v{v}" for build, v in CASES])
def test_an_illegal_name_is_told_as_a_broker_tells_it(
    build: Build, version: int, name: str, both: tuple[RawClient, RawClient]
) -> None:
    direct, tenant = both
    offered = direct.versions()[build(name).SCHEMA.api_key]
    if not offered[0] <= version <= offered[1]:
        pytest.skip("the broker does not have it")
    if build is describe_topic_partitions and not name:
        pytest.skip("the broker itself fails on it: UNKNOWN_SERVER_ERROR")

    expected, answer = (client.request(build(name), version) for client in (direct, tenant))

    assert said(answer) == said(expected)


@pytest.mark.parametrize("tenant", ["acme", "globex", "initech"])
@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.parametrize("version", range(14))
def test_asking_for_metadata_makes_no_topic_of_dots(
    version: int, name: str, tenant: str, connect: Connect, direct: RawClient
) -> None:
    client = connect(tenant)

    (topic,) = client.request(metadata(name), version).topics

    assert topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    (physical,) = direct.request(
        metadata_without_creation(physical_name(tenant, name)), direct.newest(ApiKey.METADATA)
    ).topics
    assert physical.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
