"""Spreads short work for many connections over turns of the event loop: so much in each as takes a millisecond.

The loop reports up to 1,024 sockets in one turn. What is done for each may be short, and still keep all other
connections waiting when a client causes it a thousand times at once:

* the end of a connection: to release what it has (its place in the limits, its counters, its journal rows, its
  broker's connection) takes some 30 us. The socket itself is closed by then;
* a step of a TLS handshake takes 0.1 to 1 ms;
* a client's connection that has sent its first bytes gets its session;
* a connection to a broker takes 0.3 ms, to begin it and when it is there. What is done for one comes after the call, in
  other turns, so not only the time of the calls is limited but also their number.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.turns import undivided
from bifrost.gateway.loop.loop_guard import report

BUDGET_NS = 1_000_000
"""Time for the calls in one turn of the loop."""
LEAST_NS = 100_000
"""Time for them where other kinds of work have used the turn up: one call, or some short ones."""
LEAST_OF_ENDS_NS = 400_000
"""The same for ends of connections: some ten. If fewer ended than begin in a turn (ports.py), those that are gone would
keep the places of those that come."""

CONNECTIONS_AT_ONCE = 4
"""Connections to brokers that begin in one turn of the loop: a millisecond's work, then and when they are there."""


ARRIVALS_AT_ONCE = 16
"""Connections that get from a port to a session in one turn: each takes 10 to 40 us after its call."""


class PacedCalls:
    """Calls that wait for their turn."""

    def __init__(
        self,
        place: str,
        schedule: Callable[[Callable[[], None]], object],
        now_ns: Callable[[], int],
        most: int = sys.maxsize,
        turn_until_ns: Callable[[int, int], int] | None = None,
        least_ns: int = LEAST_NS,
    ) -> None:
        """Begin with none.

        Args:
            place: what is called, for the report of a call that fails.
            schedule: calls what it is given in the next turn of the event loop.
            now_ns: a monotonic clock, in nanoseconds.
            most: calls in one turn.
            turn_until_ns: returns until when a work may go on that may take so long in a turn of the loop, and so long
                in any case; None: nothing else uses the turn.
            least_ns: time for the calls in any case, in nanoseconds.
        """
        self._turn_until_ns = turn_until_ns or undivided(now_ns)
        self._place, self._schedule, self._now_ns, self._most = place, schedule, now_ns, most
        self._least_ns = least_ns
        self._waiting: deque[Callable[[], None]] = deque()
        self._until_ns = self._left = 0
        self._is_scheduled = False

    def __len__(self) -> int:
        """Return how many wait; never more than connections may be open."""
        return len(self._waiting)

    def add(self, call: Callable[[], None]) -> None:
        """Call at once if there is time in this turn, else in one of the next, in this order."""
        if not self._is_scheduled:
            self._begin_turn()
        if self._waiting or not self._take_place():
            self._waiting.append(call)
        else:
            call()

    async def turn(self) -> None:
        """Return when a call would come: what follows begins in the same turn of the loop or in the next."""
        has_come = asyncio.get_running_loop().create_future()

        def come() -> None:
            if not has_come.done():  # It may have been cancelled.
                has_come.set_result(None)

        self.add(come)
        await has_come

    def _begin_turn(self) -> None:
        self._left = self._most
        self._until_ns = self._turn_until_ns(BUDGET_NS, self._least_ns)
        self._is_scheduled = True
        self._schedule(self._next)

    def _take_place(self) -> bool:
        """Whether there may be one more call in this turn; then it counts."""
        if self._left <= 0 or self._now_ns() >= self._until_ns:
            return False
        self._left -= 1
        return True

    def _next(self) -> None:
        """Begin a turn: call as long as there is time."""
        self._is_scheduled = False
        if not self._waiting:
            return
        self._begin_turn()
        while self._waiting and self._take_place():
            try:
                self._waiting.popleft()()
            except Exception as error:
                report(self._place, error)


def paced_calls(
    schedule: Callable[[Callable[[], None]], object], turn_until_ns: Callable[[int, int], int]
) -> tuple[PacedCalls, PacedCalls, PacedCalls, PacedCalls]:
    """Return what paces the ends of connections, steps of TLS handshakes, connections to brokers, and arrivals.

    Args:
        schedule: calls what it is given in the next turn of the event loop.
        turn_until_ns: see `PacedCalls`.
    """
    return (
        PacedCalls(
            "end_of_connection",
            schedule,
            monotonic_ns,
            turn_until_ns=turn_until_ns,
            least_ns=LEAST_OF_ENDS_NS,
        ),
        PacedCalls("tls_handshake", schedule, monotonic_ns, turn_until_ns=turn_until_ns),
        PacedCalls("connect", schedule, monotonic_ns, CONNECTIONS_AT_ONCE, turn_until_ns),
        PacedCalls("arrival", schedule, monotonic_ns, ARRIVALS_AT_ONCE, turn_until_ns),
    )
