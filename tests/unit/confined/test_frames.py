from typing import Any

import pytest

from bifrost.confined.frames import (
    LENGTHS,
    MAX_HEAD_BYTES,
    BrokenFrame,
    Frame,
    pack,
    read_head,
    read_lengths,
    views_of,
)


def received(pieces: Any) -> Frame:
    data = b"".join(bytes(piece) for piece in pieces)
    head, buffers = read_lengths(data[: LENGTHS.size], 1_000)
    assert len(data) == LENGTHS.size + head + buffers
    return Frame(read_head(data[LENGTHS.size : LENGTHS.size + head]), memoryview(data)[LENGTHS.size + head :])


def test_parts_arrive_as_they_were_and_a_view_that_is_there_twice_is_sent_once() -> None:
    data, empty = memoryview(b"0123456789"), memoryview(b"")
    parts = [data, empty, None, data, memoryview(b"xy")]

    frame = received(pack({"topic": "orders"}, parts))

    assert frame.head["topic"] == "orders"
    assert len(frame.buffers) == 12
    assert [None if one is None else bytes(one) for one in views_of(frame)] == [
        None if one is None else bytes(one) for one in parts
    ]


def test_a_message_without_a_batch_has_a_head_alone() -> None:
    frame = received(pack({"ready": True}))

    assert frame.head["ready"] is True
    assert len(frame.buffers) == 0


@pytest.mark.parametrize(("head", "buffers"), [(MAX_HEAD_BYTES + 1, 0), (10, 1_001), (2**32 - 1, 2**64 - 1)])
def test_lengths_have_bounds(head: int, buffers: int) -> None:
    with pytest.raises(BrokenFrame):
        read_lengths(LENGTHS.pack(head, buffers), 1_000)


@pytest.mark.parametrize("head", [b"", b"{", b"[]", b"\xff"])
def test_what_is_no_head_is_refused(head: bytes) -> None:
    with pytest.raises(BrokenFrame):
        read_head(head)


NOTHING = [-1] * 5


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"sizes": []},
        {"sizes": [5], "places": NOTHING},
        {"sizes": [-1], "places": NOTHING},
        {"sizes": [2, 3], "places": NOTHING},
        {"sizes": ["1"], "places": NOTHING},
        {"sizes": [True], "places": NOTHING},
        {"sizes": [1], "places": [1, *NOTHING[1:]]},
        {"sizes": [1], "places": [0.0, *NOTHING[1:]]},
    ],
)
def test_parts_that_are_not_there_are_refused(head: dict[str, Any]) -> None:
    with pytest.raises(BrokenFrame):
        views_of(Frame(head, memoryview(b"abcd")))
