"""How long single turns of the event loop kept all other connections waiting because of one client's work.

A turn is what the loop does between two waits for events. Turns of less than 2 ms are not counted: with thousands of
requests a second many of them follow each other, and each is short. `loop_watch.pyx` measures, to about a millisecond.
"""

import asyncio
from array import array
from itertools import accumulate

from bifrost.gateway.loop.loop_watch import LoopWatch

LEAST_STALL_S = 0.002
"""No request may keep the loop longer than this, so what is longer is a stall."""

STALL_BOUNDS_S = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
STALL_CELLS = len(STALL_BOUNDS_S) + 2
"""Numbers: the sum in nanoseconds, then how many stalls were up to each bound, and how many were longer."""

MARK_CELLS = 4
EVER, RECENT, EVER_CPU, RECENT_CPU = range(MARK_CELLS)
"""The longest stall in nanoseconds: since the start, since `take_recent`; and the most CPU time that one took."""

_BOUNDS_NS = array("q", (round(bound * 1e9) for bound in STALL_BOUNDS_S))


class LoopStalls:
    """The stalls of one event loop."""

    def __init__(self, counts: memoryview | None = None, marks: memoryview | None = None) -> None:
        """Count nothing yet.

        Args:
            counts: memory of STALL_CELLS numbers of 8 bytes; None: no other process reads them.
            marks: memory of MARK_CELLS numbers, likewise.
        """
        self.counts = memoryview(array("q", bytes(8 * STALL_CELLS))) if counts is None else counts
        self.marks = memoryview(array("q", bytes(8 * MARK_CELLS))) if marks is None else marks
        self._watch = LoopWatch(self.counts, self.marks, memoryview(_BOUNDS_NS))

    def start(self) -> bool:
        """Watch the running loop; return False if it is not uvloop's: then nothing is counted."""
        return self._watch.start(asyncio.get_running_loop())

    def stop(self) -> None:
        """Stop watching; has to be called before the loop is closed."""
        self._watch.stop()


def take_recent(marks: memoryview) -> tuple[float, float, float, float]:
    """Return the marks in seconds, and reset those since the last call.

    The process that stalls may write at the same moment; a mark that is lost then is in the counts all the same.
    """
    found = tuple(ns / 1e9 for ns in marks[:MARK_CELLS])
    marks[RECENT] = marks[RECENT_CPU] = 0
    return found[EVER], found[RECENT], found[EVER_CPU], found[RECENT_CPU]


def histogram(counts: "tuple[int, ...] | memoryview") -> tuple[list[tuple[str, int]], float]:
    """Return what Prometheus wants of `counts`: how many are up to each bound, and the sum in seconds."""
    below = accumulate(counts[1:STALL_CELLS])
    return list(zip((*map(str, STALL_BOUNDS_S), "+Inf"), below, strict=True)), counts[0] / 1e9
