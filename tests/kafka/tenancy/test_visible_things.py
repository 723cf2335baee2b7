"""What a tenant sees when it asks for everything: its own things, under its own names, at the gateway's addresses."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DescribeClusterRequest,
    DescribeGroupsRequest,
    DescribeTopicPartitionsRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce, records_of
from support.gateways.gateway_fixtures import Connect, FreshTopic, StartGateway, UniqueName
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import MARK, physical_name

ACMES = {"orders", "billing", "events", "audit.log"}


@pytest.fixture(scope="module")
def orders(fresh_topic: FreshTopic) -> None:
    """The topic `orders` of each tenant."""
    for tenant in ("acme", "globex", "initech"):
        fresh_topic(tenant, "orders")


def _all_topics(client: RawClient, version: int) -> dict[str, bytes]:
    response = client.request(MetadataRequest(topics=[] if version == 0 else None), version)
    assert {topic.error_code for topic in response.topics} == {ErrorCode.NONE}
    return {topic.name: topic.topic_id for topic in response.topics}


@pytest.fixture(scope="module")
def others(fresh_topic: FreshTopic) -> None:
    """A topic that only globex has, and one under acme's prefix that is not in its list: an operator's leftover."""
    fresh_topic("globex", "users")
    fresh_topic("acme", "unlisted")


@pytest.mark.parametrize("version", range(14))
def test_metadata_of_all_topics_is_the_tenants_own(
    version: int, connect: Connect, direct: RawClient, orders: None, others: None
) -> None:
    seen_by_acme, seen_by_globex = (_all_topics(connect(tenant), version) for tenant in ("acme", "globex"))
    on_brokers = _all_topics(direct, version)

    assert {"orders"} <= seen_by_acme.keys() <= ACMES
    assert {"orders", "users"} <= seen_by_globex.keys()
    # Other tests may have left globex topics of its own with odd names, such as `__vt_acme_orders`.
    assert {physical_name("globex", name) for name in seen_by_globex} <= on_brokers.keys()
    if version >= 10:
        assert seen_by_acme["orders"] != seen_by_globex["orders"]


def test_brokers_are_the_gateways_ports(connect: Connect, gateway: GatewayProcess, orders: None) -> None:
    acme = connect("acme")
    for version in range(14):
        metadata = acme.request(
            MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]), version
        )
        assert [(one.node_id, one.host, one.port) for one in metadata.brokers] == [
            (1, "127.0.0.1", gateway.broker_port(1))
        ]
    for version in range(3):
        cluster = acme.request(DescribeClusterRequest(), version)
        assert [(one.broker_id, one.port) for one in cluster.brokers] == [(1, gateway.broker_port(1))]
    for version in range(4, 7):
        found = acme.request(FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"]), version)
        assert [(one.key, one.node_id, one.port) for one in found.coordinators] == [
            ("g", 1, gateway.broker_port(1)),
            ("h", 1, gateway.broker_port(1)),
        ]


def test_bootstrap_port_serves_like_the_brokers_own(gateway: GatewayProcess, orders: None) -> None:
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        assert produce(client, "orders", [b"over the bootstrap port"]) == 0
        assert b"over the bootstrap port" in records_of(client, "orders")


def test_every_tenant_has_a_cluster_id_of_its_own(connect: Connect, kafka: EmbeddedKafka) -> None:
    clients = [connect(tenant) for tenant in ("acme", "globex", "initech", "acme")]

    by_metadata = [client.request(MetadataRequest(topics=[]), 9).cluster_id for client in clients]
    by_cluster = [client.request(DescribeClusterRequest(), 1).cluster_id for client in clients]

    assert by_metadata == by_cluster
    assert by_metadata[0] == by_metadata[3]
    assert len({*by_metadata, kafka.cluster_id}) == 4
    assert {len(one) for one in by_metadata} == {22}


def _commit(client: RawClient, group_id: str, topic: str = "orders", offset: int = 0) -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    named = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])
    response = client.request(OffsetCommitRequest(group_id=group_id, topics=[named]), 8)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE


def _committed(client: RawClient, group_id: str) -> dict[tuple[str, int], int]:
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
    response = client.request(OffsetFetchRequest(groups=[group]), 8)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in response.groups[0].topics
        for partition in topic.partitions
    }


def test_groups_listed_are_the_tenants_own(
    start_gateway: StartGateway, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    # Tenants of this test alone: attackers in other tests call groups of their own by physical names.
    gateway = start_gateway(tenants=(TenantSpec("hooli"), TenantSpec("umbrella")))
    both, hoolis, umbrellas = unique("both"), unique("hoolis"), unique("umbrellas")
    with ExitStack() as stack:
        clients = []
        for tenant, groups in (("hooli", (both, hoolis)), ("umbrella", (both, umbrellas))):
            fresh_topic(tenant, "orders")
            endpoint = gateway.broker_endpoint(tenant)
            clients.append(
                stack.enter_context(RawClient.authenticated(endpoint, never_receives=(MARK.encode(),)))
            )
            for group in groups:
                _commit(clients[-1], group)
        for version in range(6):
            seen = [
                {group.group_id for group in client.request(ListGroupsRequest(), version).groups}
                for client in clients
            ]
            assert seen == [{both, hoolis}, {both, umbrellas}]


def test_offsets_of_a_group_with_the_same_name_are_apart(
    connect: Connect, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    acme, globex, group = connect("acme"), connect("globex"), unique("group")
    for tenant, client in (("acme", acme), ("globex", globex)):
        fresh_topic(tenant, "orders")
        produce(client, "orders", [b"x"] * 10)

    _commit(acme, group, offset=3)
    _commit(globex, group, offset=7)

    assert _committed(acme, group) == {("orders", 0): 3}
    assert _committed(globex, group) == {("orders", 0): 7}


def test_another_tenants_group_is_dead(connect: Connect, orders: None, unique: UniqueName) -> None:
    group = unique("group")
    _commit(connect("globex"), group)
    acme, absent = connect("acme"), "x" * len(group)

    described = acme.exchange(DescribeGroupsRequest(groups=[group]), 5)

    assert described == acme.exchange(DescribeGroupsRequest(groups=[absent]), 5).replace(
        absent.encode(), group.encode()
    )
    assert _committed(acme, group) == {}


def test_config_resources_are_the_tenants_own(acme: Endpoint, orders: None) -> None:
    with RawClient.authenticated(acme) as client:
        request = ListConfigResourcesRequest(resource_types=[2, 4, 8, 16, 32])
        listed = client.request(request, 1).config_resources

    assert {one.resource_type for one in listed} <= {2, 32}
    assert {"orders"} <= {one.resource_name for one in listed if one.resource_type == 2} <= ACMES


def test_pages_of_topic_partitions_end_with_the_tenants_last(
    connect: Connect, orders: None, unique: UniqueName
) -> None:
    globex = connect("globex")
    own = sorted(_all_topics(globex, 12))
    seen: list[str] = []
    cursor = None
    while True:
        page = globex.request(
            DescribeTopicPartitionsRequest(topics=[], response_partition_limit=1, cursor=cursor), 0
        )
        seen += [topic.name for topic in page.topics]
        if page.next_cursor is None:
            break
        cursor = DescribeTopicPartitionsRequest.Cursor(
            topic_name=page.next_cursor.topic_name, partition_index=page.next_cursor.partition_index
        )

    assert list(dict.fromkeys(seen)) == own


def test_another_tenants_transaction_is_unknown(connect: Connect, unique: UniqueName) -> None:
    transactional_id = unique("transaction")
    begun = connect("globex").request(
        InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=10_000), 4
    )
    assert begun.error_code == ErrorCode.NONE

    seen = [
        connect(tenant).request(DescribeTransactionsRequest(transactional_ids=[transactional_id]), 0)
        for tenant in ("globex", "acme")
    ]

    assert [one.transaction_states[0].error_code for one in seen] == [
        ErrorCode.NONE,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    ]
    assert seen[1].transaction_states[0].producer_id <= 0


def test_operations_allowed_are_what_the_tenant_may(connect: Connect, orders: None) -> None:
    delete = 1 << 6
    granted = {}
    for tenant in ("acme", "initech"):
        topic = MetadataRequest.MetadataRequestTopic(name="orders")
        request = MetadataRequest(topics=[topic], include_topic_authorized_operations=True)
        client = connect(tenant)
        granted[tenant] = (
            client.request(request, client.newest(ApiKey.METADATA)).topics[0].topic_authorized_operations
        )

    assert granted["acme"] & delete == 0
    assert granted["initech"] == granted["acme"] | delete
    assert granted["acme"] & (1 << 3 | 1 << 4 | 1 << 8) == 1 << 3 | 1 << 4 | 1 << 8
