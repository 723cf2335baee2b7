from bifrost.config.fields.verifiers import SCRAM_HASHES
from bifrost.filters.filter import Scope
from bifrost.filters.users.user_mechanisms import TYPES, is_visible
from bifrost.tenancy.users.stored_user import StoredUser
from support.stage.stage import PORTS, Stage


def test_every_mechanism_has_a_number() -> None:
    assert list(TYPES.values()) == list(SCRAM_HASHES)


def test_the_whole_tenant_sees_every_user() -> None:
    scope = Scope(Stage().namespaces["initech"], PORTS)

    assert is_visible(scope, StoredUser("initech", "a", (), {}))
    assert is_visible(scope, StoredUser("initech", "a", ("eu",), {}))
