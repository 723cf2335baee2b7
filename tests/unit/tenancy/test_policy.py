from typing import Any

import pytest

from bifrost.config.policies.config_table import GROUP_CONFIGS, MAX_LONG, TOPIC_CONFIGS, Decision, Kind
from bifrost.config.policies.policy import Policy
from bifrost.tenancy.policy import (
    APPEND,
    DEFAULT_POLICY,
    DELETE,
    SET,
    SUBTRACT,
    Refusal,
    ResourcePolicy,
    describe,
)
from bifrost.wire.error_codes import ErrorCode

VIOLATION = ErrorCode.POLICY_VIOLATION


def with_rules(*rules: dict[str, Any], **more: Any) -> ResourcePolicy:
    return ResourcePolicy(Policy.model_validate({"topic_configs": list(rules), **more}))


def refused(
    name: str, value: str | None, policy: ResourcePolicy = DEFAULT_POLICY, operation: int = SET
) -> bool:
    return policy.refuse_topic_config(name, value, operation) is not None


@pytest.mark.parametrize("decision", TOPIC_CONFIGS.values(), ids=lambda one: one.name)
def test_kafkas_own_default_may_be_set_where_anything_may(decision: Decision) -> None:
    # Kafka before 4.0 has no bound there, and says so by its largest number.
    is_old = decision.name == "message.timestamp.difference.max.ms"

    assert refused(decision.name, decision.default) is (not decision.allowed or is_old)


@pytest.mark.parametrize("name", GROUP_CONFIGS)
def test_the_defaults_of_groups_may_be_set(name: str) -> None:
    assert DEFAULT_POLICY.refuse_group_config(name, GROUP_CONFIGS[name].default) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("internal.segment.bytes", "100"),
        ("flush.messages", "1"),
        ("flush.ms", "1000"),
        ("preallocate", "true"),
        ("preallocate", " TRUE "),
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", ""),
        ("min.insync.replicas", "5"),
        ("segment.bytes", str(16 * 1024 * 1024 - 1)),
        ("segment.ms", "14399999"),
        ("max.compaction.lag.ms", "1"),
        ("segment.index.bytes", "4"),
        ("index.interval.bytes", "2147483647"),
        ("max.message.bytes", "0"),
        ("max.message.bytes", "8388609"),
        ("compression.type", "uncompressed"),
        ("compression.zstd.level", "22"),
        ("file.delete.delay.ms", "60001"),
        ("min.cleanable.dirty.ratio", "0.01"),
        ("unclean.leader.election.enable", "true"),
        ("remote.storage.enable", "false"),
        ("message.timestamp.after.max.ms", str(MAX_LONG)),
    ],
)
def test_what_harms_the_brokers_is_refused(name: str, value: str) -> None:
    assert refused(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact,delete"),
        ("cleanup.policy", ""),
        ("retention.ms", "-1"),
        ("retention.bytes", "1073741824"),
        ("segment.bytes", "52428800"),
        ("segment.bytes", " 16777216 "),
        ("message.timestamp.type", "LogAppendTime"),
        ("min.insync.replicas", "2"),
        ("min.cleanable.dirty.ratio", "0.5"),
        ("min.cleanable.dirty.ratio", "1e-1"),
        ("compression.type", "producer"),
        ("preallocate", "False"),
        ("max.message.bytes", "8388608"),
        ("segment.ms", "14400000"),
    ],
)
def test_what_harms_no_other_tenant_is_allowed(name: str, value: str) -> None:
    assert not refused(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment.ms", "abc"),
        ("segment.ms", ""),
        ("segment.ms", "1_000"),
        ("segment.ms", "1.5"),
        ("segment.ms", None),
        ("min.cleanable.dirty.ratio", "abc"),
    ],
)
def test_what_kafka_cannot_read_is_left_to_kafka(name: str, value: str | None) -> None:
    assert not refused(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment.ms", "+1"),
        ("segment.ms", "\t1\x00"),
        ("segment.ms", "0000001"),
        ("segment.ms", "0" * 5000 + "1"),
        ("segment.ms", "\u0661"),  # a digit to Java too
        ("segment.ms", "\uff11"),
        ("min.cleanable.dirty.ratio", "0x1p-9"),
        ("min.cleanable.dirty.ratio", "0.001f"),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("min.cleanable.dirty.ratio", "-Infinity"),
    ],
)
def test_every_way_that_java_writes_a_number_is_judged(name: str, value: str) -> None:
    assert refused(name, value)


def test_a_config_that_is_in_no_table_is_one_that_kafka_does_not_have() -> None:
    text = "Unknown topic config name: no.such.config"

    assert DEFAULT_POLICY.refuse_topic_config("no.such.config", "1") == Refusal(
        ErrorCode.INVALID_CONFIG, text
    )
    assert DEFAULT_POLICY.refuse_topic_config("no.such.config", None, DELETE) is not None
    assert DEFAULT_POLICY.refuse_group_config("segment.ms", "1") == Refusal(
        ErrorCode.INVALID_CONFIG, "Unknown group config name: segment.ms"
    )


def test_the_answer_names_the_config_the_value_and_what_is_allowed() -> None:
    refusal = DEFAULT_POLICY.refuse_topic_config("segment.ms", "1")
    long = DEFAULT_POLICY.refuse_topic_config("compression.type", "x" * 100_000)

    text = "Invalid value 1 for configuration segment.ms: this cluster allows 14400000 or more"
    assert refusal == Refusal(VIOLATION, text)
    assert long is not None
    assert long.message.startswith("Invalid value xxx")
    assert len(long.message) < 200


def test_a_config_of_the_operators_cannot_be_deleted_either() -> None:
    assert refused("leader.replication.throttled.replicas", None, operation=DELETE)
    assert not refused("segment.ms", None, operation=DELETE)
    assert not refused("flush.messages", "1", operation=DELETE)


def test_what_is_put_into_a_list_or_taken_out_is_judged() -> None:
    only_delete = with_rules({"name": "cleanup.policy", "values": ["delete"]})

    assert refused("cleanup.policy", "compact", only_delete)
    assert refused("cleanup.policy", "delete,compact", only_delete)
    assert refused("cleanup.policy", "compact", only_delete, APPEND)
    assert not refused("cleanup.policy", " delete ", only_delete, APPEND)
    # It could leave the empty list: nothing is ever deleted then.
    assert refused("cleanup.policy", "delete", only_delete, SUBTRACT)
    assert refused("cleanup.policy", "", only_delete)
    assert not refused("cleanup.policy", "delete", operation=SUBTRACT)
    assert refused("follower.replication.throttled.replicas", "0:1", operation=APPEND)


def test_an_operator_changes_what_it_says_and_no_more() -> None:
    policy = with_rules(
        {"name": "max.message.bytes", "max": "16MiB"},
        {"name": "flush.messages", "allowed": True},
        {"name": "cleanup.policy", "allowed": False},
        {"name": "internal.segment.bytes", "min": 1000},
    )

    assert not refused("max.message.bytes", "16777216", policy)
    assert refused("max.message.bytes", "0", policy)
    assert not refused("flush.messages", "1", policy)
    assert refused("cleanup.policy", "delete", policy)
    assert not refused("internal.segment.bytes", "1000", policy)
    assert refused("internal.segment.bytes", "999", policy)
    assert refused("preallocate", "true", policy)


def test_no_limit_is_more_than_any_limit() -> None:
    policy = with_rules({"name": "retention.ms", "max": "168h"}, {"name": "retention.bytes", "max": "1GiB"})

    assert [refused("retention.ms", value, policy) for value in ("604800000", "604800001", "-1")] == [
        False,
        True,
        True,
    ]
    assert refused("retention.bytes", "-2", policy)
    assert describe(TOPIC_CONFIGS["retention.ms"]) == "any value of Kafka's"
    message = policy.refuse_topic_config("retention.ms", "-1")
    assert message is not None
    assert message.message.endswith("allows 604800000 or less, and not below 0 (unlimited)")


def test_a_tenants_rules_come_after_the_gateways() -> None:
    gateway = Policy.model_validate(
        {
            "topic_configs": [{"name": "segment.ms", "min": 100}, {"name": "flush.ms", "min": 5}],
            "max_replication_factor": 2,
            "allow_replica_assignments": True,
        }
    )
    tenant = Policy.model_validate(
        {"topic_configs": [{"name": "segment.ms", "min": 50}], "allow_replica_assignments": False}
    )

    both = ResourcePolicy(gateway, tenant)

    assert not refused("segment.ms", "50", both)
    assert not refused("flush.ms", "5", both)
    assert both.max_replication_factor == 2
    assert not both.allow_replica_assignments
    assert refused("segment.ms", "50", ResourcePolicy(gateway))


@pytest.mark.parametrize(("factor", "is_refused"), [(-1, False), (1, False), (3, False), (4, True)])
def test_a_request_may_ask_for_three_replicas(factor: int, is_refused: bool) -> None:
    assert (DEFAULT_POLICY.refuse_replicas(factor, []) is not None) is is_refused


def test_where_replicas_lie_is_the_brokers_to_say() -> None:
    may = with_rules(allow_replica_assignments=True)

    assert DEFAULT_POLICY.refuse_replicas(-1, [1]) == Refusal(
        VIOLATION, "Replica assignments cannot be chosen on this cluster: the brokers assign them"
    )
    assert may.refuse_replicas(-1, [1, 3]) is None
    assert may.refuse_replicas(-1, [1, 4]) == Refusal(
        VIOLATION, "Replication factor 4 is not allowed: this cluster allows at most 3"
    )


def test_every_kind_can_be_described() -> None:
    assert describe(Decision("a", Kind.TEXT, "", "", allowed=False)) == "nothing"
    assert describe(Decision("a", Kind.LIST, "", "", values=("x", ""))) == "one of x, ''"
    assert describe(Decision("a", Kind.NUMBER, "", "", low=1)) == "1 or more"
    assert describe(Decision("a", Kind.NUMBER, "", "", low=1, high=1)) == "1"
    assert describe(Decision("a", Kind.RATIO, "", "", low=0.1, high=1)) == "0.1 to 1"
