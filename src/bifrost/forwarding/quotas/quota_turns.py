"""The connections that wait until a debt is paid, and whose turn it is then.

Each budget has a queue. When its debt is paid, the first connection of the queue sends one request on, which is
charged, and so on. So a budget is exceeded by one request at most, however many connections wait for it, and those that
came first go on first.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from functools import partial

from bifrost.forwarding.in_flight_limits import Again
from bifrost.forwarding.quotas.budget import Budget

MOST_TURNS = 64
"""Connections that go on in one round of the event loop: with a high rate many debts are paid at once."""

SHORTEST_NS = 1_000_000
"""Time between two looks at a budget, at least, 1 ms: more often would cost more than it gives."""

LONGEST_NS = 250_000_000
"""The same at most, 250 ms: a debt may become shorter, when another gateway leaves more of the budget to this one."""


class QuotaTurns:
    """The queues of all budgets."""

    def __init__(self, again: Again, now_ns: Callable[[], int], hits: Counter[tuple[str, str]]) -> None:
        """Begin with no queue.

        Args:
            again: calls back later.
            now_ns: the engine's monotonic clock, in nanoseconds.
            hits: counts how often a connection had to wait, by limit and tenant.
        """
        self._again, self._now_ns, self._hits = again, now_ns, hits
        self._queues: dict[Budget, OrderedDict[Hashable, Callable[[], None]]] = {}
        self._waits_for: dict[Hashable, Budget] = {}

    def wait(self, budget: Budget, debtor: Hashable, take_turn: Callable[[], None]) -> None:
        """Queue a connection, if it is not queued yet; it waits for one budget at a time.

        Args:
            budget: for which it waits.
            debtor: the connection.
            take_turn: sends one held request on, if that need not wait for another budget.
        """
        before = self._waits_for.get(debtor)
        if before is budget:
            return
        if before is not None:
            self.forget(debtor)
        self._hits[budget.limit, budget.tenant] += 1
        self._waits_for[debtor] = budget
        queue = self._queues.get(budget)
        if queue is None:
            queue = self._queues[budget] = OrderedDict()
            self._look_later(budget)
        queue[debtor] = take_turn
        budget.waiting = len(queue)

    def forget(self, debtor: Hashable) -> None:
        """Remove a connection from its queue, if it is in one."""
        budget = self._waits_for.pop(debtor, None)
        if budget is not None:
            queue = self._queues[budget]
            del queue[debtor]
            budget.waiting = len(queue)

    def _look_later(self, budget: Budget) -> None:
        delay_ns = min(max(budget.debt_ns(self._now_ns()), SHORTEST_NS), LONGEST_NS)
        self._again(delay_ns / 1e9, partial(self._look, budget))

    def _look(self, budget: Budget) -> None:
        """Give turns as long as there is no debt."""
        queue, turns = self._queues[budget], 0
        while queue and turns < MOST_TURNS and budget.debt_ns(self._now_ns()) <= 0:
            turns += 1
            debtor, take_turn = queue.popitem(last=False)
            del self._waits_for[debtor]
            budget.waiting = len(queue)
            take_turn()
        if queue:
            self._look_later(budget)
        else:
            del self._queues[budget]
