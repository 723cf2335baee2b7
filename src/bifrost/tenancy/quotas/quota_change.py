"""How the record of an entity's quotas changes, for every way to ask for it: AlterClientQuotas and the admin API.

Source: ClientQuotaControlManager of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.tenancy.quotas.quota_key import QuotaKey, refuse_value
from bifrost.tenancy.quotas.quota_record import quota_body, quota_key, read_body
from bifrost.tenancy.quotas.quota_table import MAX_ENTITIES
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.state.state_change import Change
    from bifrost.state.state_table import StateTable
    from bifrost.tenancy.quotas.quota_entity import QuotaEntity
    from bifrost.tenancy.quotas.quota_table import QuotaTable

_NOT_READ = StateOutcome(OutcomeKind.UNAVAILABLE)


class Refusal(NamedTuple):
    """Why nothing is set for an entity."""

    error_code: ErrorCode
    message: str | None


def quota_change(
    state: StateTable | None,
    table: QuotaTable,
    path: str,
    entity: QuotaEntity,
    ops: Mapping[str, float | None],
    added: set[QuotaEntity],
) -> Change | Refusal | None:
    """Return how the record of an entity changes; None: it does not.

    Args:
        state: what is stored; None: nothing can be.
        table: the quotas of the namespace.
        path: the namespace's path, from its tenant on.
        entity: whose quotas they are; a whole namespace only where an operator asks.
        ops: by Kafka's key the value that is set; None: it is removed.
        added: the entities without quotas that the same request gives some; this one is added to them.
    """
    from bifrost.state.state_change import Change  # takes memory, and not every gateway has a state

    refused = _refuse_values(table, entity, ops)
    if refused is not None:
        return refused
    try:
        name = quota_key(path, entity)
    except ValueError:
        return Refusal(ErrorCode.INVALID_REQUEST, "The names of the client quota entity are too long")
    record = None if state is None else state.get(name)
    try:
        current = {} if record is None or record.body is None else dict(read_body(record.body))
    except ValueError:  # The gateway has logged it, and is not ready.
        return Refusal(_NOT_READ.error_code, _NOT_READ.message)
    changed = dict(current)
    for known in QuotaKey:  # A request may remove a hundred thousand others.
        value = ops.get(known)
        if value is not None:
            changed[known] = float(value)
        elif known in ops:
            changed.pop(known, None)
    if changed == current:
        return None
    if record is None and entity not in table.own and entity not in added:
        if len(table.own) + len(added) >= MAX_ENTITIES:
            return Refusal(ErrorCode.POLICY_VIOLATION, f"At most {MAX_ENTITIES} entities may have quotas")
        added.add(entity)
    expected = 0 if record is None else record.version
    return Change(name, expected, quota_body(changed) if changed else None)


def _refuse_values(table: QuotaTable, entity: QuotaEntity, ops: Mapping[str, float | None]) -> Refusal | None:
    for key, value in ops.items():
        if value is None:
            continue  # Kafka removes any key without a look at it.
        why = refuse_value(key, value)
        if why is not None:
            return Refusal(ErrorCode.INVALID_REQUEST, why)
        bound = table.bound_of(entity, QuotaKey(key))
        if bound is not None and value > bound:
            return Refusal(ErrorCode.POLICY_VIOLATION, f"Quota {key} may be {bound:.16g} at most")
    return None
