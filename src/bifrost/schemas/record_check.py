"""Checks one record: its parts read under their schemas, and no rule is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bifrost.schemas.readers.reader import NO_BOUND, Reader
from bifrost.schemas.wire_format import Payload, Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bifrost.schemas.schema_checks import SchemaChecks

VALUE = "value"
"""The part that rules are about: a record without it passes unseen by them."""


class ReadPart(NamedTuple):
    """A key or value, and what reads it."""

    name: str
    """`key` or `value`."""
    reader: Reader
    payload: Payload


def fault_of(parts: Sequence[ReadPart], checks: SchemaChecks | None, most_ns: int = NO_BOUND) -> str | None:
    """Return why a record is not valid, in words without its content; None: it is.

    Args:
        parts: those that are not null.
        checks: the rules; None: there are none, and no part is made an object.
        most_ns: how long it may take by estimate, in nanoseconds; the parts and the rules have an equal share each.
    Raises:
        TakesLong: it would take longer.
    """
    values: dict[str, object] = {}
    if most_ns < NO_BOUND:
        most_ns //= max(1, len(parts) + (checks is not None))
    for name, reader, payload in parts:
        try:
            if checks is None:
                reader.check(payload, most_ns)
            else:
                values[name] = reader.value(payload, most_ns)
        except Unreadable as error:
            return f"{name}: it does not read under its schema: {error}"
    if checks is None or VALUE not in values:
        return None
    return checks.broken(values, most_ns)
