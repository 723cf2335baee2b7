from collections import Counter
from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.names import PhysicalTopic, TenantNames
from bifrost.tenancy.namespaces.alias_table import Place
from bifrost.tenancy.namespaces.topic_aliases import Standing, TenantAliases
from bifrost.tenancy.policies.namespace_budgets import NamespaceBudgets
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from support.physical_names import prefix_of

PREFIX = prefix_of("acme")
EU, DE = f"{PREFIX}--eu.", f"{PREFIX}--eu.--de."


@pytest.fixture
def hits() -> Counter[tuple[str, str]]:
    return Counter()


def budgets(
    hits: Counter[tuple[str, str]],
    existing: dict[str, int],
    moved: dict[str, str] | None = None,
    **policies: dict[str, Any],
) -> NamespaceBudgets:
    """Return the budgets of acme:eu; `moved` has the owners of topics that were moved, by their physical names."""
    found = NamespacePolicies()
    found.configure(
        {tuple(path.split("_")): NamespacePolicy.model_validate(one) for path, one in policies.items()}
    )
    owners = {name.encode(): Place.read(owner) for name, owner in (moved or {}).items()}
    names = TenantNames(
        "acme",
        tiers=["eu"],
        namespaces={("eu",), ("eu", "de"), ("us",)},
        aliases={"acme": TenantAliases(owners=owners)} if moved else {},
    )
    physical = {PhysicalTopic(name.encode()): count for name, count in existing.items()}
    return NamespaceBudgets(names, found, hits, lambda: physical)


def topic(name: str) -> PhysicalTopic:
    return PhysicalTopic(name.encode())


def test_topics_below_count_for_a_namespace_and_deleted_ones_do_not(hits: Counter[tuple[str, str]]) -> None:
    found = budgets(
        hits, {f"{EU}a": 1, f"{DE}b": 1, f"{EU}gone": 0, f"{PREFIX}c": 9}, acme_eu={"max_topics": 3}
    )

    assert found.add(topic(f"{DE}new"), 0, 1) is None
    refusal = found.add(topic(f"{EU}more"), 0, 1)

    assert refusal is not None
    assert refusal.message == "Policy max_topics of namespace acme:eu allows at most 3 topics, not 4"
    assert hits == {("max_topics", "acme"): 1}
    assert found.add(topic(f"{PREFIX}other"), 0, 1) is None


def test_a_topic_that_grows_counts_with_what_it_gets(hits: Counter[tuple[str, str]]) -> None:
    found = budgets(hits, {f"{EU}a": 4, f"{PREFIX}b": 4}, acme={"max_partitions": 10})

    assert found.add(topic(f"{EU}a"), 4, 6) is None
    assert found.add(topic(f"{PREFIX}b"), 4, 5) is not None
    assert hits == {("max_partitions", "acme"): 1}


def test_what_a_namespace_below_refuses_does_not_count_above(hits: Counter[tuple[str, str]]) -> None:
    found = budgets(hits, {}, acme={"max_topics": 1}, acme_eu={"max_topics": 0})

    assert found.add(topic(f"{EU}a"), 0, 1) is not None
    assert found.add(topic(f"{PREFIX}a"), 0, 1) is None


def test_a_moved_topic_counts_where_it_is_owned(hits: Counter[tuple[str, str]]) -> None:
    moved = {f"{PREFIX}to-eu": "acme:eu/a", f"{EU}to-us": "acme:us/b", f"{EU}to-globex": "globex/c"}
    found = budgets(hits, dict.fromkeys(moved, 4), moved, acme_eu={"max_partitions": 10})

    assert found.add(topic(f"{PREFIX}to-eu"), 4, 10) is None
    assert found.add(topic(f"{EU}to-us"), 4, 90) is None
    assert found.add(topic(f"{EU}new"), 0, 1) is not None


def test_a_topic_of_another_tenant_has_no_budget(hits: Counter[tuple[str, str]]) -> None:
    assert budgets(hits, {}, acme={"max_topics": 0}).add(topic(prefix_of("globex") + "a"), 0, 1) is None


def test_a_topic_that_another_tenant_created_counts_where_it_was_moved_to(
    hits: Counter[tuple[str, str]],
) -> None:
    foreign, place = f"{prefix_of('globex')}orders".encode(), Place.read("acme:eu/o")
    found = budgets(hits, {foreign.decode(): 4}, {"": "acme/none"}, acme_eu={"max_partitions": 5})
    found._names.aliases["acme"].standings[foreign] = (Standing(place, None),)

    assert found.add(PhysicalTopic(foreign), 4, 6) is not None
    assert found.add(PhysicalTopic(foreign), 4, 5) is None
    assert found.add(topic(f"{EU}new"), 0, 1) is not None
