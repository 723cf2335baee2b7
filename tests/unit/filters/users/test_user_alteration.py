import hashlib
from dataclasses import replace
from typing import Any

import pytest

from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.filters.filter import Exchange, Scope
from bifrost.filters.steps import Answer, StateChange
from bifrost.filters.users.user_alteration import MAX_CHANGED, UserAlterationFilter
from bifrost.state.state_change import Change
from bifrost.state.state_outcome import OFF, OutcomeKind, StateOutcome
from bifrost.tenancy.namespaces.namespace_tree import KIND as NAMESPACE
from bifrost.tenancy.users.stored_user import KIND, read_user, user_body, user_key
from bifrost.tenancy.users.stored_users import Allowance, StoredUsers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support import state_log
from support.stage import messages
from support.stage.stage import PORTS, Stage
from support.stage.state_on_stage import StateOnStage

SHA_256, SHA_512 = Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512
SALT = b"a salt of 16 byt"
VERIFIERS = {one: ScramVerifier.derive(one, b"password", SALT, 4096) for one in (SHA_256, SHA_512)}


class World:
    """A tenant that may make users, and the state."""

    def __init__(self, *, max_users: int = 10) -> None:
        self.stage, self.users = Stage(), StoredUsers()
        self.users.allow({"initech": Allowance("i-", max_users, frozenset({"i-fixed"}))})
        self.state = StateOnStage(self.stage, **{KIND: self.users})
        self.scope = Scope(
            self.stage.namespaces["initech"], PORTS, "alice", self.state.table, users=self.users
        )

    def ask(self, request: Any, *, writes: bool = True, scope: Scope | None = None) -> dict[str, int]:
        exchange = Exchange(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, scope or self.scope)
        step = UserAlterationFilter().on_request(exchange, request)
        if isinstance(step, StateChange) and writes:
            exchange.met = {StateChange: self.state.meet(step)}
            step = UserAlterationFilter().on_request(exchange, request)
        assert isinstance(step, Answer)
        return {one.user: one.error_code for one in step.response.results}


def upsertion(name: str, mechanism: int = 2, iterations: int = 4096, **fields: object) -> dict[str, object]:
    salted = hashlib.pbkdf2_hmac("sha512" if mechanism == 2 else "sha256", b"password", SALT, iterations)
    return {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": SALT,
        "salted_password": salted,
        **fields,
    }


def alteration(*upsertions: dict[str, object], deletions: tuple[tuple[str, int], ...] = ()):
    named = [{"name": name, "mechanism": mechanism} for name, mechanism in deletions]
    return messages.AlterUserScramCredentialsRequest(deletions=named, upsertions=list(upsertions))


def test_a_user_is_stored_by_its_verifier_alone() -> None:
    world = World()

    assert world.ask(alteration(upsertion("i-bob"))) == {"i-bob": ErrorCode.NONE}

    record = world.state.table.get(user_key("initech", "i-bob"))
    assert record is not None
    assert record.body == user_body((), {SHA_512: VERIFIERS[SHA_512]})
    assert record.on_behalf_of == "User:alice"


def test_a_second_mechanism_is_added_and_each_is_deleted_for_itself() -> None:
    world = World()
    world.ask(alteration(upsertion("i-bob")))

    world.ask(alteration(upsertion("i-bob", 1)))
    both = world.users.of("initech")["i-bob"].verifiers
    world.ask(alteration(deletions=(("i-bob", 2),)))
    one = world.users.of("initech")["i-bob"].verifiers
    again = world.ask(alteration(deletions=(("i-bob", 2),)))
    world.ask(alteration(deletions=(("i-bob", 1),)))

    assert both == VERIFIERS
    assert one == {SHA_256: VERIFIERS[SHA_256]}
    assert again == {"i-bob": ErrorCode.RESOURCE_NOT_FOUND}
    assert world.users.of("initech") == {}


@pytest.mark.parametrize(
    "wrong",
    [
        upsertion(""),
        upsertion("bob"),
        upsertion("i-fixed"),
        upsertion("i-jörg"),
        upsertion("i-bob", 2, 4095),
        upsertion("i-bob", 2, 16_385),
        upsertion("i-bob", salt=b"short"),
        upsertion("i-bob", salted_password=b"short"),
    ],
)
def test_what_cannot_be_a_credential_is_refused(wrong: dict[str, object]) -> None:
    assert World().ask(alteration(wrong)) == {wrong["name"]: ErrorCode.UNACCEPTABLE_CREDENTIAL}


def test_the_first_error_of_a_user_is_its_answer_as_at_kafkas_controller() -> None:
    twice = (upsertion("i-twice", 1), upsertion("i-twice", 2))
    thrice = (*twice, upsertion("i-twice", 2))
    missing = alteration(upsertion("i-bob"), deletions=(("i-bob", 1), ("i-none", 3)))

    assert World().ask(alteration(*thrice, upsertion("i-one"))) == {
        "i-twice": ErrorCode.DUPLICATE_RESOURCE,
        "i-one": ErrorCode.NONE,
    }
    assert World().ask(missing) == {
        "i-bob": ErrorCode.RESOURCE_NOT_FOUND,
        "i-none": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    }


def test_a_tenant_has_no_more_users_than_it_may_and_a_refused_one_takes_no_place() -> None:
    world = World(max_users=2)
    first = alteration(
        upsertion("i-x", 1), upsertion("i-x", 2), upsertion("i-1"), upsertion("i-2"), upsertion("i-3")
    )

    codes = world.ask(first)
    changed = world.ask(alteration(upsertion("i-1", 1)))

    assert codes == {
        "i-x": ErrorCode.DUPLICATE_RESOURCE,
        "i-1": ErrorCode.NONE,
        "i-2": ErrorCode.NONE,
        "i-3": ErrorCode.POLICY_VIOLATION,
    }
    assert changed == {"i-1": ErrorCode.NONE}
    assert world.users.hits["max_users", "initech"] == 1


def test_a_request_changes_so_many_at_most() -> None:
    world = World(max_users=10_000)
    names = [f"i-{number}" for number in range(MAX_CHANGED + 1)]

    codes = world.ask(alteration(*(upsertion(one, salted_password=bytes(64)) for one in names)))

    assert codes[names[-2]] == ErrorCode.NONE
    assert codes[names[-1]] == ErrorCode.POLICY_VIOLATION
    assert len(world.users.of("initech")) == MAX_CHANGED


def test_after_a_conflict_the_request_is_judged_again() -> None:
    world = World()
    exchange = Exchange(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, world.scope)
    request = alteration(upsertion("i-bob"))

    first = UserAlterationFilter().on_request(exchange, request)
    assert isinstance(first, StateChange)
    world.state.change(Change(user_key("initech", "i-bob"), 0, user_body((), {SHA_256: VERIFIERS[SHA_256]})))
    exchange.met = {StateChange: world.state.meet(first)}
    second = UserAlterationFilter().on_request(exchange, request)
    assert isinstance(second, StateChange)
    exchange.met = {StateChange: world.state.meet(second)}
    answer = UserAlterationFilter().on_request(exchange, request)

    assert isinstance(answer, Answer)
    assert (first.attempt, second.attempt) == (1, 2)
    assert world.users.of("initech")["i-bob"].verifiers == VERIFIERS


def test_what_could_not_be_written_is_an_error_for_what_it_would_have_changed() -> None:
    world = World()
    exchange = Exchange(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, world.scope)
    request = alteration(upsertion("i-bob"), upsertion("bob"))
    step = UserAlterationFilter().on_request(exchange, request)
    assert isinstance(step, StateChange)
    outcome = StateOutcome(OutcomeKind.UNAVAILABLE)
    exchange.met = {StateChange: replace(step, outcome=outcome)}

    answer = UserAlterationFilter().on_request(exchange, request)

    assert isinstance(answer, Answer)
    codes = {one.user: one.error_code for one in answer.response.results}
    assert codes == {"i-bob": outcome.error_code, "bob": ErrorCode.UNACCEPTABLE_CREDENTIAL}


def test_without_a_state_no_user_can_be_made() -> None:
    world = World()

    assert world.ask(alteration(upsertion("i-bob")), scope=replace(world.scope, state=None)) == {
        "i-bob": OFF.error_code
    }


def test_users_of_a_namespace_are_made_and_seen_there() -> None:
    world = World()
    world.stage.existing.configure({"initech": [("eu",), ("us",)]})
    scopes = {
        tier: replace(world.scope, namespace=world.stage._new("initech", (tier,), None).namespace)
        for tier in ("eu", "us")
    }

    made = world.ask(alteration(upsertion("i-bob")), scope=scopes["eu"])
    taken = world.ask(alteration(upsertion("i-bob", 1)), scope=scopes["us"])
    unseen = world.ask(alteration(deletions=(("i-bob", 2),)), scope=scopes["us"])
    from_above = world.ask(alteration(upsertion("i-bob", 1)))

    assert (made["i-bob"], from_above["i-bob"]) == (ErrorCode.NONE, ErrorCode.NONE)
    assert taken["i-bob"] == ErrorCode.UNACCEPTABLE_CREDENTIAL
    assert unseen["i-bob"] == ErrorCode.RESOURCE_NOT_FOUND
    assert world.users.of("initech")["i-bob"].tiers == ("eu",)


def test_no_user_is_made_in_a_namespace_that_is_deleted_meanwhile() -> None:
    world = World()
    space = state_log.key("initech:eu", NAMESPACE)
    world.state.change(Change(space, 0, {}))
    scope = replace(world.scope, namespace=world.stage._new("initech", ("eu",), None).namespace)
    exchange = Exchange(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, scope)
    request = alteration(upsertion("i-bob"))

    step = UserAlterationFilter().on_request(exchange, request)
    assert isinstance(step, StateChange)
    world.state.change(Change(space, 1, None))
    exchange.met = {StateChange: world.state.meet(step)}
    answer = UserAlterationFilter().on_request(exchange, request)

    assert isinstance(answer, Answer)
    (result,) = answer.response.results
    assert (result.error_code, "InvalidNamespace" in result.error_message) == (
        ErrorCode.INVALID_REQUEST,
        True,
    )


def test_what_is_stored_can_be_read(  # A model that cannot read a record is not ready.
) -> None:
    world = World()
    exchange = Exchange(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, world.scope)
    step = UserAlterationFilter().on_request(exchange, alteration(upsertion("i-" + 254 * "x")))

    assert isinstance(step, StateChange)
    (change,) = step.changes
    assert change.body is not None
    assert read_user(change.key, change.body).name == "i-" + 254 * "x"
