from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.policies.ruling import Ruling
from bifrost.tenancy.policy import DELETE, SET, Refusal
from bifrost.wire.error_codes import ErrorCode


def ruling(**policy: Any) -> Ruling:
    return Ruling(("acme", "eu"), NamespacePolicy.model_validate(policy))


def test_a_refusal_names_the_key_the_namespace_and_the_bound() -> None:
    violation = ruling(max_partitions_per_topic=6).refuse_partitions(12, is_new=True)

    assert violation is not None
    assert (violation.key, violation.namespace) == ("max_partitions_per_topic", "acme:eu")
    assert violation.refusal == Refusal(
        ErrorCode.POLICY_VIOLATION,
        "Policy max_partitions_per_topic of namespace acme:eu allows at most 6 partitions, not 12",
    )


def test_an_empty_policy_refuses_nothing() -> None:
    empty = ruling()

    assert empty.refuse_topic_name("x") is None
    assert empty.refuse_group_name("x") is None
    assert empty.refuse_partitions(10**6, is_new=True) is None
    assert empty.refuse_replicas(100) is None
    assert empty.refuse_config("retention.ms", "1", SET) is None
    assert empty.refuse_growth(10**6, 10**6, 1, 1) is None


def test_names_have_to_match_a_pattern() -> None:
    one = ruling(topic_names=["orders", "a-*"], group_names=["g-*"])

    assert one.refuse_topic_name("a-1") is None
    found = one.refuse_topic_name("g-1")
    assert found is not None
    assert found.message.endswith("allows topic names that match orders, a-*, not g-1")
    assert one.refuse_group_name("g-1") is None
    assert one.refuse_group_name("a-1") is not None


def test_a_long_name_is_quoted_in_part() -> None:
    found = ruling(topic_names=["a"]).refuse_topic_name("x" * 200)

    assert found is not None
    assert len(found.message) < 200


def test_only_a_new_topic_needs_the_fewest_partitions() -> None:
    one = ruling(min_partitions_per_topic=3)

    assert one.refuse_partitions(2, is_new=True) is not None
    assert one.refuse_partitions(2, is_new=False) is None


@pytest.mark.parametrize(("factor", "is_allowed"), [(1, False), (2, True), (3, True), (4, False)])
def test_replicas_are_bounded_on_both_sides(factor: int, is_allowed: bool) -> None:
    one = ruling(min_replication_factor=2, max_replication_factor=3)

    assert (one.refuse_replicas(factor) is None) is is_allowed


@pytest.mark.parametrize(
    ("name", "value", "is_allowed"),
    [
        ("retention.ms", "1000", True),
        ("retention.ms", "1001", False),
        ("retention.ms", "-1", False),
        ("retention.ms", None, True),
        ("segment.ms", "1", True),
        ("cleanup.policy", "compact", True),
        ("cleanup.policy", "delete", False),
        ("preallocate", "false", False),
    ],
)
def test_configs_keep_to_the_rules(name: str, value: str | None, is_allowed: bool) -> None:
    one = ruling(
        topic_configs=[
            {"name": "retention.ms", "max": 1000},
            {"name": "cleanup.policy", "values": ["compact"]},
            {"name": "preallocate", "allowed": False},
        ]
    )

    assert (one.refuse_config(name, value, SET) is None) is is_allowed


def test_a_config_may_go_back_to_its_default_unless_it_is_not_allowed_at_all() -> None:
    one = ruling(
        topic_configs=[{"name": "retention.ms", "max": 1000}, {"name": "preallocate", "allowed": False}]
    )

    assert one.refuse_config("retention.ms", None, DELETE) is None
    assert one.refuse_config("preallocate", None, DELETE) is not None


def test_growth_is_bounded_in_topics_and_partitions() -> None:
    one = ruling(max_topics=2, max_partitions=10)

    assert one.refuse_growth(1, 4, 1, 6) is None
    topics, partitions = one.refuse_growth(2, 4, 1, 1), one.refuse_growth(1, 4, 0, 7)
    assert topics is not None
    assert partitions is not None
    assert (topics.key, partitions.key) == ("max_topics", "max_partitions")
    assert partitions.message.endswith("allows at most 10 partitions over all topics, not 11")


def test_a_forced_config_is_named_with_its_value() -> None:
    one = ruling(forced_topic_configs=[{"name": "min.insync.replicas", "value": 2}])

    assert one.forced == {"min.insync.replicas": "2"}
    assert one.refuse_forced("min.insync.replicas", "1").message.endswith(
        "allows for min.insync.replicas 2, not 1"
    )
