import pytest

from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.acl_binding import AclBinding, AclBindingFilter, Operation, ResourceType
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.acls.stored_acls import StoredAcls, body_of, key_of
from support.stage.guards import HOST, allow, authority_of
from support.stage.stage import Stage

READ, TOPIC = Operation.READ, ResourceType.TOPIC
ORDERS = allow("READ", "orders")


def may_read(authority: Authority, name: str = "orders", principal: str = "User:alice") -> bool:
    return authority.permits(READ, TOPIC, name, principal, HOST)


def stored(binding: AclBinding, *, is_deleted: bool = False) -> StateRecord:
    body = None if is_deleted else body_of(binding)
    return StateRecord(key_of("initech", binding), 1, 0, "1", "test", None, body)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_super_user_may_do_everything_and_nobody_else_what_no_acl_allows() -> None:
    authority = authority_of(super_users=("User:root",))

    assert may_read(authority, principal="User:root")
    assert authority.permits_all(Operation.ALTER, TOPIC, "User:root", HOST)
    assert not may_read(authority)


def test_what_no_acl_is_about_may_be_open_to_all() -> None:
    authority = Authority("initech", StoredAcls())
    authority.change([ORDERS], (), allow_everyone_if_no_acl_found=True)

    assert may_read(authority, "anything", "User:bob")
    assert not may_read(authority, "orders", "User:bob")


def test_acls_of_the_state_come_and_go_and_those_of_the_configuration_stay() -> None:
    acls = StoredAcls()
    acls.apply(key_of("initech", ORDERS), stored(ORDERS))
    authority = Authority("initech", acls)
    at_start = may_read(authority)

    authority.change([ORDERS], (), allow_everyone_if_no_acl_found=False)
    acls.apply(key_of("initech", ORDERS), stored(ORDERS, is_deleted=True))
    in_configuration = may_read(authority)
    authority.change([], (), allow_everyone_if_no_acl_found=False)

    assert (at_start, in_configuration, may_read(authority)) == (True, True, False)


def test_an_acl_that_is_in_both_stays_when_the_configuration_loses_it() -> None:
    acls = StoredAcls()
    authority = Authority("initech", acls)
    authority.change([ORDERS], (), allow_everyone_if_no_acl_found=False)
    acls.apply(key_of("initech", ORDERS), stored(ORDERS))
    authority.change([], (), allow_everyone_if_no_acl_found=False)

    assert may_read(authority)
    assert (authority.stored, authority.is_configured(ORDERS), authority.has(ORDERS)) == (1, False, True)
    assert list(authority.find(AclBindingFilter())) == [ORDERS]


def test_another_tenants_acls_are_not_this_ones() -> None:
    acls = StoredAcls()
    authority = Authority("initech", acls)
    record = StateRecord(key_of("acme", ORDERS), 1, 0, "1", "test", None, body_of(ORDERS))

    acls.apply(key_of("acme", ORDERS), record)

    assert not may_read(authority)


def test_guards_forget_what_they_knew_when_acls_change(stage: Stage) -> None:
    authority = authority_of(ORDERS)
    guard = authority.guard(stage.namespaces["initech"], "alice", HOST)
    before = guard.may(READ, TOPIC, "orders")

    authority.change([], (), allow_everyone_if_no_acl_found=False)

    assert before
    assert not guard.may(READ, TOPIC, "orders")


def test_clients_that_are_the_same_share_a_guard(stage: Stage) -> None:
    authority, namespace = authority_of(), stage.namespaces["initech"]
    guard = authority.guard(namespace, "alice", HOST)

    assert authority.guard(namespace, "alice", HOST) is guard
    assert authority.guard(namespace, "bob", HOST) is not guard
    assert authority.guard(namespace, "alice", "192.0.2.2") is not guard


def test_denials_are_counted_by_operation() -> None:
    acls = StoredAcls()
    authority = Authority("initech", acls)

    authority.deny(READ, 2)
    authority.deny(READ, 0)

    assert acls.denials == {("initech", "READ"): 2}
