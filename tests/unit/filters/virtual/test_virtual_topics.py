from bifrost.filters.virtual import virtual_topics
from bifrost.filters.virtual.virtual_topics import TenantVirtualTopics
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule
from bifrost.wire.entity import Entity
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.messages import produce, produced
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

RULES = [PartitionRule(("orders", "eu:*"), PartitionMap(5, 2))]


def test_the_engine_knows_all_other_topics(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES).topics(namespace, None)
    requests, answers = topics.in_requests(namespace.to_physical), topics.in_answers(namespace.to_virtual)
    orders, billing = (physical_name("acme", one).encode() for one in ("orders", "billing"))

    assert requests.missing(Entity.TOPIC_NAME, b"orders") is None
    assert requests.missing(Entity.TOPIC_NAME, b"billing") == billing
    assert answers.missing(Entity.TOPIC_NAME, orders) is None
    assert answers.missing(Entity.TOPIC_NAME, billing) == b"billing"
    assert requests.tables[Entity.TOPIC_NAME] == {b"billing": billing}
    topics.renew()
    assert requests.tables[Entity.TOPIC_NAME] == {}


def test_topics_by_id_are_told_from_others(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    topics = TenantVirtualTopics(RULES).topics(namespace, None)
    for name in ("orders", "billing"):
        stage.topic_ids.learn(messages.topic_id(name), physical_name("acme", name).encode())
    requests = topics.in_requests(namespace.to_physical)

    assert requests.missing(Entity.TOPIC_ID, messages.topic_id("orders")) is None
    assert requests.missing(Entity.TOPIC_ID, messages.topic_id("billing")) == messages.topic_id("billing")
    assert topics.map_of_either("", messages.topic_id("orders")) == (5, 2)
    assert topics.map_of_either("", messages.topic_id("billing")) is None
    assert topics.map_of_either(None, bytes(16)) is None


def test_clients_of_a_namespace_share_what_is_known(stage: Stage) -> None:
    tenant, namespace = TenantVirtualTopics(RULES), stage.namespaces["acme"]
    found = tenant.topics(namespace, None)

    assert tenant.topics(namespace, None) is found
    assert found.in_requests(namespace.to_physical) is found.in_requests(namespace.to_physical)
    assert found.in_requests(namespace.to_physical) is not found.in_answers(namespace.to_physical)


def test_names_remembered_have_a_bound(stage: Stage) -> None:
    namespace = stage.namespaces["initech"]
    topics = TenantVirtualTopics(RULES).topics(namespace, None)
    names = topics.in_requests(namespace.to_physical)
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
