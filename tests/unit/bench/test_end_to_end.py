"""The parts of the open loop that need no socket."""

from bench.end_to_end import Frames, end_after
from bench.frames import record_batch


def _batch(base_offset: int, size: int) -> tuple[bytes, int]:
    batch, count = record_batch(size, 100)
    return base_offset.to_bytes(8, "big") + batch[8:], count


def test_the_end_is_behind_the_last_whole_batch() -> None:
    first, count = _batch(10, 1000)
    second, more = _batch(10 + count, 400)

    assert count > 1
    assert end_after(first + second) == 10 + count + more
    assert end_after(first + second[:-1]) == 10 + count
    assert end_after(first[:20]) == -1
    assert end_after(b"") == -1


def test_frames_are_whole_however_they_come() -> None:
    sent = b"\0\0\0\3one\0\0\0\0\0\0\0\5three"

    for step in (1, 2, 5, len(sent)):
        frames = Frames()
        parts = [sent[at : at + step] for at in range(0, len(sent), step)]
        assert [one for part in parts for one in frames.feed(part)] == [b"one", b"", b"three"]
