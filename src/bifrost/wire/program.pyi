"""Types and contract of programs; program.pyx explains how they work."""

from collections.abc import Callable, Sequence
from enum import IntEnum

SLOT_DECODE: int
"""The slot of a field that cannot be rewritten in place: if it holds something, the frame is decoded."""

SLOT_USUAL: int
"""The slot of a field that means more unless it is as usual: a number its default, an array not null; else the frame is
decoded."""

SLOT_ADDRESS: int
"""The slot of a broker's address: by its node ID (4 bytes) the host's bytes and 4 of the port behind them."""

SLOT_PARTITION: int
"""The slot of the index of a partition, in front of its records."""

SLOT_WAY: int
"""The slot of records that take the way of their topic, if it has one: see RecordWay in rewriting.pyi."""

class Usually(IntEnum):
    """The slot of an INT16 or INT32 in a `Peek`: what the number nearly always is."""

    ANYTHING = ...
    ZERO = ...
    NOT_ZERO = ...
    NEGATIVE = ...
    KNOWN = ...
    """0, or the number that the connection is known to use."""

class Program:
    """What `rewrite` does with one message at one version.

    Args:
        ops: (kind, flags, slot, a, b), see program.pyx.
        tags: (tag, index of its first op, or -1 if a slot lies within).
    Raises:
        ValueError: an op points outside the program.
    """

    def __init__(
        self, ops: Sequence[tuple[int, int, int, int, int]], tags: Sequence[tuple[int, int]] = ()
    ) -> None: ...

class Peek(Program):
    """Which numbers near the front of a body `peek` reads."""

class Passage:
    """How the messages of one API and version are forwarded undecoded.

    Args:
        request, response: None: that one has to be decoded.
        request_flexible, response_flexible: whether the header ends in tagged fields.
        request_peek, response_peek: read fields that decide whether it may pass, from (frame, offset of the body).
        request_usual, response_usual: the same fields; a message in which each is what it usually is may pass.
        drops_trailing: whether bytes behind a request's body are dropped.
        has_throttle: whether the response can tell a client to wait.
        begins_with_throttle: whether that is the first field of its body.
    """

    def __init__(
        self,
        request: Program | None,
        response: Program | None,
        request_flexible: bool,
        response_flexible: bool,
        request_peek: Callable[[bytes | memoryview, int], tuple[int, ...]] | None = None,
        response_peek: Callable[[bytes | memoryview, int], tuple[int, ...]] | None = None,
        request_usual: Peek | None = None,
        response_usual: Peek | None = None,
        drops_trailing: bool = False,
        has_throttle: bool = False,
        begins_with_throttle: bool = False,
    ) -> None: ...

def error_codes(program: Program, frame: bytes | memoryview, start: int) -> list[tuple[int, int]]:
    """Return the error codes in the body of a response, each with how often it is there; NONE is none of them.

    Args:
        program: of the response, without slots.
        frame: the response.
        start: where its body begins.
    Returns:
        Pairs of a code and a number; with more than eight different codes 0 stands for all others.
    Raises:
        MalformedFrame: the body does not parse.
    """

def peek(peek: Peek, frame: bytes | memoryview, start: int) -> tuple[int, ...]:
    """Read the numbers that `peek` names, in the message's order; bools as False and True.

    Args:
        frame: a frame without its length.
        start: where the body begins, in bytes.
    Raises:
        MalformedFrame: the frame ends before the last of them.
    """

def prune(program: Program, frame: bytes | memoryview, start: int, prefix: bytes) -> bytes:
    """Return a frame without the elements of its top-level arrays that belong to other tenants.

    Args:
        program: with a slot, any, for each string that says whose the element around it is.
        start: offset of the body; what is before stays.
        prefix: how names begin that stay; null and the empty name stay as well.
    Raises:
        MalformedFrame: the body does not parse.
    """

def end_of_fields(program: Program, frame: bytes | memoryview, start: int) -> int:
    """Return where the fields of a body end that are not tagged, from the frame's beginning, in bytes.

    Args:
        program: of the message.
        frame: the whole message.
        start: where its body begins.
    Raises:
        MalformedFrame: it does not parse.
    """

def count_items(program: Program, frame: bytes | memoryview, start: int, most: int) -> int:
    """Return how many elements the arrays in a body have, all together; lists in tagged fields are not looked at.

    Args:
        program: of the message, without slots.
        frame: without its length.
        start: where the body begins, in bytes.
        most: when there are more, the count stops with any number above it.
    Raises:
        MalformedFrame: the body does not parse.
    """
