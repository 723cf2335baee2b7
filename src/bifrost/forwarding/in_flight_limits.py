"""Limits the requests that await an answer, per tenant and for all tenants, and decides which connection sends next.

A connection that finds no room is not read and waits in a queue of its tenant. Whenever an answer makes room, tenants
take turns, and within each tenant its connections do: one request per turn. So within a tenant a connection that
pipelines does not keep the others waiting, and a tenant at its own limit does not hold up the others.

The engine counts (`Load`); it calls here only while a connection waits. Where other processes count in the same limits,
a timer looks for room that they have made.
"""

import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Protocol

from bifrost.forwarding.load import Load, Spending

UNLIMITED = sys.maxsize

NewLoad = Callable[[str | None, Load | None], Load]
"""Makes the counter of a tenant's requests (None: of all tenants' requests); the second argument is that of all."""

LOOK_AGAIN_S = 0.002
"""Time between two looks for room that another process made: short against a request's time at a broker."""


class Again(Protocol):
    """A timer."""

    def __call__(self, delay_s: float, call: Callable[[], None]) -> object:
        """Call `call` after `delay_s` seconds."""


TENANT_LIMIT, TOTAL_LIMIT = "max_in_flight_requests", "max_in_flight_requests_total"
TIME_LIMIT, BROKER_TIME_LIMIT = "gateway_time_percent", "broker_time_percent"
"""Names of the settings in the configuration and in the metrics."""


class Waiter(Protocol):
    """What waits for room: a ClientConnection."""

    def take_turn(self) -> None:
        """Send one held request on."""


class _Queue:
    """The waiting connections of one tenant."""

    __slots__ = ("is_next", "load", "waiting")

    def __init__(self, load: Load) -> None:
        self.load = load
        self.waiting: OrderedDict[Waiter, None] = OrderedDict()
        self.is_next = False
        """Whether the tenant is in the queue of turns."""


def _limit_hit(load: Load) -> str:
    if load.is_over_budget:
        return TIME_LIMIT
    if load.broker_left_ns <= 0:
        return BROKER_TIME_LIMIT
    return TOTAL_LIMIT if load.has_room else TENANT_LIMIT


class InFlightLimits:
    """The requests that await an answer, and the connections that wait for room."""

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        new_load: NewLoad = lambda tenant, of_all: Load(of_all),
        again: Again | None = None,
        hits: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Begin without requests and without limits.

        Args:
            schedule: calls the given function a little later, not from within the call.
            new_load: makes the counters.
            again: needed where other processes count in the same limits.
            hits: where to count how often a connection had to wait, by limit and tenant.
        """
        self._schedule, self._new_load, self._again = schedule, new_load, again
        self._is_scheduled = self._looks_again = False
        self._all_waiting: dict[str, _Queue] = {}
        self.of_all = new_load(None, None)
        self._queues: dict[str, _Queue] = {}
        self._most: Mapping[str, int | None] = {}
        self._turns: deque[_Queue] = deque()
        """The queues of tenants with room, in the order of their turns."""
        self._spending: Spending | None = None
        self._note_short: Callable[[Load], None] = lambda load: None
        self._tenant_of: dict[Load, str] = {}
        self.hits = Counter[tuple[str, str]]() if hits is None else hits
        """How often a connection had to wait, by limit and tenant; also for limits that only slow requests down."""

    def limit(self, most: int, most_of: Mapping[str, int | None]) -> None:
        """Set the limits, or change them.

        Args:
            most: most requests of all tenants together.
            most_of: most requests of a tenant that has a limit of its own, by its name.
        """
        former, self._most = self._most, most_of
        changed: Iterable[str] = former.keys() | most_of.keys()
        if most != self.of_all.most:
            self.of_all.most, changed = most, tuple(self._queues)
        for tenant in changed:
            queue = self._queues.get(tenant)
            if queue is not None:
                queue.load.most = self._most_of(tenant)
                self._have_turns(queue)

    def spend_in(self, spending: Spending, note_short: Callable[[Load], None]) -> None:
        """From now on note in `spending` which tenants use time.

        Args:
            spending: where to note it.
            note_short: called when a tenant's connections wait and it has no time left at the brokers.
        """
        self._spending, self._note_short = spending, note_short
        for queue in self._queues.values():
            queue.load.spending = spending

    def tenant_of(self, load: Load) -> str:
        """Return the tenant whose requests `load` counts."""
        return self._tenant_of[load]

    def have_turns(self, load: Load) -> None:
        """Give turns to the tenant's waiting connections, because it has time again."""
        self._have_turns(self._queues[self._tenant_of[load]])

    def load(self, tenant: str) -> Load:
        """Return the counter of a tenant's requests."""
        return self._queue(tenant).load

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Yield each tenant and the number of its requests that await an answer."""
        for tenant, queue in list(self._queues.items()):
            yield tenant, queue.load.in_flight

    def wait(self, tenant: str, waiter: Waiter) -> None:
        """Queue a connection for room, if it is not queued yet."""
        queue = self._queue(tenant)
        if waiter in queue.waiting:
            return
        self.hits[_limit_hit(queue.load), tenant] += 1
        queue.waiting[waiter] = None
        queue.load.waiting = len(queue.waiting)
        self._have_turns(queue)
        if self._again is not None:
            self._all_waiting[tenant] = queue
            self._look_again_later(self._again)

    def forget(self, tenant: str, waiter: Waiter) -> None:
        """Remove a connection from its tenant's queue."""
        queue = self._queue(tenant)
        queue.waiting.pop(waiter, None)
        queue.load.waiting = len(queue.waiting)

    def _queue(self, tenant: str) -> _Queue:
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = _Queue(self._new_load(tenant, self.of_all))
            queue.load.most = self._most_of(tenant)
            queue.load.on_room = partial(self._have_turns, queue)
            queue.load.spending = self._spending
            self._tenant_of[queue.load] = tenant
        return queue

    def _most_of(self, tenant: str) -> int:
        return self._most.get(tenant) or UNLIMITED

    def _have_turns(self, queue: _Queue) -> None:
        """Schedule turns for the waiting connections: there may be room for them."""
        if queue.waiting and not queue.is_next:
            if queue.load.has_room:
                queue.is_next = True
                self._turns.append(queue)
            else:
                self._wait_for_broker_time(queue)
        if self._turns and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._give_turns)

    def _wait_for_broker_time(self, queue: _Queue) -> None:
        """Ask for turns when the tenant has time at the brokers again, if it has none now: no answer may be due."""
        if queue.load.broker_left_ns <= 0:
            self._note_short(queue.load)

    def _give_turns(self) -> None:
        self._is_scheduled = False
        of_all, turns = self.of_all, self._turns
        while turns and of_all.has_room:
            queue = turns.popleft()
            queue.is_next = False
            if not queue.waiting:
                continue
            if not queue.load.has_room:
                # The next answer to one of the tenant's requests puts it into the queue again, or more time does.
                self._wait_for_broker_time(queue)
                continue
            waiter, _ = queue.waiting.popitem(last=False)
            queue.load.waiting = len(queue.waiting)
            if queue.waiting:
                queue.is_next = True
                turns.append(queue)
            waiter.take_turn()
        # From now on new connections wait behind these, and the engine calls here after every answer.
        of_all.waiting = len(turns)

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
