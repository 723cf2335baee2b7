import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import user_body, user_key
from bifrost.tenancy.users.stored_users import Allowance, StoredUsers

SHA_512 = Mechanism.SCRAM_SHA_512
VERIFIERS = {SHA_512: ScramVerifier.derive(SHA_512, b"password", b"a salt of 16 byt", 4096)}


def put(users: StoredUsers, tenant: str, name: str, *tiers: str) -> bool:
    key = user_key(tenant, name)
    return users.apply(key, StateRecord(key, 1, 0, "c", "w", None, user_body(tiers, VERIFIERS)))


@pytest.fixture
def users() -> StoredUsers:
    made = StoredUsers()
    made.allow({"acme": Allowance("acme-", 10, frozenset({"acme-fixed"})), "globex": Allowance("g.", 10)})
    for tenant, name in (("acme", "acme-a"), ("acme", "acme-fixed"), ("acme", "g.x"), ("globex", "g.a")):
        put(made, tenant, name)
    return made


def test_a_name_is_found_with_the_tenant_that_its_prefix_is_for(users: StoredUsers) -> None:
    found = [users.find(name) for name in ("acme-a", "g.a")]

    assert [(one and one.tenant) for one in found] == ["acme", "globex"]


@pytest.mark.parametrize("name", ["", "acme-", "acme-b", "acme-fixed", "g.x", "other", "acme-a2"])
def test_another_name_finds_no_user(users: StoredUsers, name: str) -> None:
    assert users.find(name) is None


def test_a_prefix_that_changes_hands_takes_no_users_with_it(users: StoredUsers) -> None:
    users.allow({"globex": Allowance("acme-", 10)})

    assert users.find("acme-a") is None
    assert users.allowance("acme") is None
    assert set(users.of("acme")) == {"acme-a", "acme-fixed", "g.x"}


def test_clients_may_have_to_leave_when_a_user_is_gone_or_bound_elsewhere(users: StoredUsers) -> None:
    assert not put(users, "acme", "acme-b", "eu")
    assert not put(users, "acme", "acme-b", "eu")
    assert put(users, "acme", "acme-b", "us")
    assert users.apply(user_key("acme", "acme-b"), None)
    assert not users.apply(user_key("acme", "acme-b"), None)
    assert users.apply(user_key("globex", "g.a"), None)
    assert users.of("globex") == {}


def test_a_record_that_is_no_users_is_refused(users: StoredUsers) -> None:
    key = user_key("acme", "acme-a")
    with pytest.raises(ValueError, match="the body of a user"):
        users.apply(key, StateRecord(key, 1, 0, "c", "w", None, {}))
