from bifrost.state.state_change import Change
from bifrost.tenancy.acls.acl_change import MAX_CHANGED, TOO_MANY, deletion_of, refuse_creation
from bifrost.tenancy.acls.stored_acls import creation_of, key_of
from support import state_log
from support.stage.guards import allow, authority_of

ORDERS = allow("READ", "orders")


def test_a_tenant_creates_as_many_as_it_may_have() -> None:
    authority = authority_of(max_stored=3)

    assert refuse_creation(authority, 2) is None
    assert refuse_creation(authority, 3) == "A tenant may have at most 3 ACLs."


def test_a_request_creates_as_many_as_one_transaction_takes() -> None:
    authority = authority_of(max_stored=10 * MAX_CHANGED)

    assert refuse_creation(authority, MAX_CHANGED - 1) is None
    assert refuse_creation(authority, MAX_CHANGED) == TOO_MANY


def test_what_is_stored_is_deleted_by_its_version() -> None:
    table = state_log.table()
    assert deletion_of(table, "acme", ORDERS) is None
    state_log.change(table, creation_of("acme", ORDERS))

    assert deletion_of(table, "acme", ORDERS) == Change(key_of("acme", ORDERS), 1, None)
    assert deletion_of(table, "globex", ORDERS) is None
