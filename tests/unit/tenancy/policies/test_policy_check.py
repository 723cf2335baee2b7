from typing import Any

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.policies.policy_check import FoundTopic, violations
from bifrost.tenancy.policies.ruling import Ruling


def found(policy: dict[str, Any], *topics: FoundTopic) -> list[tuple[str, str]]:
    ruling = Ruling(("acme", "eu"), NamespacePolicy.model_validate(policy))
    return [(topic, one.key) for topic, one in violations(ruling, topics)]


def topic(name: str, partitions: int = 1, factor: int = 1, **configs: str) -> FoundTopic:
    own = {key.replace("_", "."): value for key, value in configs.items()}
    return FoundTopic(f"acme:eu/{name}", partitions, factor, own)


def test_each_topic_is_held_against_each_key() -> None:
    policy = {
        "topic_names": ["orders*"],
        "max_partitions_per_topic": 2,
        "min_replication_factor": 2,
        "topic_configs": [{"name": "retention.ms", "max": 10}],
    }

    assert found(policy, topic("orders", 2, 2, retention_ms="10")) == []
    assert found(policy, topic("clicks", 3, 1, retention_ms="11")) == [
        ("acme:eu/clicks", "topic_names"),
        ("acme:eu/clicks", "max_partitions_per_topic"),
        ("acme:eu/clicks", "min_replication_factor"),
        ("acme:eu/clicks", "topic_configs"),
    ]


def test_a_forced_config_has_to_be_there_with_its_value() -> None:
    policy = {
        "forced_topic_configs": [{"name": "retention.ms", "value": 5}],
        "topic_configs": [{"name": "retention.ms", "max": 1}],
    }

    assert found(policy, topic("a", retention_ms="5")) == []
    assert found(policy, topic("a", retention_ms="6"), topic("b")) == [
        ("acme:eu/a", "forced_topic_configs"),
        ("acme:eu/b", "forced_topic_configs"),
    ]


def test_the_sums_are_those_of_the_namespace() -> None:
    assert found({"max_topics": 2}, topic("a"), topic("b")) == []
    assert found({"max_topics": 1}, topic("a"), topic("b")) == [("acme:eu", "max_topics")]
    assert found({"max_partitions": 3}, topic("a", 2), topic("b", 2)) == [("acme:eu", "max_partitions")]
    assert found({"max_topics": 0}) == []
