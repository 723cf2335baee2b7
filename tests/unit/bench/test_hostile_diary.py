"""What the victim has written down, read by time, also while it is being written."""

from pathlib import Path

from bench.hostile.diary import NONE, Diary
from bench.hostile.victim import LINE


def test_latencies_are_of_what_was_due_within_the_time(tmp_path: Path) -> None:
    path = tmp_path / "diary"
    lines = [LINE.pack(at / 100, at / 1000, at == 7) for at in range(10)]
    path.write_bytes(b"".join(lines[:8]) + lines[8][:5])
    diary = Diary(path)

    found = diary.between(0.02, 0.08)
    assert (found.count, found.failed, found.max_ms) == (6, 1, 7.0)
    assert diary.between(5, 6) == NONE
    assert not diary.await_due(0.08, 0.0, lambda: True)

    path.write_bytes(b"".join(lines))
    assert diary.await_due(0.09, 1.0, lambda: True)
    assert diary.between(0.08, 1).count == 2
