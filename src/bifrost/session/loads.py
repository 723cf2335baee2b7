"""Which connection may send a request on when too many await their answers, of its tenant or of all tenants.

A connection that finds no room waits, unread, in a queue of its tenant. Whenever an answer makes room, tenants have
turns one after the other, and of each tenant its connections: one request a turn. So within a tenant a connection that
pipelines does not keep the others waiting, and a tenant at its own limit waits in nobody's way.

Counting is the engine's (`Load`), which calls here only while somebody waits.
"""

import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

from bifrost.wire.engine import Load

UNLIMITED = sys.maxsize

TENANT_LIMIT, WHOLE_LIMIT = "max_in_flight_requests", "max_in_flight_requests_total"
"""The settings, as they are called in the configuration and in the metrics."""


class Waiter(Protocol):
    """Who waits for room: a ClientConnection."""

    def take_turn(self) -> None:
        """Send one request on that was held."""


class _Queue:
    """One tenant's connections that wait."""

    __slots__ = ("is_next", "load", "waiting")

    def __init__(self, load: Load) -> None:
        self.load = load
        self.waiting: OrderedDict[Waiter, None] = OrderedDict()
        self.is_next = False
        """Whether it is among those that have turns."""


class Loads:
    """What awaits an answer, and who waits for room."""

    def __init__(self, schedule: Callable[[Callable[[], None]], object]) -> None:
        """Begin with nothing, and without limits.

        Args:
            schedule: calls what it is given, a little later and not from within the call.
        """
        self._schedule = schedule
        self._is_scheduled = False
        self.whole = Load()
        self._queues: dict[str, _Queue] = {}
        self._most: Mapping[str, int | None] = {}
        self._turns: deque[_Queue] = deque()
        """Those of tenants with room, in the order of their turns."""
        self.hits: Counter[tuple[str, str]] = Counter()
        """How often a connection had to wait, by limit and tenant."""

    def limit(self, most: int, most_of: Mapping[str, int | None]) -> None:
        """Set the limits, or change them.

        Args:
            most: requests of all tenants together.
            most_of: those of a tenant, by its name; None for no limit of its own.
        """
        self.whole.most = most
        self._most = most_of
        for tenant, queue in self._queues.items():
            queue.load.most = self._most_of(tenant)
            self._have_turns(queue)

    def load(self, tenant: str) -> Load:
        """Return what counts a tenant's requests."""
        return self._queue(tenant).load

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yield tenants and how many of their requests await an answer."""
        for tenant, queue in list(self._queues.items()):
            yield tenant, queue.load.in_flight

    def wait(self, tenant: str, waiter: Waiter) -> None:
        """Let somebody wait, if he does not yet."""
        queue = self._queue(tenant)
        if waiter in queue.waiting:
            return
        is_tenants = queue.load.in_flight >= queue.load.most
        self.hits[TENANT_LIMIT if is_tenants else WHOLE_LIMIT, tenant] += 1
        queue.waiting[waiter] = None
        queue.load.waiting = len(queue.waiting)
        self._have_turns(queue)

    def forget(self, tenant: str, waiter: Waiter) -> None:
        """Let somebody wait no more."""
        queue = self._queue(tenant)
        queue.waiting.pop(waiter, None)
        queue.load.waiting = len(queue.waiting)

    def _queue(self, tenant: str) -> _Queue:
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = _Queue(Load(self.whole))
            queue.load.most = self._most_of(tenant)
            queue.load.on_room = partial(self._have_turns, queue)
        return queue

    def _most_of(self, tenant: str) -> int:
        return self._most.get(tenant) or UNLIMITED

    def _have_turns(self, queue: _Queue) -> None:
        """Let those who wait have turns soon: there may be room for them."""
        if queue.waiting and not queue.is_next and queue.load.in_flight < queue.load.most:
            queue.is_next = True
            self._turns.append(queue)
        if self._turns and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._give_turns)

    def _give_turns(self) -> None:
        self._is_scheduled = False
        whole, turns = self.whole, self._turns
        while turns and whole.in_flight < whole.most:
            queue = turns.popleft()
            queue.is_next = False
            if not queue.waiting or queue.load.in_flight >= queue.load.most:
                continue  # The next answer to one of its requests brings it back.
            waiter, _ = queue.waiting.popitem(last=False)
            queue.load.waiting = len(queue.waiting)
            if queue.waiting:
                queue.is_next = True
                turns.append(queue)
            waiter.take_turn()
        # From now on whoever comes waits behind these, and every answer is heard of.
        whole.waiting = len(turns)
