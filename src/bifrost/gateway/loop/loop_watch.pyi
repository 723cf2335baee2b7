"""Measures in C how long each turn of uvloop's event loop takes: see loop_watch.pyx."""

import asyncio

class LoopWatch:
    """Counts each turn of an event loop that takes 2 ms or more."""

    def __init__(self, counts: memoryview, marks: memoryview, bounds_ns: memoryview) -> None:
        """Watch nothing yet.

        Args:
            counts: the sum of all stalls in nanoseconds, then how many were up to each bound, then the longer ones.
            marks: the longest stall in nanoseconds, ever and since a reader set it to 0; the same of CPU time.
            bounds_ns: upper bounds of the counts, in nanoseconds.
        Raises:
            ValueError: there is not enough memory for that.
        """

    def start(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Watch a loop; return False if that is impossible because it is not uvloop's."""

    def stop(self) -> None:
        """Stop watching. Has to be called before the loop is closed."""
