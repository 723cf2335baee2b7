import pytest

from bifrost.forwarding.room import Room
from bifrost.gateway.sockets.counted_frames import UNCOUNTED_BYTES, counted_frame


def framed(size: int) -> bytes:
    body = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("size", [UNCOUNTED_BYTES + 1, 100_000, 262_144, 1_048_576, 5_000_001])
def test_a_frame_is_the_same_and_counts_until_it_is_let_go(size: int) -> None:
    room = Room()
    whole = framed(size)
    found = counted_frame(whole, room)
    assert found is not None
    assert bytes(found) == whole[4:]
    assert room.used >= size

    del found
    assert room.used == 0


def test_a_small_frame_does_not_count() -> None:
    room = Room(None, 1)
    room.most = 0

    assert counted_frame(framed(100), room) == framed(100)[4:]
    assert room.used == 0


def test_without_room_there_is_none() -> None:
    whole = Room()
    whole.most = 3_000_000
    room = Room(whole)
    # An answer finds room in any case if there is no other.
    first = counted_frame(framed(2_000_000), room)
    used = room.used

    assert counted_frame(framed(2_000_000), room) is None
    assert (room.used, whole.used) == (used, used)
    del first
    assert (room.used, whole.used) == (0, 0)
    assert counted_frame(framed(2_000_000), room) is not None
