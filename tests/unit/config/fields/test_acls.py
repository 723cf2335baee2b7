import pytest
from pydantic import ValidationError

from bifrost.config.fields.acls import AclRule, Acls, java_address

RULE = {"principal": "User:alice", "operation": "READ", "resource_type": "TOPIC", "name": "orders"}


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a:0:1", "2001:db8:0:0:0:a:0:1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1"),
        ("localhost", None),
        ("", None),
    ],
)
def test_an_address_is_written_as_java_writes_it(address: str, written: str | None) -> None:
    assert java_address(address) == written


@pytest.mark.parametrize(
    "wrong",
    [
        {"principal": "alice"},
        {"principal": "Group:alice"},
        {"operation": "read"},
        {"operation": "ANY"},
        {"resource_type": "CLUSTER"},
        {"pattern_type": "MATCH"},
        {"host": "example.com"},
        {"name": ""},
        {"resource_type": "NAMESPACE", "name": "eu:"},
        {"resource_type": "NAMESPACE", "name": "*"},
        {"resource_type": "NAMESPACE", "pattern_type": "PREFIXED"},
    ],
)
def test_a_rule_that_kafka_would_not_take_is_refused(wrong: dict[str, str]) -> None:
    AclRule.model_validate(RULE)
    with pytest.raises(ValidationError):
        AclRule.model_validate(RULE | wrong)


def test_an_empty_section_allows_nothing() -> None:
    acls = Acls()

    assert (acls.super_users, acls.rules, acls.allow_everyone_if_no_acl_found) == ((), (), False)


def test_acls_that_brokers_keep_are_not_in_the_configuration() -> None:
    assert Acls.model_validate({"mode": "gateway"}).mode == "gateway"
    assert Acls.model_validate({"mode": "broker"}).mode == "broker"
    assert Acls.model_validate({"mode": "broker", "max_stored": 5}).max_stored == 5
    with pytest.raises(ValidationError, match="remove rules, super_users"):
        Acls.model_validate({"mode": "broker", "rules": [], "super_users": ["User:a"]})
    with pytest.raises(ValidationError, match="Input should be 'gateway' or 'broker'"):
        Acls.model_validate({"mode": "kafka"})
