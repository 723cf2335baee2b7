import pytest
from bench.watched import CommandError, run_watched

BUSY = "import time, sys; kept = bytearray(64 << 20); end = time.monotonic() + 1\nwhile time.monotonic() < end: pass"


def test_a_run_tells_its_time_its_cpu_and_its_memory() -> None:
    done = run_watched("-c", BUSY)

    assert done.seconds >= 1
    assert 0 < done.cpu_s <= done.seconds * 2
    assert 64 < done.peak_mib < 1000


def test_what_it_prints_is_told_line_by_line() -> None:
    told: list[str] = []

    done = run_watched("-c", "import sys; print('a'); print('b', file=sys.stderr)", tell=told.append)

    assert sorted(told) == sorted(done.lines) == ["a", "b"]


def test_children_are_counted_too() -> None:
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}], check=True)"

    assert run_watched("-c", child).peak_mib > 64


def test_one_that_fails_says_what_it_said_last() -> None:
    with pytest.raises(CommandError, match=r"status 3(?s:.*)no such thing"):
        run_watched("-c", "print('no such thing'); raise SystemExit(3)")
