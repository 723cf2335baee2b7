"""Spreads short work for many connections over turns of the event loop: so much in each as takes a millisecond.

The loop reports up to 1,024 sockets in one turn. What is done for each may be short, and still keep all other
connections waiting when a client causes it a thousand times at once:

* the end of a connection: to release what it has (its place in the limits, its counters, its journal rows, its
  broker's connection) takes some 30 us. The socket itself is closed by then;
* a step of a TLS handshake takes 0.1 to 1 ms.
"""

from collections import deque
from collections.abc import Callable

from bifrost.gateway.loop.loop_guard import report

BUDGET_NS = 1_000_000
"""Time for the calls in one turn of the loop."""


class PacedCalls:
    """Calls that wait for their turn."""

    def __init__(
        self, place: str, schedule: Callable[[Callable[[], None]], object], now_ns: Callable[[], int]
    ) -> None:
        """Begin with none.

        Args:
            place: what is called, for the report of a call that fails.
            schedule: calls what it is given in the next turn of the event loop.
            now_ns: a monotonic clock, in nanoseconds.
        """
        self._place, self._schedule, self._now_ns = place, schedule, now_ns
        self._waiting: deque[Callable[[], None]] = deque()
        self._until_ns = 0
        self._is_scheduled = False

    def __len__(self) -> int:
        """Return how many wait; never more than connections may be open."""
        return len(self._waiting)

    def add(self, call: Callable[[], None]) -> None:
        """Call at once if there is time in this turn, else in one of the next, in this order."""
        if not self._is_scheduled:
            self._until_ns = self._now_ns() + BUDGET_NS
            self._soon()
        if self._waiting or self._now_ns() >= self._until_ns:
            self._waiting.append(call)
        else:
            call()

    def _soon(self) -> None:
        self._is_scheduled = True
        self._schedule(self._next)

    def _next(self) -> None:
        """Begin a turn: call as long as there is time."""
        self._is_scheduled = False
        if not self._waiting:
            return
        self._soon()
        self._until_ns = self._now_ns() + BUDGET_NS
        while self._waiting and self._now_ns() < self._until_ns:
            try:
                self._waiting.popleft()()
            except Exception as error:
                report(self._place, error)
