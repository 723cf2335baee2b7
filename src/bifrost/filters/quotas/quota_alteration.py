"""AlterClientQuotas: checked as Kafka's controller checks it, and within what the operator gave; stored in the state.

Each entity has an answer of its own, and one that is refused does not stop the others. What is set takes hold in the
process that answers before it answers.

Source: ClientQuotaControlManager of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.filter import Exchange, RequestFilter, Scope
from bifrost.filters.quotas.quota_parts import Parts, entity_of, read_parts, refuse_parts, shortened
from bifrost.filters.steps import MAX_ATTEMPTS, Answer, RequestStep, StateChange
from bifrost.state.state_outcome import OFF, OutcomeKind, StateOutcome
from bifrost.tenancy.quotas.quota_key import QuotaKey, refuse_value
from bifrost.tenancy.quotas.quota_record import quota_body, quota_key, read_body
from bifrost.tenancy.quotas.quota_table import MAX_ENTITIES
from bifrost.wire import messages
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.state.state_change import Change
    from bifrost.tenancy.quotas.quota_entity import QuotaEntity
    from bifrost.tenancy.quotas.quota_table import QuotaTable
    from bifrost.wire.messages import AlterClientQuotasRequest

_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
_NOT_READ = StateOutcome(OutcomeKind.UNAVAILABLE)


class Refusal(NamedTuple):
    """Why nothing is set for an entity."""

    error_code: ErrorCode
    message: str | None


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
        made, attempt = exchange.state_change, 1
        if made is not None and made.outcome is not None:
            if made.outcome.kind is not OutcomeKind.CONFLICT or made.attempt >= MAX_ATTEMPTS:
                return _answer(made.plan, made.outcome)
            attempt = made.attempt + 1
        scope = exchange.scope
        if not scope.quotas.may_set(scope.namespace.tenant):
            return _denied(request)
        alterations = _judge(scope, request)
        changes = tuple(one.change for one in alterations if one.change is not None)
        if request.validate_only or not changes:
            return _answer(alterations, None)
        if scope.state is None:
            return _answer(alterations, OFF)
        return StateChange(changes, f"User:{scope.user}", plan=alterations, attempt=attempt)


def _judge(scope: Scope, request: AlterClientQuotasRequest) -> list[_Alteration]:
    """Return what a request does for each entity that it names."""
    path = scope.namespace.path
    found: dict[frozenset[tuple[str, str | None]], _Alteration] = {}
    added: set[QuotaEntity] = set()
    for entry in in_steps(request.entries):
        parts = read_parts(entry.entity)
        ops: dict[str, float | None] = {}
        is_twice = frozenset(parts.items()) in found
        for op in in_steps(entry.ops):
            is_twice |= op.key in ops
            ops[op.key] = None if op.remove else op.value
        one = found.setdefault(frozenset(parts.items()), _Alteration(parts))
        if is_twice:  # Kafka makes the first change all the same, but for a key that is there twice.
            one.refusal = _invalid(f"Ignoring duplicate entity {_shown(parts)}")
            continue
        refused = refuse_parts(parts)
        if refused is not None:
            one.refusal = _invalid(refused)
            continue
        changed = _change(scope, path, entity_of(parts), ops, added)
        if isinstance(changed, Refusal):
            one.refusal = changed
        else:
            one.change = changed
    return list(found.values())


def _change(
    scope: Scope, path: str, entity: QuotaEntity, ops: Mapping[str, float | None], added: set[QuotaEntity]
) -> Change | Refusal | None:
    """Return how the record of an entity changes; None: it does not."""
    from bifrost.state.state_change import Change  # takes memory, and not every gateway has a state

    table = scope.quotas.table(path)
    refused = _refuse_values(table, entity, ops)
    if refused is not None:
        return refused
    try:
        name = quota_key(path, entity)
    except ValueError:
        return _invalid("The names of the client quota entity are too long")
    record = None if scope.state is None else scope.state.get(name)
    try:
        current = {} if record is None or record.body is None else dict(read_body(record.body))
    except ValueError:  # The gateway has logged it, and is not ready.
        return Refusal(_NOT_READ.error_code, _NOT_READ.message)
    changed = dict(current)
    for key, value in ops.items():
        if value is not None:
            changed[QuotaKey(key)] = float(value)
        elif key in set(QuotaKey):
            changed.pop(QuotaKey(key), None)
    if changed == current:
        return None
    if record is None:
        added.add(entity)
        if len(table.own) + len(added - table.own.keys()) > MAX_ENTITIES:
            return Refusal(ErrorCode.POLICY_VIOLATION, f"At most {MAX_ENTITIES} entities may have quotas")
    expected = 0 if record is None else record.version
    return Change(name, expected, quota_body(changed) if changed else None)


def _refuse_values(table: QuotaTable, entity: QuotaEntity, ops: Mapping[str, float | None]) -> Refusal | None:
    for key, value in ops.items():
        if value is None:
            continue  # Kafka removes any key without a look at it.
        why = refuse_value(key, value)
        if why is not None:
            return _invalid(why)
        bound = table.bound_of(entity, QuotaKey(key))
        if bound is not None and value > bound:
            return Refusal(ErrorCode.POLICY_VIOLATION, f"Quota {key} may be {bound:.16g} at most")
    return None


def _answer(alterations: list[_Alteration], outcome: StateOutcome | None) -> Answer:
    """Answer a request; `outcome` is that of all changes together, None: none was to be written."""
    entries = []
    for one in in_steps(alterations):
        code, message = one.refusal or (ErrorCode.NONE, None)
        if one.refusal is None and one.change is not None and outcome is not None:
            code, message = outcome.error_code, outcome.message
        entries.append(_entry(one.parts, code, message))
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
