"""What the HTTP tests do not show: resources/test_owned_topics.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.control.configs.configs import Configs
from bifrost.control.namespaces import Namespaces
from bifrost.control.policies import Policies
from bifrost.control.shared_topics import NoSuchTopic
from bifrost.control.topics.owned_topics import BY_DEFAULT, OwnedTopics, TopicRefused
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.namespaces.alias_table import Access, AliasRefused, Place
from bifrost.tenancy.namespaces.namespace_path import read_path
from bifrost.tenancy.topic_configs.config_records import (
    NamespaceConfig,
    namespace_body,
    namespace_key,
    topic_key,
)
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name

ACME = read_path("acme")
ORDERS = Place.read("acme/orders")


@pytest.fixture
def backend() -> TableBackend:
    return TableBackend()


def topics_of(backend: TableBackend, folder: Path, **tenant: object) -> OwnedTopics:
    config = config_with(folder, tenant=tenant)
    namespaces = Namespaces(config, backend)
    policies, configs = Policies(config, backend, namespaces), Configs(config, backend, namespaces)
    return OwnedTopics(config, backend, namespaces, policies, configs)


@pytest.fixture
def topics(backend: TableBackend, tmp_path: Path) -> OwnedTopics:
    return topics_of(backend, tmp_path)


def test_a_value_that_is_the_namespace_s_as_well_is_remembered_as_the_topic_s_own(
    backend: TableBackend, topics: OwnedTopics
) -> None:
    inherited = NamespaceConfig({"retention.ms": "5", "segment.bytes": "33554432"})
    backend.put([Change(namespace_key(ACME), 0, namespace_body(inherited))])

    made = asyncio.run(topics.create(ORDERS, 1, 1, {"retention.ms": "5"}, "Admin:alice"))

    assert made.state.configs == {"retention.ms": "5", "segment.bytes": "33554432"}
    record = backend.table.get(topic_key(ACME, "orders"))
    assert record is not None
    assert record.body == {"own": {"retention.ms": "5"}}
    assert record.on_behalf_of == "Admin:alice"


def test_a_conflict_that_does_not_end_is_told_and_nothing_is_created(
    backend: TableBackend, topics: OwnedTopics
) -> None:
    backend.put([Change(namespace_key(ACME), 0, namespace_body(NamespaceConfig({"retention.ms": "5"})))])
    key = topic_key(ACME, "orders")

    def interfere() -> None:
        record = backend.table.get(key)
        version = 0 if record is None else record.version
        backend.put([Change(key, version, {"own": {"retention.ms": str(version)}})])

    backend.before_change += [interfere] * 5

    with pytest.raises(StateConflict):
        asyncio.run(topics.create(ORDERS, 1, 1, {"retention.ms": "5"}, "Admin:alice"))
    assert backend.topics == {}


def test_topics_of_other_owners_are_seen_with_their_access_and_not_deleted(
    backend: TableBackend, tmp_path: Path
) -> None:
    config = config_with(tmp_path)
    table = Namespaces(config, backend).aliases.table
    backend.topics = {name: [physical_name("acme", "orders")] for name in ("acme", "globex")}
    backend.put(table.share(ORDERS, Place.read("globex/partner"), Access.READ))
    topics = topics_of(backend, tmp_path)

    (seen,) = asyncio.run(topics.seen_in(read_path("globex"), recursive=True))

    assert (str(seen.place), seen.physical, seen.access) == (
        "globex/partner",
        physical_name("acme", "orders"),
        Access.READ,
    )
    with pytest.raises(AliasRefused, match="globex/partner is shared by another owner"):
        asyncio.run(topics.delete(seen.place))
    with pytest.raises(
        AliasRefused, match="globex/partner is the name of a topic that was moved or is shared"
    ):
        asyncio.run(topics.create(seen.place, 1, 1, {}, "Admin:alice"))


def test_a_config_that_is_removed_is_inherited_again(backend: TableBackend, topics: OwnedTopics) -> None:
    backend.put([Change(namespace_key(ACME), 0, namespace_body(NamespaceConfig({"retention.ms": "5"})))])
    asyncio.run(
        topics.create(ORDERS, 1, 1, {"retention.ms": "5", "segment.bytes": "33554432"}, "Admin:alice")
    )

    altered = asyncio.run(topics.alter(ORDERS, {"retention.ms": "9", "segment.bytes": None}, "Admin:alice"))
    assert altered.state.configs == {"retention.ms": "9"}
    asyncio.run(topics.alter(ORDERS, {"retention.ms": "5"}, "Admin:alice"))
    record = backend.table.get(topic_key(ACME, "orders"))
    assert record is not None
    assert record.body == {"own": {"retention.ms": "5"}}

    again = asyncio.run(topics.alter(ORDERS, {"retention.ms": None}, "Admin:alice"))
    assert again.state.configs == {"retention.ms": "5"}
    assert backend.table.get(topic_key(ACME, "orders")) is None


def test_configs_that_a_policy_or_a_broker_does_not_allow_stay(backend: TableBackend, tmp_path: Path) -> None:
    forced = [{"name": "segment.bytes", "value": 33554432}]
    topics = topics_of(backend, tmp_path, namespace_policies=[{"forced_topic_configs": forced}])
    asyncio.run(topics.create(ORDERS, 1, 1, {}, "Admin:alice"))

    for value in ("1", None):
        with pytest.raises(TopicRefused, match="Policy forced_topic_configs of namespace acme allows"):
            asyncio.run(topics.alter(ORDERS, {"segment.bytes": value}, "Admin:alice"))
    backend.unalterable[physical_name("acme", "orders")] = "INVALID_CONFIG"
    with pytest.raises(TopicRefused, match="acme/orders: INVALID_CONFIG"):
        asyncio.run(topics.alter(ORDERS, {"retention.ms": "x"}, "Admin:alice"))
    with pytest.raises(NoSuchTopic, match="topic acme/missing"):
        asyncio.run(topics.alter(Place.read("acme/missing"), {"retention.ms": "1"}, "Admin:alice"))


def test_what_a_broker_does_not_delete_is_told(backend: TableBackend, topics: OwnedTopics) -> None:
    backend.topics["acme"] = [physical_name("acme", "orders")]
    backend.undeletable[physical_name("acme", "orders")] = "TOPIC_DELETION_DISABLED"

    with pytest.raises(TopicRefused, match="acme/orders: TOPIC_DELETION_DISABLED"):
        asyncio.run(topics.delete(ORDERS))


def test_dotted_namespaces_have_no_places(backend: TableBackend, tmp_path: Path) -> None:
    topics = topics_of(backend, tmp_path, namespace_encoding="dotted")

    with pytest.raises(TopicRefused, match="tenant acme has dotted namespaces"):
        asyncio.run(topics.create(ORDERS, BY_DEFAULT, BY_DEFAULT, {}, "Admin:alice"))


def test_policies_of_the_configuration_and_of_the_state_both_hold(
    backend: TableBackend, tmp_path: Path
) -> None:
    policies = [{"max_topics": 1}, {"namespace": "eu", "max_partitions_per_topic": 3}]
    topics = topics_of(backend, tmp_path, namespace_policies=policies)
    place = Place.read("acme:eu/orders")

    with pytest.raises(TopicRefused, match=r"POLICY_VIOLATION: .* of namespace acme:eu allows at most 3"):
        asyncio.run(topics.create(place, 4, 1, {}, "Admin:alice"))
    assert asyncio.run(topics.create(place, 3, 1, {}, "Admin:alice", dry_run=True)).state.partitions == 3
    asyncio.run(topics.create(place, 3, 1, {}, "Admin:alice"))
    with pytest.raises(
        TopicRefused, match="Policy max_topics of namespace acme allows at most 1 topics, not 2"
    ):
        asyncio.run(topics.create(ORDERS, 1, 1, {}, "Admin:alice"))
