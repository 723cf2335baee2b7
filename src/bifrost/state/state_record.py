"""A record of the state, and how it is in the topic: the value is one JSON object.

schema         version of this layout; a reader refuses one that it does not know
version        1, 2, ... of its key
at             time of the change, in milliseconds since 1970
change         ID of the change; the records of one change have the same
writer         process that wrote it
on_behalf_of   principal or operator that asked for it; null: not known
body           what is stored, an object whose layout belongs to the kind; null: deleted
"""

import json
from typing import Any, NamedTuple

from bifrost.state.state_key import StateKey

SCHEMA = 1
"""The newest layout, which this code writes."""

Body = dict[str, Any]


class UnreadableState(ValueError):
    """The state cannot be read to its end; the text says which record, why, and what to do."""


class FutureSchema(UnreadableState):
    """A record has a layout that a newer version of the gateway has written."""


class TooLarge(ValueError):
    """A record, or the table, would be larger than its limit; the text names the limit."""


class StateRecord(NamedTuple):
    """One version of what the state has under a key. A tuple, because they are made by the hundred thousand."""

    key: StateKey
    version: int
    at_ms: int
    change: str
    writer: str
    on_behalf_of: str | None
    body: Body | None
    """None: deleted. It may hold secrets."""

    def __repr__(self) -> str:
        """Show all but the body."""
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields if name != "body")
        return f"{type(self).__name__}({shown})"


def encode(record: StateRecord) -> bytes:
    """Return the value of a record in the topic; equal records have equal bytes."""
    fields = {
        "schema": SCHEMA,
        "version": record.version,
        "at": record.at_ms,
        "change": record.change,
        "writer": record.writer,
        "on_behalf_of": record.on_behalf_of,
        "body": _ordered(record.body),
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _ordered(value: Any) -> Any:
    """Return the same JSON value with all objects in the order of their names."""
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    return value
