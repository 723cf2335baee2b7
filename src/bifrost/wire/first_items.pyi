"""Contract of the reading of a message's first items; first_items.pyx explains how it works."""

from typing import Any

from bifrost.wire.codec import Layout

def read_first_items(
    layout: Layout,
    frame: bytes | memoryview,
    start: int,
    items: int,
    size: int,
    allow_trailing: bool = False,
) -> Any:
    """Read the beginning of a message, in steps: an instance of the layout's class.

    Lists end, and later fields have their defaults, where the message has more than that. Bytes, records and tagged
    fields have their defaults in any case.

    Args:
        layout: of the message.
        frame: a frame without its length, or any other bytes.
        start: where the body begins, in bytes.
        items: most elements of lists, in all of them together.
        size: most bytes of strings; the last one that is read may go beyond it.
        allow_trailing: whether bytes may be left over behind a message that is read to its end.
    Raises:
        MalformedFrame: what is read of the body does not parse, or it goes on behind its end.
    """
