"""Whose requests are routed next, of all connections at single addresses: Python code routes each, and takes its time.

    a client's frames ──▶ routed at once, if they are few and small, and no connection of its tenant waits
                      └─▶ wait ──▶ a request of each tenant in turn, and of each connection in a tenant's turns,
                                   for half a millisecond in a turn of the loop

Without it the requests that some connections pipeline would keep all others waiting, for as long as routing them takes.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.loop.loop_turn import turn_of as turn_of_loop

AT_ONCE = 4
"""Requests that a connection may have routed as they arrive: more are not a client's that awaits answers."""

AT_ONCE_BYTES = 64 * 1024
"""So large they may be together: a larger request may name thousands of topics, and connections may send one each."""

SLICE_NS, LEAST_NS = 500_000, 200_000
"""How long requests are routed in one turn of the loop, as `HOT_STEPS` of the lanes; and how long where other kinds of
work have used the turn up."""

RouteOne = Callable[[], bool]
"""Routes one request of a connection; returns whether it has more."""


def count_at_once(frames: Sequence[Sequence[bytes | memoryview]]) -> int:
    """Return how many of a connection's frames may be routed as they arrive, the first ones."""
    left = AT_ONCE_BYTES
    for count, frame in enumerate(frames[:AT_ONCE]):
        left -= sum(map(len, frame))
        if left < 0:
            return count
    return min(len(frames), AT_ONCE)


class RouteTurns:
    """The connections whose requests wait to be routed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for nothing yet."""
        self._loop, self._turn = loop, turn_of_loop(loop)
        self.waiting: dict[str | None, deque[RouteOne]] = {}
        """By tenant; the first one has its turn."""
        self._is_due = False

    def __bool__(self) -> bool:
        """Whether requests wait."""
        return bool(self.waiting)

    def has(self, tenant: str | None) -> bool:
        """Whether requests of a tenant wait."""
        return tenant in self.waiting

    def wait(self, tenant: str | None, route_one: RouteOne) -> None:
        """Route the requests of a connection, in turn with those of others."""
        self.waiting.setdefault(tenant, deque()).append(route_one)
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._go_on)

    async def all_of(self, tenant: str | None, step: Callable[[], bool]) -> None:
        """Do a long work of a connection, a step in each of its turns.

        Args:
            tenant: the connection's.
            step: does a part of the work, less than a millisecond long; returns whether there are more.
        """
        done: asyncio.Future[None] = self._loop.create_future()

        def go_on() -> bool:
            if done.done():  # The connection has ended, and waits no more.
                return False
            try:
                if step():
                    return True
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)
            return False

        self.wait(tenant, go_on)
        await done

    def _go_on(self) -> None:
        self._is_due = False
        until_ns = self._turn.until_ns(SLICE_NS, LEAST_NS)
        while self.waiting and monotonic_ns() < until_ns:
            tenant = next(iter(self.waiting))
            connections = self.waiting[tenant]
            route_one = connections.popleft()
            if route_one():
                connections.append(route_one)
            del self.waiting[tenant]
            if connections:
                self.waiting[tenant] = connections  # Behind the others.
        if self.waiting and not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._go_on)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, RouteTurns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> RouteTurns:
    """Return the turns of an event loop, the same for all connections."""
    found = _TURNS.get(loop)
    if found is None:
        found = _TURNS[loop] = RouteTurns(loop)
    return found
