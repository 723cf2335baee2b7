"""The events of changes; tests/kafka/control/test_journal_of_changes.py has the process that writes them."""

from bifrost.cli.admin.control_journal import event_of
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord
from bifrost.tenancy.acls.stored_acls import body_of, creation_of
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_record import quota_key
from support.stage.guards import allow


def stored(key: StateKey, body: Body) -> StateRecord:
    return StateRecord(key, 1, 5000, "c", "w", None, body)


def test_a_quota_is_told_by_its_entity_with_what_was_before() -> None:
    key = quota_key("acme:eu", QuotaEntity("bob", DEFAULT))
    change = Change(key, 1, {"values": {"producer_byte_rate": 2048.0}})

    assert event_of(change, stored(key, {"values": {"producer_byte_rate": 1024.0}})) == {
        "namespace": "acme:eu",
        "resource_type": "quota",
        "resource_name": "user=bob,client-id=<default>",
        "before": {"producer_byte_rate": "1024"},
        "before_ms": 5000,
        "after": {"producer_byte_rate": "2048"},
    }
    assert event_of(Change(quota_key("acme", NAMESPACE), 0, None), None)["resource_name"] == "namespace"
    assert event_of(Change(StateKey("quota", "acme/x"), 0, None), None)["resource_name"] == "x"


def test_an_acl_is_told_by_its_resource() -> None:
    creation = creation_of("acme", allow("READ", "eu:orders"))
    deletion = Change(creation.key, 1, None)

    created = event_of(creation, None)
    deleted = event_of(deletion, stored(creation.key, creation.body or {}))

    assert (created["namespace"], created["resource_name"]) == ("acme", "eu:orders")
    assert created["after"] == deleted["before"]
    assert created["after"] == {
        key: value for key, value in body_of(allow("READ", "eu:orders")).items() if key != "name"
    }
    assert (deleted["resource_name"], deleted["after"]) == ("eu:orders", {})


def test_a_namespace_is_told_by_its_path() -> None:
    event = event_of(Change(StateKey("namespace", "acme:eu"), 0, {}), None)

    assert (event["namespace"], event["resource_type"], event["resource_name"]) == (
        "acme:eu",
        "namespace",
        "acme:eu",
    )
    assert (event["before"], event["before_ms"], event["after"]) == ({}, None, {})
