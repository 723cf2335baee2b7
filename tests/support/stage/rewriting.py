"""What tests of the engine's rewriting share: a frame's head, names that are replaced, and the new body."""

from __future__ import annotations

from collections.abc import Callable

from bifrost.wire.program import Program
from bifrost.wire.reader import Kind
from bifrost.wire.rewriting import Names, rewrite

Missing = Callable[[int, bytes], bytes | None]
"""Decides about a name that is not in the table."""

HEAD = b"\x00\x00\x00\x09\x00\x00\x00\x07\x00\x02me\x00"
"""Request header v2: Produce v9, correlation ID 7, client ID "me"."""
END = (Kind.END, 0, 0, 0, 0)
TOPIC, GROUP, TRANSACTION, TOPIC_ID = 1, 2, 3, 4


def deny(slot: int, name: bytes) -> bytes | None:
    return None


def names(slot: int = TOPIC, table: dict[bytes, bytes] | None = None, missing: Missing = deny) -> Names:
    result = Names(missing)
    result.tables[slot] = table
    return result


def rewritten(program: Program, body: bytes, using: Names) -> bytes | None:
    """The new body, or None; the frame's length is checked on the way."""
    segments = rewrite(program, body, 0, using)
    if segments is None:
        return None
    frame = b"".join(segments)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return frame[4:]
