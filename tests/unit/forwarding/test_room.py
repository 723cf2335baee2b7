"""Frames that are counted in a room; the rooms' bounds and turns are in tests/unit/forwarding/test_rooms.py."""

import pytest

from bifrost.forwarding.room import Room
from bifrost.wire.codec import decode, encode, encode_in_pieces, encode_in_room_of
from bifrost.wire.framer import Framer, call_when_leaving, release_spares, spare_bytes, unmap_part
from bifrost.wire.messages import FetchResponse
from bifrost.wire.programs import compile_layout


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


def received(framer: Framer, stream: bytes) -> list[bytes | memoryview]:
    """Return the frames of a stream, as they are received into a framer."""
    found: list[bytes | memoryview] = []
    while stream:
        buffer = framer.get_buffer()
        size = min(len(buffer), len(stream))
        buffer[:size] = stream[:size]
        stream = stream[size:]
        found += framer.buffer_updated(size)
        assert framer.see()
    return found


def answer_with(records: bytes | tuple[bytes, ...]) -> FetchResponse:
    partition = FetchResponse.PartitionData(records=records)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])])


@pytest.mark.parametrize("size", [100_000, 700_000])
def test_what_is_made_of_a_frame_is_counted_in_its_room(size: int) -> None:
    layout, head = compile_layout("FetchResponse", 12), bytes(5)
    room, framer = Room(), Framer(1 << 20)
    framer.enter(room, is_answer=True)
    (frame,) = received(framer, encode(layout, answer_with(b"1" * size), head))
    held = room.used
    assert held > size

    made = encode_in_room_of(layout, answer_with((b"2" * size, b"3" * 10)), head, frame)
    del frame

    assert room.used == room.answers == held
    assert bytes(made) == encode(layout, answer_with(b"2" * size + b"3" * 10), head)
    del made
    assert room.used == room.answers == 0


def test_pieces_of_a_frame_keep_its_room() -> None:
    layout, head, size = compile_layout("FetchResponse", 12), bytes(5), 200_000
    room, framer = Room(), Framer(1 << 20)
    framer.enter(room, is_answer=True)
    (frame,) = received(framer, encode(layout, answer_with(b"1" * size), head))
    held, answer = room.used, decode(layout, frame, 5)
    records = answer.responses[0].partitions[0].records

    made = encode_in_pieces(layout, answer_with((records[:50_000], b"2" * 10, records[50_000:])), head, frame)
    del frame, answer, records

    assert len(made) > 2
    assert room.used == room.answers == held
    assert b"".join(made) == encode(layout, answer_with(b"1" * 50_000 + b"2" * 10 + b"1" * 150_000), head)
    del made
    assert room.used == room.answers == 0


@pytest.mark.parametrize("size", [10, 50_000, 100_000])
def test_what_is_not_in_the_memory_of_a_frame_is_one_piece_if_it_is_much(size: int) -> None:
    layout, head = compile_layout("FetchResponse", 12), bytes(5)
    room, framer = Room(), Framer(1 << 20)
    framer.enter(room, is_answer=True)
    (frame,) = received(framer, encode(layout, answer_with(b"1" * 200_000), head))

    made = encode_in_pieces(layout, answer_with(b"2" * size), head, frame)
    del frame

    assert b"".join(made) == encode(layout, answer_with(b"2" * size), head)
    assert (room.used > 0) == (size > 65_536)
    assert len(made) == 1 or size == 50_000


def test_a_frame_without_a_room_has_none_to_hand_on() -> None:
    layout, head = compile_layout("FetchResponse", 12), bytes(5)
    frame = encode(layout, answer_with(b"1" * 50_000), head)

    for one in (frame, memoryview(frame)):
        assert encode_in_room_of(layout, answer_with(b"2" * 50_000), head, one) == encode(
            layout, answer_with(b"2" * 50_000), head
        )


def test_room_is_given_back_when_all_of_the_memory_has_gone() -> None:
    size = 30 << 20
    room, framer, called = Room(), Framer(40 << 20), list[bool]()
    framer.enter(room, is_answer=True)
    call_when_leaving(lambda: called.append(True))
    try:
        frames = received(framer, size.to_bytes(4, "big") + bytes(size))
        assert room.used == size
        frames.clear()

        used = []
        while unmap_part():
            used.append(room.used)
        assert called == [True]
        assert used == [size] * 7
        assert (room.used, room.blocks, room.answers) == (0, 0, 0)
    finally:
        call_when_leaving(None)


def test_room_is_given_back_when_memory_leaves_for_a_kept_block() -> None:
    size = 6 << 20
    room = Room()
    framers = [Framer(10 << 20) for _ in range(2)]
    call_when_leaving(lambda: None)
    try:
        frames = []
        for framer in framers:
            framer.enter(room)
            frames.append(received(framer, size.to_bytes(4, "big") + bytes(size)))
        release_spares()
        assert room.used == 2 * size

        frames.clear()  # One block is kept for the next frame, and the other one leaves.
        while unmap_part():
            pass
        assert room.used == 0
    finally:
        call_when_leaving(None)
        release_spares()


@pytest.mark.parametrize("size", [700_000, 6 << 20], ids=["whole", "as it comes"])
def test_frame_without_room_holds_no_spare_memory(size: int) -> None:
    room = Room()
    first, second, other = (Framer(10 << 20) for _ in range(3))
    for framer in (first, second, other):
        framer.enter(room)
    head, content = size.to_bytes(4, "big"), bytes(range(256)) * (size // 256) + bytes(size % 256)
    received(first, head + content).clear()
    spare = spare_bytes()
    assert spare >= size

    held = received(other, (90_000).to_bytes(4, "big") + bytes(90_000))
    room.most = 100_000
    stream = memoryview(head + content)
    while second.see():
        buffer = second.get_buffer()
        part = min(len(buffer), 50_000)
        buffer[:part], stream = stream[:part], stream[part:]
        assert second.buffer_updated(part) == []
    assert spare - spare_bytes() < 400_000, "more than a chunk and the first of the frame"

    held.clear()
    assert second.retry()
    assert spare - spare_bytes() >= size // 2
    (frame,) = received(second, bytes(stream))
    assert bytes(frame) == content
