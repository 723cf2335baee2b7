from typing import Any

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.filters.filter import Exchange, Scope
from bifrost.filters.steps import Answer
from bifrost.filters.users.user_description import UserDescriptionFilter
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import user_body, user_key
from bifrost.tenancy.users.stored_users import Allowance, StoredUsers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import PORTS, Stage

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
BOTH = {one: ScramVerifier.derive(one, b"password", b"a salt of 16 byt", 4096) for one in (SHA_256, SHA_512)}


def described(*names: str, tiers: tuple[str, ...] = ()) -> dict[str, Any]:
    stage, users = Stage(), StoredUsers()
    users.allow({"initech": Allowance("i-", 10)})
    stored = [("initech", "i-a", (), BOTH), ("initech", "i-eu", ("eu",), {SHA_512: BOTH[SHA_512]})]
    for tenant, name, bound, verifiers in (*stored, ("acme", "i-other", (), BOTH)):
        key = user_key(tenant, name)
        users.apply(key, StateRecord(key, 1, 0, "c", "w", None, user_body(bound, verifiers)))
    namespace = stage.namespaces["initech"]
    if tiers:
        namespace = stage._new("initech", tiers, None).namespace
    exchange = Exchange(
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, Scope(namespace, PORTS, "alice", users=users)
    )
    request = messages.DescribeUserScramCredentialsRequest(users=[{"name": one} for one in names] or None)
    answer = UserDescriptionFilter().on_request(exchange, request)
    assert isinstance(answer, Answer)
    return {one.user: one for one in answer.response.results}


def test_all_users_of_the_tenant_are_listed_with_iterations_and_nothing_else() -> None:
    found = described()

    assert set(found) == {"i-a", "i-eu"}
    infos = [(one.mechanism, one.iterations) for one in found["i-a"].credential_infos]
    assert infos == [(1, 4096), (2, 4096)]
    assert [one.mechanism for one in found["i-eu"].credential_infos] == [2]


def test_a_client_of_a_namespace_sees_its_users() -> None:
    assert set(described(tiers=("eu",))) == {"i-eu"}
    assert described("i-a", tiers=("eu",))["i-a"].error_code == ErrorCode.RESOURCE_NOT_FOUND


def test_a_named_user_is_described_or_has_an_error() -> None:
    found = described("i-a", "i-eu", "i-eu", "i-other")

    codes = {name: one.error_code for name, one in found.items()}
    assert codes == {
        "i-a": ErrorCode.NONE,
        "i-eu": ErrorCode.DUPLICATE_RESOURCE,
        "i-other": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert "i-other" in found["i-other"].error_message
