"""Turns for large work: slices of a millisecond, between which the event loop serves all other connections.

A message that needs no decision takes no turn: it passes at once. For the rest there is one slice in each round of the
event loop. Work that comes while no connection waits begins at once, within the slice. What is not done by then waits
in a queue of its tenant. Tenants have turns one after the other; who is done early leaves the rest of the slice to the
next. Within a tenant the connection that came first has all turns until its work is done: so a tenant keeps one large
request in memory, and its other requests wait behind it.

The counterpart is `Work`, which does the slices.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Protocol

from bifrost.forwarding.load import Load

SLICE_NS = 1_000_000
"""One slice, 1 ms: short beside the latencies of a broker, long beside what it costs to change over."""
LEAST_NS = 300_000
"""A slice where other kinds of work have used the turn of the loop up, 0.3 ms."""
PAUSE_S = 0.001
"""Behind a slice of a tenant over its budget: so it has a half of the time or less, as its budget by default."""


class Worker(Protocol):
    """What has work: a ClientConnection."""

    def take_slice(self) -> bool:
        """Work for a slice; return whether it waits for another."""


def undivided(now_ns: Callable[[], int]) -> Callable[[int, int], int]:
    """Return what says until when a work may go on where no other uses the turn of the loop: as long as it may take.

    Args:
        now_ns: a monotonic clock, in nanoseconds.
    """
    return lambda most_ns, _least_ns: now_ns() + most_ns


class Turns:
    """Slices for the work of all sessions of a process."""

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        now_ns: Callable[[], int],
        load_of: Callable[[str], Load] | None = None,
        later: Callable[[float, Callable[[], None]], object] | None = None,
        turn_until_ns: Callable[[int, int], int] | None = None,
    ) -> None:
        """Begin with no work.

        Args:
            schedule: calls what it is given in the next round of the event loop.
            now_ns: a monotonic clock, in nanoseconds.
            load_of: returns where the time of a tenant's slices is noted; one that is over its budget has no turn
                while others wait.
            later: calls what it is given after so many seconds; None: there are no pauses.
            turn_until_ns: returns until when a work may go on that may take so long in a turn of the loop, and so long
                in any case; None: nothing else uses the turn.
        """
        self._schedule, self._now_ns, self._load_of, self._later = schedule, now_ns, load_of, later
        self._turn_until_ns = turn_until_ns or undivided(now_ns)
        self._until_ns = 0
        self._is_scheduled = self._is_paused = False
        self._pauses = 0
        self._waiting: OrderedDict[str, OrderedDict[Worker, None]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """How many connections wait for a slice."""
        return sum(map(len, self._waiting.values()))

    def until_ns(self) -> int:
        """Return until when work may go on now: no longer than the slice that this round of the loop has."""
        if not self._is_scheduled:
            self._until_ns = 0 if self._waiting else self._slice_end_ns()
            self._soon()
        return self._until_ns

    def _slice_end_ns(self) -> int:
        return self._turn_until_ns(SLICE_NS, LEAST_NS)

    def wait(self, tenant: str, worker: Worker) -> None:
        """Let a connection wait for a slice, if it does not wait yet."""
        self._queue(tenant)[worker] = None
        if self._is_paused and not self._is_over_budget(tenant):
            self._is_paused = self._is_scheduled = False
        self._soon()

    def work_off(self, tenant: str | None, worker: Worker | None) -> None:
        """Let what is left of a connection, if anything is, have its tenant's next slices: it holds much memory."""
        if tenant is None or worker is None:
            return
        queue = self._queue(tenant)
        queue[worker] = None
        queue.move_to_end(worker, last=False)
        self._soon()

    def forget(self, tenant: str, worker: Worker) -> None:
        """Let a connection wait no more."""
        queue = self._waiting.get(tenant)
        if queue is not None:
            queue.pop(worker, None)
            if not queue:
                del self._waiting[tenant]

    def _queue(self, tenant: str) -> OrderedDict[Worker, None]:
        return self._waiting.setdefault(tenant, OrderedDict())

    def _whose_turn(self) -> str:
        """Return the tenant that comes next: the first within its budget, or else the first of all."""
        for tenant in self._waiting:
            if not self._is_over_budget(tenant):
                return tenant
        return next(iter(self._waiting))

    def _is_over_budget(self, tenant: str) -> bool:
        return self._load_of is not None and self._load_of(tenant).is_over_budget

    def _soon(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._next)

    def _begin_pause(self) -> None:
        self._is_paused = True
        self._pauses += 1
        assert self._later is not None
        self._later(PAUSE_S, partial(self._end_pause, self._pauses))

    def _end_pause(self, number: int) -> None:
        """Go on, unless a tenant within its budget has ended the pause before; another one may have begun since."""
        if self._is_paused and number == self._pauses:
            self._is_paused = False
            self._next()

    def _next(self) -> None:
        """Begin a round: give its slice to the tenant whose turn it is, and what is left of it to those behind."""
        if not self._waiting:
            self._is_scheduled = False
            return
        # Until the next round no other work begins, unless all who wait are done before the slice is over.
        try:
            self._give_slice()
        finally:
            if self._later is not None and self._waiting and self._is_over_budget(self._whose_turn()):
                self._begin_pause()
            else:
                self._schedule(self._next)

    def _give_slice(self) -> None:
        ended_ns = self._now_ns()
        until_ns, is_done = self._slice_end_ns(), True
        while self._waiting and is_done and ended_ns < until_ns:
            began_ns, self._until_ns = ended_ns, until_ns
            tenant = self._whose_turn()
            try:
                is_done = self._give_turn(tenant)
            finally:
                self._until_ns = 0
                ended_ns = self._now_ns()
                if self._load_of is not None:
                    self._load_of(tenant).spend(ended_ns - began_ns, ended_ns)
            if tenant in self._waiting:
                self._waiting.move_to_end(tenant)
        if not self._waiting:
            self._until_ns = until_ns

    def _give_turn(self, tenant: str) -> bool:
        """Let the first connection of a tenant work; return whether it is done, and so waits no more."""
        worker, needs_more = next(iter(self._waiting[tenant])), False
        try:
            needs_more = worker.take_slice()
        finally:
            if not needs_more:
                self.forget(tenant, worker)
        return not needs_more
