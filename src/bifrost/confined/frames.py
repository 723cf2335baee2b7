"""What the gateway and a process that works for it send each other: a head in JSON, and buffers.

    4 bytes  length of the head     8 bytes  length of all buffers     the head     the buffers, one after the other

A message has parts. A part is a buffer or absent; two parts may be the same buffer, which is sent once then. Numbers of
lengths are big-endian.
"""

import json
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, NamedTuple, TypeGuard

LENGTHS = Struct(">IQ")

MAX_HEAD_BYTES = 65_536
"""Longest head; what is sent here has some hundred bytes."""


class BrokenFrame(ValueError):
    """The other side sent what is no frame."""


class Frame(NamedTuple):
    """A message, as it was received."""

    head: dict[str, Any]
    buffers: memoryview


def pack(head: dict[str, Any], parts: Sequence[memoryview | None] = ()) -> Iterator[bytes | memoryview]:
    """Yield a message in pieces; nothing of the parts is copied, and a view that is there twice is sent once."""
    places: list[int] = []
    known: dict[int, int] = {}
    buffers: list[memoryview] = []
    for part in parts:
        if part is None:
            places.append(-1)
            continue
        if id(part) not in known:
            known[id(part)] = len(buffers)
            buffers.append(part.cast("B"))
        places.append(known[id(part)])
    text = json.dumps(head | {"places": places, "sizes": [one.nbytes for one in buffers]}).encode()
    yield LENGTHS.pack(len(text), sum(one.nbytes for one in buffers)) + text
    yield from buffers


def read_lengths(data: bytes | bytearray, max_bytes: int) -> tuple[int, int]:
    """Return the lengths of a head and of its buffers.

    Raises:
        BrokenFrame: the head or the buffers are longer than they may be.
    """
    head, buffers = LENGTHS.unpack(data)
    if head > MAX_HEAD_BYTES or buffers > max_bytes:
        raise BrokenFrame(f"a message of {head + buffers} bytes")
    return head, buffers


def read_head(data: bytes | bytearray) -> dict[str, Any]:
    """Return the head of a message.

    Raises:
        BrokenFrame: it is none.
    """
    try:
        found = json.loads(data)
    except ValueError:
        raise BrokenFrame("no head") from None
    if not isinstance(found, dict):
        raise BrokenFrame("no head")
    return found


def views_of(frame: Frame) -> list[memoryview | None]:
    """Return the parts of a message.

    Raises:
        BrokenFrame: they lie outside of its buffers.
    """
    sizes, places = frame.head.get("sizes"), frame.head.get("places")
    if not _are_numbers(sizes) or not _are_numbers(places):
        raise BrokenFrame("no parts")
    views, at = [], 0
    for size in sizes:
        if size < 0 or at + size > len(frame.buffers):
            raise BrokenFrame("a buffer that is not there")
        views.append(frame.buffers[at : at + size])
        at += size
    if any(place >= len(views) for place in places):
        raise BrokenFrame("a part that is not there")
    return [None if place < 0 else views[place] for place in places]


def _are_numbers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(one) is int for one in value)
