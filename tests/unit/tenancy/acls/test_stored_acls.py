import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.stored_acls import StoredAcls, body_of, creation_of, key_of, read_body
from support.stage.guards import allow

ORDERS = allow("READ", "orders")


def record(key: StateKey, body: dict[str, object] | None) -> StateRecord:
    return StateRecord(key, 1, 0, "1", "test", None, body)


def test_a_body_is_read_as_it_was_written() -> None:
    assert read_body(body_of(ORDERS)) == ORDERS
    change = creation_of("acme", ORDERS)
    assert (change.key, change.expected, change.body) == (key_of("acme", ORDERS), 0, body_of(ORDERS))
    assert key_of("acme", ORDERS).name == f"acme:{ORDERS.binding_id}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "FLY"},
        {"operation": 3},
        {"resource_type": "CLUSTER"},
        {"principal": "alice"},
        {"more": "x"},
    ],
)
def test_a_body_that_is_no_acl_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text
        read_body(body_of(ORDERS) | wrong)


def test_a_record_under_another_id_is_refused() -> None:
    key = StateKey("acl", "acme:0123")

    with pytest.raises(ValueError, match="ID"):
        StoredAcls().apply(key, record(key, body_of(ORDERS)))
    with pytest.raises(ValueError, match="tenant and an ID"):
        StoredAcls().apply(StateKey("acl", "acme"), None)


def test_a_deleted_acl_is_forgotten() -> None:
    acls, key = StoredAcls(), key_of("acme", ORDERS)
    acls.apply(key, record(key, body_of(ORDERS)))
    had = {tenant: dict(stored) for tenant, stored in acls._of_tenant.items()}

    acls.apply(key, record(key, None))

    assert had == {"acme": {ORDERS.binding_id: ORDERS}}
    assert dict(acls._of_tenant) == {}
