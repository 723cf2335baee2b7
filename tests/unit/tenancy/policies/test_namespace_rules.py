from collections import Counter
from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.topic_aliases import TenantPlace, TopicAliases
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from bifrost.tenancy.policy import APPEND, DELETE, SET, Refusal
from support.physical_names import prefix_of

EXISTING = {("eu",), ("eu", "de")}


class Scene:
    """The rules that clients of acme, or of a namespace below it, are under."""

    def __init__(self, *tiers: str, **policies: dict[str, Any]) -> None:
        self.hits: Counter[tuple[str, str]] = Counter()
        self.policies = NamespacePolicies()
        self.policies.configure(
            {
                tuple(path.split("_")): NamespacePolicy.model_validate(policy)
                for path, policy in policies.items()
            }
        )
        self.rules = NamespaceRules(
            TenantNames("acme", tiers=tiers, namespaces=EXISTING), self.policies, self.hits
        )


def text(refusal: Refusal | None) -> str:
    return "" if refusal is None else refusal.message


def test_a_topic_is_under_the_policies_of_its_own_namespace_and_of_those_above() -> None:
    scene = Scene(acme={"topic_names": ["*s"]}, acme_eu={"topic_names": ["orders*"]})

    assert scene.rules.refuse_topic_name("clicks") is None
    assert scene.rules.refuse_topic_name("eu:orders") is None
    assert "namespace acme:eu allows" in text(scene.rules.refuse_topic_name("eu:clicks"))
    assert "namespace acme allows" in text(scene.rules.refuse_topic_name("eu:orders-1"))
    assert scene.hits == {("topic_names", "acme"): 2}


def test_a_client_of_a_namespace_is_under_the_same_policies_with_its_own_names() -> None:
    scene = Scene("eu", acme={"topic_names": ["*s"]}, acme_eu={"topic_names": ["orders*"]})

    assert scene.rules.refuse_topic_name("orders") is None
    assert "namespace acme:eu allows" in text(scene.rules.refuse_topic_name("clicks"))


def test_what_is_called_like_a_namespace_that_does_not_exist_is_the_tenants_own() -> None:
    scene = Scene(acme_us={"group_names": ["x"]})

    assert scene.rules.refuse_group("us:readers") is None


def test_groups_are_refused_by_their_names() -> None:
    scene = Scene(acme_eu={"group_names": ["team-*"]})

    assert scene.rules.refuses_group(b"eu:readers")
    assert not scene.hits, "the engine only asks"
    assert "allows group names that match team-*, not readers" in text(scene.rules.refuse_group("eu:readers"))
    assert scene.rules.refuse_group("eu:team-a") is None
    assert not scene.rules.refuses_group(b"\xff\xfe")
    assert scene.hits == {("group_names", "acme"): 1}


def test_partitions_replicas_and_configs_are_refused() -> None:
    scene = Scene(
        acme={"max_partitions_per_topic": 3, "max_replication_factor": 1},
        acme_eu={"topic_configs": [{"name": "retention.ms", "max": 10}]},
    )

    assert "at most 3" in text(scene.rules.refuse_partitions("eu:a", 4, is_new=True))
    assert "at most 1" in text(scene.rules.refuse_replicas("a", 2))
    assert "allows for retention.ms 10 or less" in text(
        scene.rules.refuse_config("eu:a", "retention.ms", "11")
    )
    assert scene.rules.refuse_config("a", "retention.ms", "11") is None


def test_of_forced_configs_the_one_furthest_above_counts() -> None:
    scene = Scene(
        acme={"forced_topic_configs": [{"name": "min.insync.replicas", "value": 2}]},
        acme_eu={
            "forced_topic_configs": [
                {"name": "min.insync.replicas", "value": 1},
                {"name": "retention.ms", "value": 5},
            ]
        },
    )

    assert scene.rules.forced("eu:a") == {"min.insync.replicas": "2", "retention.ms": "5"}
    assert scene.rules.forced("a") == {"min.insync.replicas": "2"}


@pytest.mark.parametrize(
    ("value", "operation", "wanted"),
    [
        ("2", SET, ""),
        (" +2", SET, ""),
        (None, SET, ""),
        ("1", SET, "not 1"),
        ("x", SET, "not x"),
        (None, DELETE, "not no value of its own"),
        ("2", APPEND, "not a change of the list"),
    ],
)
def test_a_forced_config_stays_as_it_is(value: str | None, operation: int, wanted: str) -> None:
    scene = Scene(
        acme={"forced_topic_configs": [{"name": "min.insync.replicas", "value": 2}]},
        acme_eu={"topic_configs": [{"name": "min.insync.replicas", "max": 1}]},
    )

    found = text(scene.rules.refuse_config("eu:a", "min.insync.replicas", value, operation))

    assert (wanted in found) if wanted else found == ""


def test_the_policies_about_records_hold_for_names_from_above_and_below() -> None:
    policies: dict[str, Any] = {"acme": {"max_topics": 3}, "acme_eu": {"acks": ["all"]}}
    above, inside = Scene(**policies), Scene("eu", **policies)

    assert above.rules.on_records("orders") is None
    for rules, name in ((above.rules, "eu:orders"), (above.rules, "eu:de:orders"), (inside.rules, "orders")):
        found = rules.on_records(name)
        assert found is not None
        assert "namespace acme:eu allows all, not 1" in text(found.refuse_acks(1))


def test_a_shared_topic_is_under_the_policies_of_its_owner_as_well() -> None:
    policies: dict[str, Any] = {"acme_eu": {"acks": ["all"]}, "acme_us": {"compression": ["zstd"]}}
    scene, aliases = Scene(**policies), TopicAliases()
    aliases.configure({name: TenantPlace("main", prefix_of(name)) for name in ("acme", "globex")})
    body = {"owner": "acme:eu/orders", "shares": {"acme:us/o": "read-write", "globex/o": "read-write"}}
    key = StateKey(KIND, "acme:us/home")
    aliases.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
    names = TenantNames("acme", tiers=("us",), namespaces=EXISTING, aliases=aliases.parts, sees_shared=True)

    found = NamespaceRules(names, scene.policies, scene.hits).on_records("o")

    assert found is not None
    assert "namespace acme:eu allows" in text(found.refuse_acks(1))
    assert "namespace acme:us allows" in text(found.refuse_compression("gzip"))
    partner = NamespaceRules(
        TenantNames("globex", namespaces=set(), aliases=aliases.parts, sees_shared=True),
        scene.policies,
        scene.hits,
    )
    assert partner.on_records("o") is None
