"""Rewriting of frames: see rewriting.pyx."""

from collections.abc import Callable

from bifrost.wire.program import Program

class RecordWay:
    """What stands in a table of names for a topic whose records do not pass as they are: see rewriting.pyx.

    Args:
        name: what the topic is called on the other side, or its ID.
    """

    def __init__(self, name: bytes) -> None: ...
    @property
    def name(self) -> bytes:
        """What was given to the constructor."""

class RecordTrip:
    """What the ways of one message have done for it: see rewriting.pyx."""

    parts: int
    """Requests that the message became, one after the other; below 2: it stayed one."""

    def keep_answer(self, answer: bytes) -> int:
        """Keep the answer to the next of these requests until that to the last one comes."""

class Names:
    """One direction of one namespace: what each name is called on the other side.

    Args:
        missing: asked with (slot, name) when the slot's table is None or lacks the name. It may put what
            it answers into the table; `rewrite` does not. None: the frame cannot be rewritten in place.
            It may call these functions.
        base: the names that `missing` asks in its turn, if it does; their tables are taken over.
        steps: how many rounds of a loop a name stands for that is in no table, besides those of `base`: MISS_STEPS for
            what takes as long as to find out a name of the namespace.
    """

    tables: list[dict[bytes, bytes] | None]
    """By slot, 1 to 9 (0 is unused): name to replacement; strings as UTF-8, UUIDs as 16 bytes. Then SLOT_ADDRESS.
    A topic may have a RecordWay in a table that only the engine reads."""

    miss_steps: int
    """Rounds of a loop that a name stands for that is in no table, those of `base` included."""

    def __init__(
        self,
        missing: Callable[[int, bytes], bytes | RecordWay | None],
        base: Names | None = None,
        steps: int = ...,
    ) -> None: ...
    @property
    def missing(self) -> Callable[[int, bytes], bytes | None]:
        """The function given to the constructor."""

def rewrite(
    program: Program,
    frame: bytes | memoryview,
    start: int,
    names: Names,
    head: bytes | None = None,
    allow_trailing: bool = False,
) -> list[bytes | memoryview] | None:
    """Copy a frame with its names replaced.

    Null strings and the zero UUID are left alone; empty strings are looked up like any other.

    Args:
        frame: a frame without its length. Runs of 4096 bytes and more of a `bytes` are not copied but
            leave as memoryviews that keep it alive; views of any other frame are not kept.
        start: where the body begins, in bytes.
        head: the header to send instead of frame[:start].
        allow_trailing: whether bytes may be left over; they are not copied.
    Returns:
        The pieces of the new frame, its 4-byte length included; or None if it has to be decoded: it has an
        unknown tagged field, one with a slot in it, something under SLOT_DECODE, something unusual under
        SLOT_USUAL, or `names` knows no replacement.
    Raises:
        MalformedFrame: the body does not parse, goes on behind its end, or a replacement is too long for a
            string.
        TypeError, ValueError: `names` answered with something that is not bytes, or not 16 for a UUID.
    """

def rewrite_frame(
    program: Program,
    frame: bytes | memoryview,
    start: int,
    names: Names,
    head: bytes | None = None,
    allow_trailing: bool = False,
) -> tuple[list[bytes | memoryview] | None, bool]:
    """Do the same also where topics have a RecordWay; `rewrite` returns None there.

    What was done on ways counts: the frame has to be sent on.

    Returns:
        With what `rewrite` returns: whether there are other records in it now.
    """
