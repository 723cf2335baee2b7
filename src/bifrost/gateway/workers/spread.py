"""Which worker a new connection goes to: the one that has least to do.

A Kafka client has one connection to each broker and keeps it for hours; a few of them carry most of the work, and those
to the bootstrap port next to none. So it is not connections that are shared out but CPU time, as it was spent lately;
what has just been given to a worker counts as a guess until it shows. Where that says nothing, the connections to the
same port are spread evenly.
"""

from collections import Counter
from collections.abc import Sequence

HALF_LIFE_S = 1.0
"""Time in which what was spent, and what was guessed, counts half."""

GUESS = 0.05
"""Part of a CPU that a new connection is thought to need."""

EVENNESS = 0.05
"""What it weighs, in CPUs, to have all the connections of a port."""


class WorkerLoad:
    """What one worker has to do, as far as is known."""

    def __init__(self) -> None:
        """Know nothing of it."""
        self.busy = 0.0
        """Part of a CPU that it used lately."""
        self._guessed = 0.0
        self._cpu_s: float | None = None
        self._now_s = 0.0
        self.at_port: Counter[object] = Counter()
        """Connections given to it, by port."""

    def look(self, cpu_s: float, now_s: float) -> None:
        """Take note of the CPU time that it has used since it began, at a time; both in seconds."""
        if self._cpu_s is not None and now_s > self._now_s:
            passed_s = now_s - self._now_s
            keep = 0.5 ** (passed_s / HALF_LIFE_S)
            self.busy = self.busy * keep + (cpu_s - self._cpu_s) / passed_s * (1 - keep)
            self._guessed *= keep
        self._cpu_s, self._now_s = cpu_s, now_s

    def give(self, port: object) -> None:
        """Note that it was given a connection."""
        self._guessed += GUESS
        self.at_port[port] += 1

    @property
    def expected(self) -> float:
        """Part of a CPU that it is thought to use now."""
        return self.busy + self._guessed


def choose(loads: Sequence[WorkerLoad], port: object) -> int:
    """Return the index of the one that a new connection to `port` goes to; there is at least one."""
    at_port = sum(one.at_port[port] for one in loads) or 1

    def weight(index: int) -> tuple[float, int]:
        one = loads[index]
        return one.expected + EVENNESS * one.at_port[port] / at_port, index

    return min(range(len(loads)), key=weight)
