"""Which worker a new connection goes to: the one that has least to do.

A Kafka client has one connection to each broker and keeps it for hours; a few of them carry most of the work, and those
to the bootstrap port almost none. So connections are spread by the CPU time that workers used lately, not by number. A
connection that was just given to a worker counts with a guess until its CPU time shows. Where CPU times do not differ,
the connections to the same port are spread evenly.
"""

from collections import Counter
from collections.abc import Sequence

HALF_LIFE_S = 1.0
"""Time after which CPU time that was used or guessed counts half."""

GUESS = 0.05
"""Part of a CPU that a new connection is expected to need."""

EVENNESS = 0.05
"""Weight, in CPUs, of having all the connections of a port."""


class WorkerLoad:
    """The load of one worker, as far as is known."""

    def __init__(self) -> None:
        """Start without knowledge."""
        self.busy = 0.0
        """Part of a CPU that the worker used lately."""
        self._guessed = 0.0
        self._cpu_s: float | None = None
        self._now_s = 0.0
        self.at_port: Counter[object] = Counter()
        """Connections given to the worker, by port."""

    def look(self, cpu_s: float, now_s: float) -> None:
        """Note at `now_s` the CPU time that the worker has used since its start; both in seconds."""
        if self._cpu_s is not None and now_s > self._now_s:
            passed_s = now_s - self._now_s
            keep = 0.5 ** (passed_s / HALF_LIFE_S)
            self.busy = self.busy * keep + (cpu_s - self._cpu_s) / passed_s * (1 - keep)
            self._guessed *= keep
        self._cpu_s, self._now_s = cpu_s, now_s

    def give(self, port: object) -> None:
        """Note that the worker was given a connection."""
        self._guessed += GUESS
        self.at_port[port] += 1

    @property
    def expected(self) -> float:
        """Part of a CPU that the worker is expected to use now."""
        return self.busy + self._guessed


def choose(loads: Sequence[WorkerLoad], port: object) -> int:
    """Return the index of the worker that gets a new connection to `port`; `loads` is not empty."""
    at_port = sum(one.at_port[port] for one in loads) or 1

    def weight(index: int) -> tuple[float, int]:
        one = loads[index]
        return one.expected + EVENNESS * one.at_port[port] / at_port, index

    return min(range(len(loads)), key=weight)
