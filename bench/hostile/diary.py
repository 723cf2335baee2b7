"""What a victim's process has written down, read by time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.hostile.victim import LINE
from bench.percentiles import percentile


@dataclass(frozen=True)
class Latencies:
    """Of what was due within some time, in milliseconds."""

    p50_ms: float
    p99_ms: float
    max_ms: float
    count: int
    failed: int


NONE = Latencies(0, 0, 0, 0, 0)


class Diary:
    """One file."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0
        self._lines: list[tuple[float, float, bool]] = []

    def between(self, begin_s: float, end_s: float) -> Latencies:
        """Return what was due from `begin_s` on and before `end_s`, by the monotonic clock."""
        self._look()
        found = [(latency, failed) for due, latency, failed in self._lines if begin_s <= due < end_s]
        if not found:
            return NONE
        values = [1000 * latency for latency, _ in found]
        failed = sum(failed for _, failed in found)
        return Latencies(percentile(values, 0.5), percentile(values, 0.99), max(values), len(values), failed)

    def await_due(self, at_s: float, timeout_s: float, is_alive: Callable[[], bool]) -> bool:
        """Wait until something is written down that was due at `at_s` or later; False: it is not, in that time."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._look()
            if self._lines and self._lines[-1][0] >= at_s:
                return True
            if time.monotonic() > deadline or not is_alive():
                return False
            time.sleep(0.02)

    def _look(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._read)
            content = file.read()
        whole = len(content) // LINE.size * LINE.size
        self._read += whole
        self._lines += LINE.iter_unpack(content[:whole])
