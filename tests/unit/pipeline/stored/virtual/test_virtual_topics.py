from dataclasses import replace
from typing import Any

import pytest

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.virtual.virtual_topics import VirtualTopic, virtual_topics
from bifrost.tenancy.namespaces.alias_table import Access, Place
from bifrost.tenancy.namespaces.topic_aliases import Standing, TenantAliases
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from support.records.configured_tenants import tenant_of

RULES = [
    {"topics": ["orders", "eu:*"], "virtual": 12, "physical": 4},
    {"topics": ["plain"], "virtual": 3, "physical": 3},
    {"topics": ["p*"], "virtual": 9, "physical": 3},
]


def tenants(*rules: list[dict[str, Any]]) -> ConfiguredTenants:
    named = zip(("acme", "globex"), rules, strict=False)
    return ConfiguredTenants(
        [tenant_of([], name=name, prefix=f"{name}-", virtual_partitions=some) for name, some in named]
    )


def test_topics_are_found_by_the_first_rule_that_names_them() -> None:
    found = virtual_topics(
        tenants(RULES, []), ["acme-orders", "acme-plain", "acme-p2", "acme-other", "globex-orders", "orders"]
    )

    assert found == {
        "acme-orders": VirtualTopic("acme", "orders", "acme-orders", PartitionMap(12, 4)),
        "acme-p2": VirtualTopic("acme", "p2", "acme-p2", PartitionMap(9, 3)),
    }


def test_a_topic_of_a_namespace_is_called_as_the_whole_tenant_calls_it() -> None:
    (found,) = virtual_topics(tenants(RULES), ["acme---eu.any"]).values()

    assert (found.name, found.client_name, found.partitions) == ("eu:any", "eu:any", PartitionMap(12, 4))


def test_clients_may_write_something_else_between_namespaces() -> None:
    tenant = tenant_of([], prefix="acme-", virtual_partitions=RULES, namespace_separator="..")

    (found,) = virtual_topics(ConfiguredTenants([tenant]), ["acme---eu.any"]).values()

    assert (found.name, found.client_name) == ("eu:any", "eu..any")


def moved(configured: ConfiguredTenants) -> ConfiguredTenants:
    """The topic `orders` of the first tenant, which the second one owns as `taken`."""
    home, away = Place(("acme",), "orders"), Place(("globex",), "taken")
    gone = TenantAliases(standings={b"acme-orders": ()}, owners={b"acme-orders": away})
    has = TenantAliases(standings={b"acme-orders": (Standing(away, None),)}, home_of=lambda _: home)
    return replace(configured, aliases={"acme": gone, "globex": has})


def test_a_moved_topic_has_the_partitions_that_its_owner_sees() -> None:
    other = [{"topics": ["taken"], "virtual": 6, "physical": 2}]

    (found,) = virtual_topics(moved(tenants(RULES, other)), ["acme-orders"]).values()

    assert found == VirtualTopic("globex", "taken", "acme-orders", PartitionMap(6, 2))


def test_two_tenants_that_see_other_partitions_are_an_error() -> None:
    configured = tenants(RULES, [{"topics": ["shared"], "virtual": 6, "physical": 2}])
    place = Place(("globex",), "shared")
    shares = TenantAliases(standings={b"acme-orders": (Standing(place, next(iter(Access))),)})

    with pytest.raises(PipelineError, match="other virtual partitions for acme than for globex"):
        virtual_topics(replace(configured, aliases={"globex": shares}), ["acme-orders"])
    same = tenants(RULES, [{"topics": ["shared"], "virtual": 12, "physical": 4}])
    assert virtual_topics(replace(same, aliases={"globex": shares}), ["acme-orders"])
