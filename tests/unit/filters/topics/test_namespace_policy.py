"""Policies of namespaces in requests that create topics, give them partitions, or set their configs."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    counted,
    counts,
    to_broker,
    to_client,
)
from support.stage.stage import TENANTS, Stage

VIOLATION = ErrorCode.POLICY_VIOLATION
SETTING, DELETING = 0, 1


@pytest.fixture
def stage() -> Stage:
    return Stage({**TENANTS, "initech": replace(TENANTS["initech"], max_topics=10)})


def under(stage: Stage, **policy: Any) -> Playbook:
    """Let initech have a policy, and open a connection of it."""
    namespace, policies = stage.namespaces["initech"], NamespacePolicies()
    policies.configure({("initech",): NamespacePolicy.model_validate(policy)})
    namespace.rules = NamespaceRules(namespace.names, policies, Counter())
    assert namespace.bounds is not None
    namespace.bounds.count({}, 4, 2)
    return stage.play("initech")


def create(name: str, partitions: int = 1, factor: int = 1, **configs: str | None) -> Any:
    topic = {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }
    return messages.build("CreateTopicsRequest", {"topics": [topic], "timeout_ms": 1})


def refused(name: str, allows: str) -> Any:
    key, _, rest = allows.partition(" ")
    text = f"Policy {key} of namespace initech allows {rest}"
    topic = {"name": name, "error_code": VIOLATION, "error_message": text, "configs": []}
    return to_client(messages.build("CreateTopicsResponse", {"topics": [topic]}))


def physical(name: str) -> str:
    return physical_name("initech", name)


@pytest.mark.parametrize(
    ("policy", "request_", "allows"),
    [
        ({"topic_names": ["a-*"]}, create("b"), "topic_names topic names that match a-*, not b"),
        (
            {"max_partitions_per_topic": 3},
            create("b", 5),
            "max_partitions_per_topic at most 3 partitions, not 5",
        ),
        (
            {"max_partitions_per_topic": 3},
            create("b", -1),
            "max_partitions_per_topic at most 3 partitions, not 4",
        ),
        (
            {"min_partitions_per_topic": 3},
            create("b", 1),
            "min_partitions_per_topic at least 3 partitions, not 1",
        ),
        (
            {"max_replication_factor": 1},
            create("b", 1, 2),
            "max_replication_factor at most 1 replicas, not 2",
        ),
        (
            {"min_replication_factor": 3},
            create("b", 1, -1),
            "min_replication_factor at least 3 replicas, not 2",
        ),
        (
            {"topic_configs": [{"name": "cleanup.policy", "values": ["compact"]}]},
            create("b", cleanup_policy="delete"),
            "topic_configs for cleanup.policy compact, not delete",
        ),
        (
            {"forced_topic_configs": [{"name": "retention.ms", "value": 5}]},
            create("b", retention_ms="6"),
            "forced_topic_configs for retention.ms 5, not 6",
        ),
        ({"max_topics": 0}, create("b"), "max_topics at most 0 topics, not 1"),
        (
            {"max_partitions": 3},
            create("b", 4),
            "max_partitions at most 3 partitions over all topics, not 4",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_topic_that_a_policy_does_not_allow_is_not_created(
    stage: Stage, policy: dict[str, Any], request_: Any, allows: str
) -> None:
    assert under(stage, **policy) >> client_sends(request_, 5) << refused("b", allows)


def test_a_new_topic_gets_the_configs_that_are_forced(stage: Stage) -> None:
    book = under(stage, forced_topic_configs=[{"name": "retention.ms", "value": 5}])

    assert (
        book
        >> client_sends(create("a", cleanup_policy="compact", retention_ms=None), 5)
        << to_broker(create(physical("a"), cleanup_policy="compact", retention_ms="5"))
    )


def test_a_topic_does_not_grow_beyond_the_bound(stage: Stage) -> None:
    book = under(stage, max_partitions_per_topic=6, min_partitions_per_topic=5)

    def grow(name: str, count: int) -> Any:
        topic = {"name": name, "count": count, "assignments": None}
        return messages.build("CreatePartitionsRequest", {"topics": [topic], "timeout_ms": 1})

    text = "Policy max_partitions_per_topic of namespace initech allows at most 6 partitions, not 7"
    result = {"name": "a", "error_code": VIOLATION, "error_message": text}
    book >> client_sends(grow("a", 7), 2)
    book << to_client(messages.build("CreatePartitionsResponse", {"results": [result]}))
    assert book >> client_sends(grow("a", 4), 2) << to_broker(grow(physical("a"), 4))


def resource(topic: str, *configs: dict[str, Any]) -> dict[str, Any]:
    return {"resource_type": 2, "resource_name": topic, "configs": list(configs)}


def incremental(topic: str, name: str, value: str | None, operation: int = SETTING) -> Any:
    config = {"name": name, "config_operation": operation, "value": value}
    return messages.build("IncrementalAlterConfigsRequest", {"resources": [resource(topic, config)]})


def test_a_change_of_a_forced_config_is_refused(stage: Stage) -> None:
    book = under(stage, forced_topic_configs=[{"name": "retention.ms", "value": 5}])
    for value, operation, wanted in (("6", SETTING, "6"), (None, DELETING, "no value of its own")):
        text = f"Policy forced_topic_configs of namespace initech allows for retention.ms 5, not {wanted}"
        result = {"error_code": VIOLATION, "error_message": text, "resource_type": 2, "resource_name": "a"}
        answer = messages.build("IncrementalAlterConfigsResponse", {"responses": [result]})
        book >> client_sends(incremental("a", "retention.ms", value, operation), 1) << to_client(answer)

    assert (
        book
        >> client_sends(incremental("a", "retention.ms", "5"), 1)
        << to_broker(incremental(physical("a"), "retention.ms", "5"))
    )


def test_configs_that_are_not_named_keep_what_is_forced(stage: Stage) -> None:
    book = under(stage, forced_topic_configs=[{"name": "retention.ms", "value": 5}])
    compact = {"name": "cleanup.policy", "value": "compact"}
    alter = messages.build("AlterConfigsRequest", {"resources": [resource("a", compact)]})
    forced = {"name": "retention.ms", "value": "5"}

    assert (
        book
        >> client_sends(alter, 1)
        << to_broker(
            messages.build("AlterConfigsRequest", {"resources": [resource(physical("a"), compact, forced)]})
        )
    )


def test_what_a_client_only_names_is_not_created_either(stage: Stage) -> None:
    book = under(stage, topic_names=["a-*"])
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    absent = [{"name": physical(name), "error_code": unknown} for name in ("a-1", "b")]
    book >> client_sends(messages.metadata("a-1", "b"), 12)
    book << to_broker(messages.metadata(physical("a-1"), physical("b"), allow_auto_topic_creation=False))
    answer = messages.metadata_of()
    answer.topics = messages.MetadataResponse(topics=absent).topics
    book >> broker_answers(answer) << to_broker(messages.metadata(physical("a-1")))

    told = messages.metadata_of("a-1", tenant="initech")
    told.topics += messages.MetadataResponse(topics=[{"name": "b", "error_code": VIOLATION}]).topics
    assert book >> broker_answers(messages.metadata_of(physical("a-1"))) << to_client(told)


def test_the_topics_are_counted_before_a_namespaces_budget_is_judged(stage: Stage) -> None:
    book = under(stage, max_topics=1)
    stage.now_ms += 60_000
    book >> client_sends(create("b"), 5) << counts()
    book >> counted(stage.namespaces["initech"].bounds, {prefix_of("initech") + "a": 1})

    assert book << refused("b", "max_topics at most 1 topics, not 2")
