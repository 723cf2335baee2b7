"""The throttle time that is written into an answer whose frame is in segments already."""

import pytest

from bifrost.forwarding.quotas.told_throttle import put_throttle


def answer(throttle_ms: int, size: int = 20) -> list[bytes | memoryview]:
    """An answer in one segment, which is new: its length, a correlation ID, the throttle time, more."""
    return [bytes(8) + throttle_ms.to_bytes(4, "big") + bytes(range(1, size - 11))]


@pytest.mark.parametrize(("known_ms", "told_ms"), [(0, 7), (3, 70_000), (70_000, 3)])
def test_the_longer_time_is_told(known_ms: int, told_ms: int) -> None:
    segments = answer(known_ms)

    put_throttle(segments, 8, told_ms)

    assert segments == answer(max(known_ms, told_ms))


@pytest.mark.parametrize("at", [5, 8, 9])
def test_a_slice_of_the_frame_stays_as_it_is(at: int) -> None:
    frame = bytes(range(200))
    segments: list[bytes | memoryview] = [bytes(4), memoryview(frame), b"more"]

    put_throttle(segments, at, 2**31 - 1)

    told = bytearray(bytes(4) + frame + b"more")
    told[at : at + 4] = b"\x7f\xff\xff\xff"
    assert b"".join(segments) == told
    assert frame == bytes(range(200))
    assert isinstance(segments[0], bytes)
    assert len(segments[1]) == 4 + 200 - at - 4
