"""Which connection may send a request on when too many await their answers, of its tenant or of all tenants.

A connection that finds no room waits, unread, in a queue of its tenant. Whenever an answer makes room, tenants have
turns one after the other, and of each tenant its connections: one request a turn. So within a tenant a connection that
pipelines does not keep the others waiting, and a tenant at its own limit does not hold up the others.

The engine counts (`Load`); it calls here only while a connection waits. Where other processes count in the same limits,
room that they make is found by looking again.
"""

import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

from bifrost.wire.engine import Load, Spending

UNLIMITED = sys.maxsize

NewLoad = Callable[[str | None, Load | None], Load]
"""Makes the counter of a tenant's requests (None: of all requests); its second argument is the counter of all."""

LOOK_AGAIN_S = 0.002
"""Time between two looks for room that another process made: short beside a request's time at a broker."""


class Again(Protocol):
    """How to be called later."""

    def __call__(self, delay_s: float, call: Callable[[], None]) -> object:
        """Call `call` after so many seconds."""


TENANT_LIMIT, WHOLE_LIMIT = "max_in_flight_requests", "max_in_flight_requests_total"
TIME_LIMIT = "gateway_time_percent"
"""The settings, as they are called in the configuration and in the metrics."""


class Waiter(Protocol):
    """What waits for room: a ClientConnection."""

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


class InFlightLimits:
    """The requests that await an answer, and the connections that wait for room."""

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        new_load: NewLoad = lambda tenant, whole: Load(whole),
        again: Again | None = None,
        hits: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Begin with nothing, and without limits.

        Args:
            schedule: calls what it is given, a little later and not from within the call.
            new_load: makes the counters.
            again: needed where other processes count in the same limits.
            hits: where to count how often a connection had to wait, by limit and tenant.
        """
        self._schedule, self._new_load, self._again = schedule, new_load, again
        self._is_scheduled = self._looks_again = False
        self._all_waiting: dict[str, _Queue] = {}
        self.whole = new_load(None, None)
        self._queues: dict[str, _Queue] = {}
        self._most: Mapping[str, int | None] = {}
        self._turns: deque[_Queue] = deque()
        """Those of tenants with room, in the order of their turns."""
        self._spending: Spending | None = None
        self._tenant_of: dict[Load, str] = {}
        self.hits = Counter[tuple[str, str]]() if hits is None else hits
        """How often a connection had to wait, by limit and tenant; and other limits that only slow a request down."""

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

    def spend_in(self, spending: Spending) -> None:
        """Note in `spending` which tenants use time, from now on."""
        self._spending = spending
        for queue in self._queues.values():
            queue.load.spending = spending

    def tenant_of(self, load: Load) -> str:
        """Return the tenant whose requests are counted there."""
        return self._tenant_of[load]

    def have_turns(self, load: Load) -> None:
        """Let connections that wait have turns, as their tenant has time again."""
        self._have_turns(self._queues[self._tenant_of[load]])

    def load(self, tenant: str) -> Load:
        """Return what counts a tenant's requests."""
        return self._queue(tenant).load

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yield tenants and how many of their requests await an answer."""
        for tenant, queue in list(self._queues.items()):
            yield tenant, queue.load.in_flight

    def wait(self, tenant: str, waiter: Waiter) -> None:
        """Let a connection wait, if it does not wait yet."""
        queue = self._queue(tenant)
        if waiter in queue.waiting:
            return
        limit = WHOLE_LIMIT if queue.load.has_room else TENANT_LIMIT
        self.hits[TIME_LIMIT if queue.load.is_over_budget else limit, tenant] += 1
        queue.waiting[waiter] = None
        queue.load.waiting = len(queue.waiting)
        self._have_turns(queue)
        if self._again is not None:
            self._all_waiting[tenant] = queue
            self._look_again_later(self._again)

    def forget(self, tenant: str, waiter: Waiter) -> None:
        """Let a connection wait no more."""
        queue = self._queue(tenant)
        queue.waiting.pop(waiter, None)
        queue.load.waiting = len(queue.waiting)

    def _queue(self, tenant: str) -> _Queue:
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = _Queue(self._new_load(tenant, self.whole))
            queue.load.most = self._most_of(tenant)
            queue.load.on_room = partial(self._have_turns, queue)
            queue.load.spending = self._spending
            self._tenant_of[queue.load] = tenant
        return queue

    def _most_of(self, tenant: str) -> int:
        return self._most.get(tenant) or UNLIMITED

    def _have_turns(self, queue: _Queue) -> None:
        """Let connections that wait have turns soon: there may be room for them."""
        if queue.waiting and not queue.is_next and queue.load.has_room:
            queue.is_next = True
            self._turns.append(queue)
        if self._turns and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._give_turns)

    def _give_turns(self) -> None:
        self._is_scheduled = False
        whole, turns = self.whole, self._turns
        while turns and whole.has_room:
            queue = turns.popleft()
            queue.is_next = False
            if not queue.waiting or not queue.load.has_room:
                continue  # The next answer to one of its requests brings it back.
            waiter, _ = queue.waiting.popitem(last=False)
            queue.load.waiting = len(queue.waiting)
            if queue.waiting:
                queue.is_next = True
                turns.append(queue)
            waiter.take_turn()
        # From now on a connection that comes waits behind these, and the engine calls here after every answer.
        whole.waiting = len(turns)

    def _look_again_later(self, again: Again) -> None:
        if not self._looks_again:
            self._looks_again = True
            again(LOOK_AGAIN_S, self._look_again)

    def _look_again(self) -> None:
        """Look for room that another process may have made, as long as a connection waits for it."""
        assert self._again is not None
        self._looks_again = False
        self._all_waiting = {name: one for name, one in self._all_waiting.items() if one.waiting}
        for queue in self._all_waiting.values():
            self._have_turns(queue)
        if self._all_waiting:
            self._look_again_later(self._again)
