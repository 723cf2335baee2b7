import time
from dataclasses import replace

from bifrost.filters.virtual import virtual_topics
from bifrost.filters.virtual.partition_way import PartitionWay
from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics, VirtualTopics
from bifrost.session.virtual_clusters import VirtualCluster
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.virtual_partitions.logs.stretch import Stretch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import SERVED, served_versions
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.messages import produce, produced
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import PLANS, Stage, account

RULES = [PartitionRule(("orders", "eu:*"), PartitionMap(5, 2))]


def test_the_engine_knows_all_other_topics(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(namespace, None)
    requests = topics.in_requests(ApiKey.FETCH, namespace.to_physical)
    answers = topics.in_answers(ApiKey.FETCH, namespace.to_virtual)
    orders, billing = (physical_name("acme", one).encode() for one in ("orders", "billing"))

    assert requests.missing(Entity.TOPIC_NAME, b"orders") is None
    assert requests.missing(Entity.TOPIC_NAME, b"billing") == billing
    assert answers.missing(Entity.TOPIC_NAME, orders) is None
    assert answers.missing(Entity.TOPIC_NAME, billing) == b"billing"
    assert requests.tables[Entity.TOPIC_NAME] == {b"billing": billing, b"orders": None}, "both are remembered"
    topics.renew()
    assert requests.tables[Entity.TOPIC_NAME] == {}


def test_the_engine_has_a_way_for_what_is_produced(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(namespace, None)
    requests = topics.in_requests(ApiKey.PRODUCE, namespace.to_physical)
    answers = topics.in_answers(ApiKey.PRODUCE, namespace.to_virtual)
    orders, billing = (physical_name("acme", one).encode() for one in ("orders", "billing"))

    there, back = requests.missing(Entity.TOPIC_NAME, b"orders"), answers.missing(Entity.TOPIC_NAME, orders)

    assert isinstance(there, PartitionWay)
    assert isinstance(back, PartitionWay)
    assert (there.name, back.name) == (orders, b"orders")
    assert requests.missing(Entity.TOPIC_NAME, b"billing") == billing
    assert requests.tables[Entity.TOPIC_NAME] == {b"orders": there, b"billing": billing}
    topics.renew()
    assert requests.tables[Entity.TOPIC_NAME] == {}


def test_topics_by_id_are_told_from_others(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(namespace, None)
    for name in ("orders", "billing"):
        stage.topic_ids.learn(messages.topic_id(name), physical_name("acme", name).encode())
    requests = topics.in_requests(ApiKey.FETCH, namespace.to_physical)

    assert requests.missing(Entity.TOPIC_ID, messages.topic_id("orders")) is None
    assert requests.missing(Entity.TOPIC_ID, messages.topic_id("billing")) == messages.topic_id("billing")
    assert topics.map_of_either("", messages.topic_id("orders")) == PartitionMap(5, 2)
    assert topics.map_of_either("", messages.topic_id("billing")) is None
    assert topics.map_of_either(None, bytes(16)) is None


def test_clients_of_a_namespace_share_what_is_known(stage: Stage) -> None:
    tenant, namespace = TenantVirtualTopics(RULES, wall_s=time.time), stage.namespaces["acme"]
    found = tenant.topics(namespace, None)

    assert tenant.topics(namespace, None) is found
    requests = found.in_requests(ApiKey.FETCH, namespace.to_physical)
    assert requests is found.in_requests(ApiKey.LIST_OFFSETS, namespace.to_physical)
    assert requests is not found.in_requests(ApiKey.PRODUCE, namespace.to_physical)
    assert requests is not found.in_answers(ApiKey.FETCH, namespace.to_physical)


def test_a_moved_or_shared_topic_keeps_its_partitions(stage: Stage) -> None:
    stage.existing.configure({"acme": [("eu",), ("billing",), ("us",)]})
    tenant = TenantVirtualTopics(
        [PartitionRule(("eu:orders",), PartitionMap(5, 2)), PartitionRule(("us:*",), PartitionMap(7, 3))],
        wall_s=time.time,
    )
    key, clusters = StateKey(KIND, "acme:eu/orders"), stage.shared.virtual_clusters
    in_use: list[VirtualCluster] = []

    def topics_of(namespace: str) -> VirtualTopics:
        found = clusters.of(replace(account("acme"), namespace=(namespace,)))
        in_use.append(found)  # As a session has it.
        return tenant.topics(found.namespace, None)

    def apply(number: int, body: Body | None) -> None:
        record = None if body is None else StateRecord(key, number, 0, "c", "w", None, body)
        stage.aliases.apply(key, record)

    billing, shares = topics_of("billing"), {"acme:us/p": "read-write"}
    names = billing.in_requests(ApiKey.FETCH, billing.namespace.to_physical)
    assert billing.map_of("o") is None
    assert names.missing(Entity.TOPIC_NAME, b"o") is not None

    apply(1, {"owner": "acme:billing/o", "shares": {}})
    assert billing.map_of("o") == PartitionMap(5, 2)
    assert names.missing(Entity.TOPIC_NAME, b"o") is None
    assert tenant.topics(stage.namespaces["acme"], None).map_of("billing:o") == PartitionMap(5, 2)
    # Another topic may have its name now.
    assert topics_of("eu").map_of("orders") == PartitionMap(5, 2)

    apply(2, None)
    assert billing.map_of("o") is None
    assert names.missing(Entity.TOPIC_NAME, b"o") is not None

    apply(3, {"owner": "acme:eu/orders", "shares": shares})
    assert topics_of("us").map_of("p") == PartitionMap(5, 2)
    assert topics_of("us").map_of("other") == PartitionMap(7, 3)


def test_names_remembered_have_a_bound(stage: Stage) -> None:
    namespace = stage.namespaces["initech"]
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(namespace, None)
    names = topics.in_requests(ApiKey.FETCH, namespace.to_physical)
    for number in range(virtual_topics.MAX_REMEMBERED + 1):
        names.missing(Entity.TOPIC_NAME, b"t%d" % number)
        topics.map_of(f"t{number}")

    table = names.tables[Entity.TOPIC_NAME]
    assert table is not None
    assert len(table) == 1
    assert len(topics._maps) == 1


def test_topics_without_virtual_partitions_are_not_decoded(stage: Stage, decoded: list[str]) -> None:
    divided(stage, "orders")
    book = stage.play()
    billing = physical_name("acme", "billing")

    assert (
        book
        >> client_sends(produce("billing"), 9)
        << to_broker(produce(billing))
        >> broker_answers(produced(billing))
        << to_client(produced("billing"))
    )
    assert decoded == []


def test_names_that_no_topic_has_are_not_remembered(stage: Stage) -> None:
    """4,096 of 32 KiB would take more than the gateway may, in each of several tables."""
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(namespace, None)
    requests = topics.in_requests(ApiKey.FETCH, namespace.to_physical)
    long = "n" * 30_000

    assert requests.missing(Entity.TOPIC_NAME, long.encode()) is not None
    assert requests.missing(Entity.GROUP_ID, long.encode()) == physical_name("acme", long).encode()
    assert topics.map_of(long) is None
    assert topics.map_of("eu:" + long) == PartitionMap(5, 2)

    assert not requests.tables[Entity.TOPIC_NAME]
    assert not requests.tables[Entity.GROUP_ID]
    assert not topics._maps


def test_messages_of_every_api_have_a_plan(stage: Stage) -> None:
    """Also those that the gateway answers, about ACLs and users: they ended the connection."""
    topics = TenantVirtualTopics(RULES, wall_s=time.time).topics(stage.namespaces["acme"], None)
    plans = [
        PLANS.plan_for(api_key, version) for api_key in SERVED for version in served_versions(api_key) or ()
    ]

    assert len([topics.plan(one) for one in plans if one is not None]) > 200


def test_what_was_read_of_logs_is_forgotten_with_what_is_recent(stage: Stage) -> None:
    """A topic may have been deleted, and made anew."""
    divided(stage, "orders")
    cluster = stage.shared.virtual_clusters.of_tenant("acme")
    assert cluster is not None
    assert cluster.virtual_partitions is not None
    topics = cluster.virtual_partitions.topics(cluster.namespace, None)
    place = topics.at_brokers("orders"), 0
    assert place[0] == physical_name("acme", "orders").encode()
    topics.stretches.add(place, 0, Stretch(0, 10, {}))
    topics.forget_recent()

    assert topics.stretches.of(place, 0) is None
