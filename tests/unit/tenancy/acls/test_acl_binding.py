from dataclasses import replace

import pytest

from bifrost.tenancy.acls.acl_binding import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

BINDING = AclBinding(
    ResourceType.TOPIC,
    PatternType.LITERAL,
    "orders",
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)


def test_each_field_makes_another_id() -> None:
    others = [
        BINDING._replace(resource_type=ResourceType.GROUP),
        BINDING._replace(pattern_type=PatternType.PREFIXED),
        BINDING._replace(name="order"),
        BINDING._replace(principal="User:bob"),
        BINDING._replace(host="192.0.2.1"),
        BINDING._replace(operation=Operation.WRITE),
        BINDING._replace(permission=Permission.DENY),
    ]

    assert len({one.binding_id for one in (BINDING, *others)}) == 8
    assert BINDING._replace().binding_id == BINDING.binding_id


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"resource_type": ResourceType.CLUSTER}, "kafka-cluster"),
        ({"name": ""}, "empty resource name"),
        ({"resource_type": ResourceType.ANY}, "resource type: ANY"),
        ({"pattern_type": PatternType.MATCH}, "patternType MATCH"),
        ({"operation": Operation.ANY}, "operation type: ANY"),
        ({"permission": Permission.ANY}, "permission type: ANY"),
        ({"principal": "alice"}, "parse principal"),
        ({"principal": "User:"}, "parse principal"),
        ({"name": "x" * 2000}, "at most 1024 bytes"),
    ],
)
def test_what_kafka_refuses_is_a_problem(fields: dict[str, object], problem: str) -> None:
    assert BINDING.problem() is None
    assert problem in str(BINDING._replace(**fields).problem())


def test_a_filter_that_matches_finds_patterns_and_the_wildcard() -> None:
    wanted = AclBindingFilter(name="orders", pattern_type=PatternType.MATCH)
    prefixed = BINDING._replace(name="ord", pattern_type=PatternType.PREFIXED)

    assert wanted.matches(BINDING)
    assert wanted.matches(prefixed)
    assert wanted.matches(BINDING._replace(name="*"))
    assert not wanted.matches(BINDING._replace(name="ord"))
    assert not replace(wanted, pattern_type=PatternType.ANY).matches(prefixed)
