"""Frames that the gateway makes, in memory that is counted as if the broker had sent them (rooms.py)."""

from bifrost.forwarding.room import Room
from bifrost.wire.framer import Framer

UNCOUNTED_BYTES = 32_768
"""Smaller frames are not counted, as those are not that come whole (DIRECT of framer.pyx)."""
_FIRST_BYTES = 8_192
"""What a frame shows of itself before it is asked whether there is room for it."""
_MAX_BYTES = 2**31 - 1


def counted_frame(frame: bytes, room: Room) -> bytes | memoryview | None:
    """Return a frame without its length, in memory that counts in a room until nothing refers to it.

    Args:
        frame: with its length.
        room: the tenant's.
    Returns:
        A view; a copy where the frame is small; None: there is no room, or others wait for it.
    """
    if len(frame) - 4 <= UNCOUNTED_BYTES:
        return frame[4:]
    framer, at, found = Framer(_MAX_BYTES), 0, list[bytes | memoryview]()
    framer.enter(room, is_answer=True)
    try:
        while at < len(frame):
            place = framer.get_buffer()
            size = min(len(place), len(frame) - at, _FIRST_BYTES if at < _FIRST_BYTES else _MAX_BYTES)
            place[:size] = frame[at : at + size]
            place.release()
            found += framer.buffer_updated(size)
            at += size
            if at < len(frame) and not framer.see():
                return None
    finally:
        framer.leave()
    [whole] = found
    return whole
