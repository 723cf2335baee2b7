"""The bounded memory of translated names: the tables in which the engine looks names up before it asks.

A table that is full is emptied: names in use come back at once, and a client that invents names cannot take memory.
"""

from typing import Protocol

from bifrost.wire.entity import Entity
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.rewriting import Names

MAX_REMEMBERED_BYTES = 512
"""Longer names are translated each time: no topic has one, and remembering many of them would take unbounded memory."""

MAX_STRING_BYTES = 0x7FFF
"""The longest string of the protocol."""

MAX_REGEXES = 256
"""Patterns remembered for a tenant: they may be long, and clients with one send it with every heartbeat (KIP-848)."""

MAX_REMEMBERED_REGEX_BYTES = 4096
"""Longer translations of patterns are not remembered; so those of a tenant take 1 MiB at most."""


class Renewable(Protocol):
    """Remembers names, and forgets them when they mean something else."""

    def renew(self) -> None:
        """Forget all names."""


def remember(names: Names, slot: int, value: bytes, found: bytes | None, max_names: int) -> bytes | None:
    """Remember what a name was translated into, if that is certain and short; return it.

    Args:
        names: the names of one direction.
        slot: the kind of name.
        value: the name, not yet in the table of its kind.
        found: its translation; None has no translation, and is not remembered.
        max_names: names of a kind that are remembered; of patterns `MAX_REGEXES`.
    Raises:
        MalformedFrame: the translation is longer than a string of the protocol.
    """
    if found is None:
        return None
    if len(found) > MAX_STRING_BYTES:
        raise MalformedFrame(f"a name of {len(value)} bytes has no room for the tenant's prefix", 0)
    # An ID that was masked because it is absent may exist later: only certain results are kept.
    certain = slot != Entity.TOPIC_ID or found == value
    is_regex = slot == Entity.TOPIC_REGEX
    if certain and len(found) <= (MAX_REMEMBERED_REGEX_BYTES if is_regex else MAX_REMEMBERED_BYTES):
        table = names.tables[slot]
        assert table is not None
        if len(table) >= (MAX_REGEXES if is_regex else max_names):
            table.clear()
        table[value] = found
    return found
