from copy import deepcopy
from typing import Any

from bifrost.authentication.accounts import Account
from bifrost.config.kept_secret import KeptSecret
from bifrost.config.model import Config
from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.brokers.tenant_settings import TenantSettings
from bifrost.gateway.brokers.virtual_clusters import virtual_clusters
from bifrost.gateway.loop.steps import at_once
from bifrost.session.virtual_clusters import VirtualClusters
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.broker_authority import BrokerAuthority
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from support.physical_names import prefix_of
from unit.gateway.test_gateway import CONFIG


def configured(**tenants: dict[str, Any]) -> Config:
    """The configuration of two tenants, with more about some of them."""
    data = deepcopy(CONFIG)
    for tenant in data["tenants"]:
        tenant.update(tenants.get(tenant["name"], {}))
    if any("upstream" in tenant for tenant in data["tenants"]):
        del data["upstream"]
        data["upstreams"] = [{"name": name, "bootstrap": [f"{name}:9092"]} for name in ("one", "other")]
    return Config.model_validate(data)


def made(config: Config, clusters: Clusters, before: VirtualClusters | None = None) -> VirtualClusters:
    return at_once(virtual_clusters(config, TenantSettings.of(config), clusters, int, before=before))


def built(config: Config) -> VirtualClusters:
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    return made(config, clusters)


def test_every_tenant_has_its_namespace() -> None:
    clusters = built(configured())
    acme, globex = (clusters.of_tenant(name).namespace for name in ("acme", "globex"))

    assert (acme.names.allowed_topics, globex.names.allowed_topics) == (frozenset({b"orders"}), None)
    assert (acme.allow_topic_deletion, globex.allow_topic_deletion) == (False, True)
    assert acme.topic_ids is globex.topic_ids
    assert len(clusters) == 2


def test_masks_are_random() -> None:
    clusters = built(configured())
    masks = {
        clusters.of_tenant(name).namespace.masked_ids.mask(bytes([number]) * 16)
        for name in ("acme", "globex")
        for number in range(1, 50)
    }

    assert len(masks) == 98
    assert {len(one) for one in masks} == {16}


def test_physical_clusters_share_neither_topic_ids_nor_fetch_sessions() -> None:
    clusters = built(configured(acme={"upstream": "one"}, globex={"upstream": "other"}))
    acme, globex = clusters.of_tenant("acme"), clusters.of_tenant("globex")

    assert (acme.upstream, globex.upstream) == ("one", "other")
    assert acme.namespace.topic_ids is not globex.namespace.topic_ids
    assert acme.fetch_sessions is not globex.fetch_sessions


def test_a_namespace_below_has_its_tenant_s_settings() -> None:
    prefixes = {"topic": "t1-", "group": "g1-", "transactional_id": "x1-"}
    clusters = built(configured(globex={"prefixes": prefixes}))
    below = clusters.of(Account("reader", "globex", namespace=("eu",))).namespace

    assert below.names.topics.shared_prefix == b"t1---eu."
    assert below.allow_topic_deletion
    assert below.topic_ids is clusters.of_tenant("globex").namespace.topic_ids


def test_brokers_see_client_ids_with_the_prefix_of_groups() -> None:
    prefixes = {"topic": "t1-", "group": "g1-", "transactional_id": "x1-"}
    clusters = built(configured(globex={"prefixes": prefixes}))
    below = clusters.of(Account("reader", "globex", namespace=("eu",))).namespace
    found = [clusters.of_tenant(name).namespace.names.client_id_prefix for name in ("acme", "globex")]

    assert found == [prefix_of("acme").encode(), b"g1-"]
    assert below.names.client_id_prefix == b"g1---eu."


def test_client_ids_that_are_to_be_unchanged_have_none() -> None:
    clusters = built(configured(globex={"client_ids": "unchanged"}))
    below = clusters.of(Account("reader", "globex", namespace=("eu",))).namespace

    assert clusters.of_tenant("globex").namespace.names.client_id_prefix is None
    assert below.names.client_id_prefix is None


def test_a_tenant_whose_client_ids_change_begins_anew_and_no_other() -> None:
    config = configured()
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    before = made(config, clusters)

    after = made(configured(globex={"client_ids": "unchanged"}), clusters, before)

    assert after.of_tenant("acme") is before.of_tenant("acme")
    assert after.of_tenant("globex") is not before.of_tenant("globex")


def test_a_tenant_s_limits_of_what_brokers_keep_are_its_own_or_the_gateways_and_change() -> None:
    config = configured(globex={"limits": {"max_groups": 1}})
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    before = made(config, clusters)
    acme, globex = (before.of_tenant(name).namespace.kept for name in ("acme", "globex"))
    below = before.of(Account("reader", "globex", namespace=("eu",))).namespace.kept
    assert acme is not None
    assert globex is not None
    assert below is not None

    assert acme.groups.most == config.proxy.limits.max_groups == 10_000
    assert globex.enter_group(b"app")
    assert not globex.enter_group(b"other")
    assert not below.enter_group(b"app")

    after = made(configured(globex={"limits": {"max_groups": 2}}), clusters, before)

    assert after.of_tenant("globex").namespace.kept is globex
    assert below.enter_group(b"app")
    assert not globex.enter_group(b"other")
    assert acme.groups is not globex.groups


def test_each_tenant_is_a_step() -> None:
    config = configured()
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)

    assert list(virtual_clusters(config, TenantSettings.of(config), clusters, int)) == [None, None]


def test_a_namespace_in_use_is_a_step_and_one_that_comes_into_use_meanwhile_is_changed_too() -> None:
    config = configured()
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    before = made(config, clusters)
    first = before.of(Account("reader", "globex", namespace=("eu",)))
    other = configured(globex={"allow_topic_deletion": False})
    steps = virtual_clusters(other, TenantSettings.of(other), clusters, int, before=before)
    for _ in range(3):
        next(steps)
    second = before.of(Account("reader", "globex", namespace=("us",)))

    after = at_once(steps)

    for found, tiers in ((first, ("eu",)), (second, ("us",))):
        assert after.of(Account("reader", "globex", namespace=tiers)) is found
        assert not found.namespace.allow_topic_deletion


def test_a_text_names_the_tenant_s_own_things_and_no_one_else_s() -> None:
    clusters = built(configured(acme={"prefixes": {"topic": "t1-"}}, globex={"prefixes": {"topic": "t2-"}}))
    names = clusters.of_tenant("acme").namespace.names

    assert names.virtual_text(b"topic t1-orders is full") == b"topic orders is full"
    assert names.virtual_text(f"group {prefix_of('acme')}g is gone".encode()) == b"group g is gone"
    assert names.virtual_text(b"topic t2-orders is full") == b""
    assert names.virtual_text(f"group {prefix_of('globex')}g is gone".encode()) == b""


def test_all_tenants_share_the_marks_of_others() -> None:
    clusters = built(configured(acme={"prefixes": {"topic": "t1-"}}, globex={"prefixes": {"topic": "t2-"}}))

    one, other = (clusters.of_tenant(name).namespace.names for name in ("acme", "globex"))

    assert one._texts._foreign_marks is other._texts._foreign_marks


FILTER = {
    "name": "RecordHeaders",
    "config": {"remove": ["x"]},
    "rules": [{"topics": ["orders"], "direction": "produce"}],
}


def test_a_tenant_has_its_filters_in_all_its_namespaces() -> None:
    clusters = built(configured(globex={"filters": [FILTER]}))
    globex = clusters.of_tenant("globex")
    below = clusters.of(Account("reader", "globex", namespace=("eu",)))

    assert globex.records is not None
    assert [one.shown_name for one in globex.records.filters.filters] == ["RecordHeaders"]
    assert below.records is globex.records
    assert clusters.of_tenant("acme").records is None


def test_other_filters_make_another_virtual_cluster() -> None:
    config = configured(globex={"filters": [FILTER]})
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    before = made(config, clusters)

    same = made(configured(globex={"filters": [deepcopy(FILTER)]}), clusters, before)
    other = made(configured(globex={"filters": [FILTER | {"label": "edge"}]}), clusters, same)
    none = made(configured(), clusters, other)

    assert same.of_tenant("globex") is before.of_tenant("globex")
    assert other.of_tenant("globex") is not same.of_tenant("globex")
    assert none.of_tenant("globex").records is None
    assert none.of_tenant("acme") is before.of_tenant("acme")
    assert none.records is before.records, "what transforms did before is still counted"


def test_without_filters_nothing_is_there_for_them() -> None:
    assert built(configured()).records is None


PARTITIONS = {"topics": ["orders"], "virtual": 12, "physical": 4}


def test_a_tenant_has_its_virtual_partitions_in_all_its_namespaces() -> None:
    clusters = built(configured(globex={"virtual_partitions": [PARTITIONS]}))
    globex = clusters.of_tenant("globex")
    below = clusters.of(Account("reader", "globex", namespace=("eu",)))

    assert globex.virtual_partitions.rules.map_of("orders") == PartitionMap(12, 4)
    assert globex.virtual_partitions.rules.map_of("eu:orders") is None
    assert below.virtual_partitions is globex.virtual_partitions
    assert clusters.of_tenant("acme").virtual_partitions is None


def test_other_virtual_partitions_make_another_virtual_cluster() -> None:
    config = configured(globex={"virtual_partitions": [PARTITIONS]})
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    before = made(config, clusters)
    before.partition_counts["globex", "parts"] += 1

    same = made(configured(globex={"virtual_partitions": [dict(PARTITIONS)]}), clusters, before)
    grown = made(configured(globex={"virtual_partitions": [PARTITIONS | {"virtual": 16}]}), clusters, same)
    none = made(configured(), clusters, grown)

    assert same.of_tenant("globex") is before.of_tenant("globex")
    assert grown.of_tenant("globex") is not same.of_tenant("globex")
    assert none.of_tenant("globex").virtual_partitions is None
    assert none.of_tenant("acme") is before.of_tenant("acme")
    assert none.partition_counts == {("globex", "parts"): 1}


def test_policies_about_records_give_a_tenant_what_filters_of_records_need() -> None:
    policy = {"namespace": "eu", "acks": ["all"]}
    config = configured(globex={"namespace_policies": [policy]})
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)

    before = made(configured(), clusters)
    after = made(config, clusters, before)
    globex, again = after.of_tenant("globex"), made(config, clusters, after)

    assert before.of_tenant("globex").records is None
    assert globex.records.has_rules
    assert globex.namespace.rules is not None
    assert after.of_tenant("acme").records is None
    assert again.of_tenant("globex") is globex
    below = again.of(Account("reader", "globex", namespace=("eu",)))
    assert below.records.has_rules
    assert below.namespace.rules.on_records("orders") is not None


def test_a_policy_that_comes_later_is_for_all_that_a_tenant_has() -> None:
    clusters = built(configured(globex={"filters": [FILTER], "namespace_policies": [{"max_topics": 9}]}))
    before, below = clusters.of_tenant("globex"), clusters.of(Account("r", "globex", namespace=("eu",)))
    key = StateKey("namespace-policy", "globex")

    for _ in range(2):
        clusters.policies.apply(key, StateRecord(key, 1, 0, "c", "w", None, {"compression": ["zstd"]}))
        after = clusters.of_tenant("globex")

        assert after is not before
        assert after.records.has_rules
        assert [one.shown_name for one in after.records.filters.filters] == ["RecordHeaders"]
        assert clusters.of(Account("r", "globex", namespace=("eu",))) is not below
    assert clusters.has_displaced


def test_a_tenant_whose_acls_the_brokers_keep_has_the_accounts_of_its_users() -> None:
    def configured_with(account: str, acls: dict[str, Any] | None) -> Config:
        data = deepcopy(CONFIG)
        secret = {"password_file": "p", "password": KeptSecret(b"p")}
        own = {"security_protocol": "SASL_PLAINTEXT", "sasl": {"username": "gateway", **secret}}
        data["upstream"] |= own
        (user, *_) = data["tenants"][0]["auth"]["credentials"]
        user |= {"username": "shop", "upstream_sasl": {"username": account, **secret}}
        data["tenants"][0]["auth"]["credentials"] = [user]
        data["tenants"][0] |= {} if acls is None else {"acls": acls}
        return Config.model_validate(data)

    config = configured_with("one", {"mode": "broker"})
    clusters = Clusters(Cluster(one, (), config.proxy.limits, int) for one in config.clusters)
    first = made(config, clusters)
    again = made(configured_with("other", {"mode": "broker", "max_stored": 7}), clusters, first)
    by_gateway = made(configured_with("other", {}), clusters, again)
    without = made(configured_with("other", None), clusters, by_gateway)

    (one, two, three, four) = (each.of_tenant("acme") for each in (first, again, by_gateway, without))
    assert one is two
    assert one is not None
    assert isinstance(one.authority, BrokerAuthority)
    assert one.authority.accounts == {"shop": "other"}
    assert one.authority.max_stored == 7
    assert [each and each.acl_mode for each in (one, three, four)] == ["broker", "gateway", None]
