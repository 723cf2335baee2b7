"""AlterUserScramCredentials: makes, changes and deletes users of a tenant, in the state that all gateways share.

A new user is bound to the namespace of the client that makes it; a change keeps what the user is bound to. Each user
has an answer of its own. All changes of a request are written in one transaction.

A client sends the salted password (PBKDF2 over the password). What is stored cannot be turned back into that, and the
salted password is forgotten with the request.

Source: ScramControlManager.alterCredentials of Kafka 4; KIP-554.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bifrost.config.fields.verifiers import (
    MAX_ITERATIONS,
    MAX_SALT_BYTES,
    MIN_ITERATIONS,
    MIN_SALT_BYTES,
    Mechanism,
    ScramVerifier,
    digest_size,
)
from bifrost.filters.filter import Exchange, RequestFilter, Scope
from bifrost.filters.steps import MAX_ATTEMPTS, Answer, RequestStep, StateChange
from bifrost.filters.users.user_mechanisms import TYPES, is_visible
from bifrost.state.state_change import Change, Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import OFF, OutcomeKind, StateOutcome
from bifrost.tenancy.namespaces.namespace_tree import KIND as NAMESPACE
from bifrost.tenancy.users.stored_user import StoredUser, read_user, unfit_name, user_body, user_key
from bifrost.tenancy.users.stored_users import USERS_LIMIT, Allowance
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AlterUserScramCredentialsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import AlterUserScramCredentialsRequest

MAX_CHANGED = 1000
"""Most users that one request changes: they are written in one transaction, which others wait for."""

ROUNDS = 16
"""Steps that a user counts as: it costs some 50 us, and a pause is possible after 64 steps (wire/steps.pyx)."""

_Refusal = tuple[ErrorCode, str]

_TWICE = ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request"
_MISSING = ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
_NO_MECHANISM = ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"
_GONE = ErrorCode.INVALID_REQUEST, "InvalidNamespace: the namespace of the client does not exist any more"


@dataclass(slots=True)
class _Plan:
    """What a request does: a refusal for each user that it does not change, and the changes of the others."""

    refusals: dict[str, _Refusal] = field(default_factory=dict)
    changes: dict[str, Change] = field(default_factory=dict)

    def answer(self, outcome: StateOutcome | None = None) -> Answer:
        """Answer the request; `outcome` is that of all changes together."""
        done = (ErrorCode.NONE, None) if outcome is None else (outcome.error_code, outcome.message)
        codes: dict[str, tuple[ErrorCode, str | None]] = {
            **dict.fromkeys(self.changes, done),
            **self.refusals,
        }
        made = AlterUserScramCredentialsResponse
        return Answer(
            made(
                results=[
                    made.AlterUserScramCredentialsResult(user=name, error_code=code, error_message=text)
                    for name, (code, text) in in_steps(codes.items())
                ]
            )
        )


class UserAlterationFilter(RequestFilter):
    """Changes the users of a tenant."""

    def on_request(self, exchange: Exchange, request: AlterUserScramCredentialsRequest) -> RequestStep:
        """Answer the request; if it changes something, that is written first."""
        tried, attempt, scope = exchange.state_change, 1, exchange.scope
        if tried is not None and tried.outcome is not None:
            if tried.outcome.kind is not OutcomeKind.CONFLICT or tried.attempt >= MAX_ATTEMPTS:
                done: _Plan = tried.plan
                return done.answer(tried.outcome)
            attempt = tried.attempt + 1
        plan = _Alteration(scope).plan(request)
        if tried is not None and tried.unchanged and not _namespace(scope):
            plan.refusals = dict.fromkeys([*plan.refusals, *plan.changes], _GONE)
            plan.changes = {}
        if not plan.changes:
            return plan.answer()
        if scope.state is None:
            return plan.answer(OFF)
        changes = tuple(plan.changes.values())
        return StateChange(changes, f"User:{scope.user}", _namespace(scope), plan=plan, attempt=attempt)


def _namespace(scope: Scope) -> tuple[Unchanged, ...]:
    """Return the record of the client's namespace, which its users end with; empty: the state has none."""
    record = None if scope.state is None else scope.state.get(StateKey(NAMESPACE, scope.namespace.path))
    return () if record is None else (Unchanged(record.key, record.version),)


class _Alteration:
    """Judges what one request does."""

    def __init__(self, scope: Scope) -> None:
        assert scope.users is not None, "the filter before this one has looked"
        allowance = scope.users.allowance(scope.namespace.tenant)
        assert allowance is not None, "the filter before this one has looked"
        self._scope, self._users, self._allowance = scope, scope.users, allowance
        self._new = 0

    def plan(self, request: AlterUserScramCredentialsRequest) -> _Plan:
        """Return what is to be changed; the first error of a user is its answer."""
        plan = _Plan()
        for judge, asked in ((self._delete, request.deletions), (self._upsert, request.upsertions)):
            item: Any
            for item in in_steps(asked, ROUNDS):
                self._judge(plan, judge, item)
        return plan

    def _judge(self, plan: _Plan, judge: Callable[[Any], Change | _Refusal], item: Any) -> None:
        name: str = item.name
        if name in plan.refusals:
            return
        unfit = unfit_name(name)
        if name in plan.changes:
            self._new -= plan.changes.pop(name).expected == 0
            judged: Change | _Refusal = _TWICE
        elif unfit is not None:
            judged = ErrorCode.UNACCEPTABLE_CREDENTIAL, unfit
        elif item.mechanism not in TYPES:
            judged = _NO_MECHANISM
        elif len(plan.changes) >= MAX_CHANGED:
            judged = ErrorCode.POLICY_VIOLATION, f"A request changes at most {MAX_CHANGED} users."
        else:
            judged = judge(item)
        if isinstance(judged, Change):
            plan.changes[name] = judged
        else:
            plan.refusals[name] = judged

    def _known(self, name: str) -> tuple[StoredUser | None, int]:
        """Return a user as the state has it, and the version of its record."""
        key = user_key(self._scope.namespace.tenant, name)
        record = None if self._scope.state is None else self._scope.state.get(key)
        if record is None or record.body is None:
            return None, 0
        return read_user(key, record.body), record.version

    def _delete(self, one: Any) -> Change | _Refusal:
        user, version = self._known(one.name)
        if user is None or not is_visible(self._scope, user) or TYPES[one.mechanism] not in user.verifiers:
            return _MISSING
        left = {name: each for name, each in user.verifiers.items() if name is not TYPES[one.mechanism]}
        body = user_body(user.tiers, left) if left else None
        return Change(user_key(user.tenant, user.name), version, body)

    def _upsert(self, one: Any) -> Change | _Refusal:
        refusal = _refuse_name(self._allowance, one.name) or _refuse_credential(one)
        if refusal is not None:
            return refusal
        user, version = self._known(one.name)
        if user is not None and not is_visible(self._scope, user):
            return (
                ErrorCode.UNACCEPTABLE_CREDENTIAL,
                "Another namespace of the tenant has a user of this name.",
            )
        tenant, most = self._scope.namespace.tenant, self._allowance.max_users
        if user is None:
            if len(self._users.of(tenant)) + self._new >= most:
                self._users.hits[USERS_LIMIT, tenant] += 1
                return ErrorCode.POLICY_VIOLATION, f"A tenant may have at most {most} users of its own."
            self._new += 1
        mechanism = TYPES[one.mechanism]
        verifier = ScramVerifier.from_salted(mechanism, one.salted_password, one.salt, one.iterations)
        before = {} if user is None else user.verifiers
        tiers = tuple(self._scope.namespace.names.tiers) if user is None else user.tiers
        return Change(user_key(tenant, one.name), version, user_body(tiers, {**before, mechanism: verifier}))


def _refuse_name(allowance: Allowance, name: str) -> _Refusal | None:
    if not name.startswith(allowance.name_prefix):
        text = f"Names of users that this tenant makes begin with {allowance.name_prefix}"
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, text
    if name in allowance.reserved:
        text = "The user is in the gateway's configuration, and only its operator can change it."
        return ErrorCode.UNACCEPTABLE_CREDENTIAL, text
    return None


def _refuse_credential(one: Any) -> _Refusal | None:
    code = ErrorCode.UNACCEPTABLE_CREDENTIAL
    if one.iterations < MIN_ITERATIONS:
        return code, "Too few iterations"
    if one.iterations > MAX_ITERATIONS:
        return code, "Too many iterations"
    if not MIN_SALT_BYTES <= len(one.salt) <= MAX_SALT_BYTES:
        return code, f"A salt has {MIN_SALT_BYTES} to {MAX_SALT_BYTES} bytes."
    size = digest_size(Mechanism(TYPES[one.mechanism]))
    if len(one.salted_password) != size:
        return code, f"A salted password of this mechanism has {size} bytes."
    return None
