"""The parts of a message that has a batch: its columns, as they are in memory."""

from bifrost.confined.frames import BrokenFrame, Frame, views_of

PARTS = (
    "offset_deltas",
    "timestamp_deltas",
    *(f"{column}_{part}" for column in ("key", "value") for part in ("data", "offsets", "sizes", "validity")),
    "header_starts",
    *(
        f"{column}_{part}"
        for column in ("header_key", "header_value")
        for part in ("data", "offsets", "sizes", "validity")
    ),
)
"""The parts of a batch: int32, int64, and of bytes where each begins and how long it is, in int32, and bits that are 0
for null. `header_starts` has one element more than there are records."""


def parts_of(frame: Frame) -> list[memoryview | None]:
    """Return the parts of the batch in a message.

    Raises:
        BrokenFrame: it has other parts than `PARTS`, or they lie outside of its buffers.
    """
    found = views_of(frame)
    if len(found) != len(PARTS):
        raise BrokenFrame("no batch")
    return found
