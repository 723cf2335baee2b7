"""AlterClientQuotas: checked as Kafka's controller checks it, and within what the operator gave; stored in the state.

Each entity has an answer of its own, and one that is refused does not stop the others. What is set takes hold in the
process that answers before it answers.

Source: ClientQuotaControlManager of Kafka 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from bifrost.filters.filter import Exchange, RequestFilter, Scope
from bifrost.filters.quotas.quota_parts import (
    MAX_KEYS,
    Parts,
    entity_of,
    read_parts,
    refuse_counts,
    refuse_parts,
    shortened,
)
from bifrost.filters.steps import MAX_ATTEMPTS, Answer, RequestStep, StateChange
from bifrost.state.state_change import Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import OFF, OutcomeKind, StateOutcome
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace
from bifrost.tenancy.namespaces.namespace_tree import KIND as NAMESPACE
from bifrost.tenancy.quotas.quota_change import Refusal, quota_change
from bifrost.wire import messages
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps, let_go

if TYPE_CHECKING:
    from bifrost.state.state_change import Change
    from bifrost.tenancy.quotas.quota_entity import QuotaEntity
    from bifrost.wire.messages import AlterClientQuotasRequest

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ROUNDS = 16
"""Steps that an entity counts as: it costs some 100 us, and a pause is possible after 64 steps (wire/steps.pyx)."""


@dataclass(slots=True)
class _Alteration:
    """What a request does for one entity."""

    parts: Parts
    refusal: Refusal | None = None
    change: Change | None = None
    """None: nothing has to be written."""


class QuotaAlterationFilter(RequestFilter):
    """Sets the quotas of a tenant."""

    def on_request(self, exchange: Exchange, request: AlterClientQuotasRequest) -> RequestStep:
        """Answer the request; if it changes something, that is written first."""
        made, attempt, scope = exchange.state_change, 1, exchange.scope
        if made is not None and made.outcome is not None:
            if made.outcome.kind is not OutcomeKind.CONFLICT or made.attempt >= MAX_ATTEMPTS:
                return _answer(made.plan, made.outcome)
            attempt = made.attempt + 1
            if made.unchanged and not _namespace(scope):  # It was deleted, and its clients' connections end.
                return _gone(scope, request)
        if not scope.quotas.may_set(scope.namespace.tenant):
            return _denied(request)
        alterations = _judge(scope, request)
        changes = tuple(one.change for one in in_steps(alterations) if one.change is not None)
        if request.validate_only or not changes:
            return _answer(alterations, None)
        if scope.state is None:
            return _answer(alterations, OFF)
        return StateChange(
            changes, f"User:{scope.user}", _namespace(scope), plan=alterations, attempt=attempt
        )


def _namespace(scope: Scope) -> tuple[Unchanged, ...]:
    """Return the record of the client's namespace, which its quotas end with; empty: the state has none."""
    assert scope.state is not None, "the quotas are stored in it"
    record = scope.state.get(StateKey(NAMESPACE, scope.namespace.path))
    return () if record is None else (Unchanged(record.key, record.version),)


def _judge(scope: Scope, request: AlterClientQuotasRequest) -> list[_Alteration]:
    """Return what a request does for each entity that it names."""
    path = scope.namespace.path
    table = scope.quotas.table(path)
    found: dict[frozenset[tuple[str, str | None]], _Alteration] = {}
    added: set[QuotaEntity] = set()
    for entry in in_steps(request.entries, ROUNDS):
        parts = read_parts(entry.entity)
        key = frozenset(parts.items())
        ops: dict[str, float | None] = {}
        is_twice = key in found
        for op in islice(entry.ops, MAX_KEYS + 1):
            is_twice |= op.key in ops
            ops[op.key] = None if op.remove else op.value
        one = found.setdefault(key, _Alteration(parts))
        if is_twice:  # Kafka makes the first change all the same, but for a key that is there twice.
            one.refusal = _invalid(f"Ignoring duplicate entity {_shown(parts)}")
            continue
        refused = refuse_parts(parts) or refuse_counts(len(entry.entity), len(entry.ops))
        if refused is not None:
            one.refusal = _invalid(refused)
            continue
        changed = quota_change(scope.state, table, path, entity_of(parts), ops, added)
        if isinstance(changed, Refusal):
            one.refusal = Refusal(changed.error_code, changed.message and shortened(changed.message))
        else:
            one.change = changed
    alterations = list(found.values())
    let_go(found)
    return alterations


def _answer(alterations: list[_Alteration], outcome: StateOutcome | None) -> Answer:
    """Answer a request, and let go of what it does.

    Args:
        alterations: what it does for each entity; empty afterwards.
        outcome: of all changes together; None: none was to be written.
    """
    entries = []
    for one in in_steps(alterations):
        code, message = one.refusal or (ErrorCode.NONE, None)
        if one.refusal is None and one.change is not None and outcome is not None:
            code, message = outcome.error_code, outcome.message
        entries.append(_entry(one.parts, code, message))
    let_go(alterations)
    return Answer(messages.AlterClientQuotasResponse(entries=entries))


def _denied(request: AlterClientQuotasRequest) -> Answer:
    """Answer as a broker does where the client lacks ALTER_CONFIGS on the cluster."""
    entries = [
        messages.AlterClientQuotasResponse.EntryData(
            error_code=_DENIED,
            error_message=_DENIED.message,
            entity=[
                messages.AlterClientQuotasResponse.EntityData(
                    entity_type=part.entity_type, entity_name=part.entity_name
                )
                for part in in_steps(entry.entity)
            ],
        )
        for entry in in_steps(request.entries)
    ]
    return Answer(messages.AlterClientQuotasResponse(entries=entries))


def _gone(scope: Scope, request: AlterClientQuotasRequest) -> Answer:
    """Answer that the client's namespace does not exist any more."""
    refusal = _invalid(str(InvalidNamespace(f"namespace {scope.namespace.path} does not exist")))
    entries = in_steps(request.entries)
    return _answer([_Alteration(read_parts(entry.entity), refusal) for entry in entries], None)


def _entry(parts: Parts, code: ErrorCode, message: str | None) -> Any:
    entity = [
        messages.AlterClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
        for kind, name in parts.items()
    ]
    return messages.AlterClientQuotasResponse.EntryData(error_code=code, error_message=message, entity=entity)


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, shortened(message))


def _shown(parts: Parts) -> str:
    """Return an entity as Java prints it."""
    shown = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in sorted(parts.items()))
    return f"ClientQuotaEntity(entries={{{shown}}})"
