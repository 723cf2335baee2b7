"""CPU time of what is called again and again."""

import time
from collections.abc import Callable

ROUND_S = 0.15


def speed(way: Callable[[], object], size: int) -> float:
    """Return the MB/s at which something is done with that many bytes, by CPU time."""
    times, started = 0, time.process_time()
    while (spent := time.process_time() - started) < ROUND_S:
        for _ in range(10):
            way()
        times += 10
    return times * size / spent / 1e6
