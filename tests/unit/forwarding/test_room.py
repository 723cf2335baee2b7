"""Frames that are counted in a room; the rooms' bounds and turns are in tests/unit/forwarding/test_rooms.py."""

import pytest

from bifrost.forwarding.room import Room
from bifrost.wire.framer import Framer


@pytest.mark.parametrize("is_frugal", [False, True])
@pytest.mark.parametrize("step", [1, 3, 1000, 5000, 70_000])
def test_frames_are_the_same_where_they_are_counted_in_a_room(is_frugal: bool, step: int) -> None:
    sizes = (
        (1, 5, 2047, 2048, 2049, 4095, 8192, 40_000) if step < 1000 else (1, 70_000, 3, 300_000, 2048, 9000)
    )
    frames = [bytes([number % 251]) * size for number, size in enumerate(sizes * 2)]
    stream = b"".join(len(one).to_bytes(4, "big") + one for one in frames)
    room, framer, found = Room(), Framer(1 << 20), []
    framer.enter(room, is_frugal=is_frugal)

    while stream:
        buffer = framer.get_buffer()
        size = min(len(buffer), len(stream), step)
        buffer[:size] = stream[:size]
        stream = stream[size:]
        found += [bytes(one) for one in framer.buffer_updated(size)]
        assert framer.see()

    del buffer
    assert found == frames
    assert room.used == 0
