from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies


def policy(**fields: Any) -> NamespacePolicy:
    return NamespacePolicy.model_validate(fields)


def stored(name: str, body: dict[str, Any] | None) -> tuple[StateKey, StateRecord]:
    key = StateKey("namespace-policy", name)
    return key, StateRecord(key, 1, 0, "change", "writer", None, body)


def shown(policies: NamespacePolicies, *path: str) -> list[tuple[str, int | None]]:
    return [(one.shown, one.policy.max_topics) for one in policies.chain(path)]


def test_the_policies_of_a_namespace_begin_with_its_tenants() -> None:
    policies = NamespacePolicies()
    policies.configure({("acme",): policy(max_topics=9), ("acme", "eu", "de"): policy(max_topics=3)})
    policies.apply(*stored("acme:eu", {"max_topics": 5}))

    assert shown(policies, "acme", "eu", "de") == [("acme", 9), ("acme:eu", 5), ("acme:eu:de", 3)]
    assert shown(policies, "acme", "us") == [("acme", 9)]
    assert shown(policies, "globex") == []
    assert len(policies) == 3


def test_those_of_the_configuration_and_the_state_both_hold() -> None:
    policies = NamespacePolicies()
    policies.configure({("acme",): policy(max_topics=9)})
    policies.apply(*stored("acme", {"max_topics": 5}))

    assert shown(policies, "acme") == [("acme", 9), ("acme", 5)]


def test_a_deleted_policy_does_not_hold_any_more() -> None:
    policies = NamespacePolicies()
    policies.apply(*stored("acme", {"max_topics": 5}))
    assert shown(policies, "acme") == [("acme", 5)]

    policies.apply(*stored("acme", None))

    assert shown(policies, "acme") == []


def test_each_tenant_whose_policies_change_is_told() -> None:
    policies, told = NamespacePolicies(), list[str]()
    policies.changed = told.append
    policies.configure({("acme", "eu"): policy(max_topics=9), ("globex",): policy(max_topics=1)})
    policies.configure({("acme", "eu"): policy(max_topics=8), ("globex",): policy(max_topics=1)})
    policies.apply(*stored("globex:us", {"max_topics": 5}))

    assert told == ["acme", "globex", "acme", "globex"]


def test_a_record_that_cannot_be_understood_changes_nothing() -> None:
    policies = NamespacePolicies()
    policies.apply(*stored("acme", {"max_topics": 5}))

    with pytest.raises(ValueError, match="run the version of the gateway"):
        policies.apply(*stored("acme", {"max_topics": "many"}))

    assert shown(policies, "acme") == [("acme", 5)]


def test_it_is_known_which_tenants_have_policies_about_records() -> None:
    policies = NamespacePolicies()
    policies.configure({("acme",): policy(max_topics=9), ("globex", "eu"): policy(acks=["all"])})
    assert [policies.has_record_rules(name) for name in ("acme", "globex", "initech")] == [False, True, False]

    policies.apply(*stored("acme:eu", {"compression": ["zstd"]}))
    policies.apply(*stored("acme:eu", {"compression": ["lz4"]}))
    policies.configure({})
    assert [policies.has_record_rules(name) for name in ("acme", "globex")] == [True, False]

    policies.apply(*stored("acme:eu", {"max_topics": 5}))
    assert not policies.has_record_rules("acme")
    policies.apply(*stored("acme:eu", None))
    assert not policies.has_record_rules("acme")


def test_the_same_policies_again_are_the_same_rulings() -> None:
    policies = NamespacePolicies()
    policies.configure({("acme",): policy(max_topics=9)})
    before = policies.chain(("acme",))

    policies.configure({("acme",): policy(max_topics=9)})

    assert policies.chain(("acme",)) is before
