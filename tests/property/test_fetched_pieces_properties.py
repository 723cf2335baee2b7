"""An answer in pieces of the broker's frame is the whole answer, and holds that frame's room until it is gone."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bifrost.forwarding.room import Room
from bifrost.wire.codec import decode, encode, encode_in_pieces
from bifrost.wire.framer import Framer
from bifrost.wire.messages import FetchResponse
from bifrost.wire.programs import compile_layout

LAYOUT, HEAD = compile_layout("FetchResponse", 12), bytes(5)
FETCHED = bytes(number * 7 % 251 for number in range(180_000))
SIZES = st.sampled_from([0, 1, 61, 4_095, 4_096, 4_097, 30_000, 65_535, 65_536, 100_000])
PIECES = st.lists(st.tuples(st.booleans(), st.integers(0, 80_000), SIZES), max_size=4)
"""Of each, whether it is a slice of what was fetched; where it begins, and its size."""


def answer_with(partitions: list[Any]) -> FetchResponse:
    found = [
        FetchResponse.PartitionData(partition_index=index, records=records)
        for index, records in enumerate(partitions)
    ]
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=found)])


def received(framer: Framer, stream: bytes) -> memoryview:
    while stream:
        buffer = framer.get_buffer()
        size = min(len(buffer), len(stream))
        buffer[:size] = stream[:size]
        stream = stream[size:]
        found = framer.buffer_updated(size)
        assert framer.see()
    (frame,) = found
    assert isinstance(frame, memoryview)
    return frame


@given(st.lists(PIECES, max_size=4))
def test_pieces_are_the_whole(wanted: list[list[tuple[bool, int, int]]]) -> None:
    room, framer = Room(), Framer(1 << 20)
    framer.enter(room, is_answer=True)
    frame = received(framer, encode(LAYOUT, answer_with([FETCHED]), HEAD))
    records = decode(LAYOUT, frame, 5).responses[0].partitions[0].records
    held, parts, made = room.used, list[Any](), tuple[Any, ...]()
    for pieces in wanted:
        made = tuple(
            records[begin : begin + size] if is_slice else bytes(size) for is_slice, begin, size in pieces
        )
        parts.append(made[0] if len(made) == 1 else made)
    expected = encode(
        LAYOUT, answer_with([b"".join(one) if type(one) is tuple else one for one in parts]), HEAD
    )
    elsewhere = len(expected) - sum(len(one) for one in _slices(parts) if len(one) >= 4_096)

    found = encode_in_pieces(LAYOUT, answer_with(parts), HEAD, frame)
    del frame, records, parts, made

    assert b"".join(found) == expected
    assert isinstance(found[0], bytes | memoryview)
    if len(found) > 1:
        assert elsewhere <= 65_536
        assert room.used == (held if elsewhere < len(expected) else 0)
    del found
    assert room.used == room.answers == 0


def _slices(parts: list[Any]) -> list[memoryview]:
    flat = [piece for one in parts for piece in (one if type(one) is tuple else (one,))]
    return [piece for piece in flat if isinstance(piece, memoryview)]
