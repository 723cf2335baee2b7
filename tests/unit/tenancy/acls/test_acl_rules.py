from bifrost.config.fields.acls import AclRule
from bifrost.tenancy.acls.acl_binding import PatternType, Permission, ResourceType
from bifrost.tenancy.acls.acl_rules import binding_of
from support.stage.guards import allow


def test_a_rule_is_an_acl_with_kafkas_defaults() -> None:
    rule = {"principal": "User:alice", "operation": "READ", "resource_type": "TOPIC", "name": "orders"}

    assert binding_of(AclRule.model_validate(rule)) == allow("READ", "orders")


def test_every_field_of_a_rule_is_taken() -> None:
    rule = {
        "principal": "User:*",
        "operation": "ALTER_CONFIGS",
        "resource_type": "GROUP",
        "name": "readers-",
        "pattern_type": "PREFIXED",
        "host": "::1",
        "permission": "DENY",
    }

    assert binding_of(AclRule.model_validate(rule)) == allow(
        "ALTER_CONFIGS",
        "readers-",
        ResourceType.GROUP,
        principal="User:*",
        pattern_type=PatternType.PREFIXED,
        permission=Permission.DENY,
        host="0:0:0:0:0:0:0:1",
    )


def test_a_namespace_is_a_topic_that_no_topic_can_be_called() -> None:
    rule = {
        "principal": "User:alice",
        "operation": "READ",
        "resource_type": "NAMESPACE",
        "name": "analytics:eu",
    }

    assert binding_of(AclRule.model_validate(rule)) == allow("READ", "analytics:eu:")
    assert binding_of(AclRule.model_validate(rule)).is_of_namespace
