"""Takes leave of connections that have ended, so many in each turn of the event loop as take a millisecond.

The loop reports up to 1,024 closed sockets in one turn. To release what one connection has (its place in the limits,
its counters, its journal rows, its broker's connection) takes some 30 us, so a client that closes a thousand at once
would keep all others waiting for 30 ms. The sockets themselves are closed by then; only the records of them wait here.
"""

from collections import deque
from collections.abc import Callable

from bifrost.gateway.loop.loop_guard import report

BUDGET_NS = 1_000_000
"""Time for departures in one turn of the loop."""


class Departures:
    """The connections that have ended and are still to be released."""

    def __init__(self, schedule: Callable[[Callable[[], None]], object], now_ns: Callable[[], int]) -> None:
        """Begin with none.

        Args:
            schedule: calls what it is given in the next turn of the event loop.
            now_ns: a monotonic clock, in nanoseconds.
        """
        self._schedule, self._now_ns = schedule, now_ns
        self._waiting: deque[Callable[[], None]] = deque()
        self._until_ns = 0
        self._is_scheduled = False

    def __len__(self) -> int:
        """Return how many wait; never more than connections may be open."""
        return len(self._waiting)

    def add(self, release: Callable[[], None]) -> None:
        """Call `release` at once if there is time in this turn, else in one of the next, in this order."""
        if not self._is_scheduled:
            self._until_ns = self._now_ns() + BUDGET_NS
            self._soon()
        if self._waiting or self._now_ns() >= self._until_ns:
            self._waiting.append(release)
        else:
            release()

    def _soon(self) -> None:
        self._is_scheduled = True
        self._schedule(self._next)

    def _next(self) -> None:
        """Begin a turn: release connections as long as there is time."""
        self._is_scheduled = False
        if not self._waiting:
            return
        self._soon()
        self._until_ns = self._now_ns() + BUDGET_NS
        while self._waiting and self._now_ns() < self._until_ns:
            try:
                self._waiting.popleft()()
            except Exception as error:
                report("end_of_connection", error)
