"""Answers that are encoded into memory for which room was taken: they count until they are let go."""

import pytest

from bifrost.forwarding.room import Room
from bifrost.wire.codec import encode, encode_in_taken_room
from bifrost.wire.framer import take_room
from bifrost.wire.messages import FetchResponse
from bifrost.wire.programs import compile_layout

LAYOUT = compile_layout("FetchResponse", 12)
HEAD = bytes(5)
COUNTED = 32_769
"""Bytes of the smallest answer that counts."""


def answer(size: int) -> FetchResponse:
    some = [
        FetchResponse.PartitionData(partition_index=index, records=bytes(size // 2)) for index in range(2)
    ]
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="orders", partitions=some)])


@pytest.mark.parametrize("size", [COUNTED, 262_144, 1_048_576, 5_000_001])
def test_an_answer_is_written_as_ever_and_counts_until_it_is_let_go(size: int) -> None:
    room = Room()
    taken = take_room(room, size)
    assert taken is not None

    frame = encode_in_taken_room(LAYOUT, answer(size), HEAD, taken)
    del taken
    assert bytes(frame) == encode(LAYOUT, answer(size), HEAD)
    assert room.used == size
    part = frame[4:100]
    del frame
    assert room.used == size
    del part
    assert room.used == 0


def test_room_that_is_not_used_is_given_back() -> None:
    room = Room()
    taken = take_room(room, 100_000)

    assert room.used == 100_000
    del taken
    assert room.used == 0


def test_room_is_given_back_where_the_answer_is_smaller_than_was_expected() -> None:
    room = Room()
    taken = take_room(room, 100_000)
    assert taken is not None

    assert encode_in_taken_room(LAYOUT, answer(100), HEAD, taken) == encode(LAYOUT, answer(100), HEAD)
    del taken
    assert room.used == 0


def test_room_that_was_taken_is_used_once() -> None:
    room = Room()
    taken = take_room(room, 100_000)
    assert taken is not None

    first = encode_in_taken_room(LAYOUT, answer(100_000), HEAD, taken)
    second = encode_in_taken_room(LAYOUT, answer(100_000), HEAD, taken)
    assert first == second
    assert room.used == 100_000
    del first
    assert room.used == 0


def test_small_answers_take_no_room() -> None:
    room = Room(None, 0)

    assert take_room(room, COUNTED - 1) is not None
    assert room.used == 0


def test_without_room_nothing_is_taken() -> None:
    whole = Room(None, 3_000_000)
    room = Room(whole)
    # An answer finds room in any case if there is no other.
    first = take_room(room, 2_000_000)

    assert take_room(room, 2_000_000) is None
    assert (room.used, whole.used) == (2_000_000, 2_000_000)
    del first
    assert (room.used, whole.used) == (0, 0)
    assert take_room(room, 2_000_000) is not None
