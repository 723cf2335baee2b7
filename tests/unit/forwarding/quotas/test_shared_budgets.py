"""Workers find the same memory for the same budget."""

from contextlib import nullcontext

import pytest

from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.shared_budgets import IDLE_NS, MAX_PROBES, SharedBudgets

S = 1_000_000_000
NOW_NS = 100 * IDLE_NS


class Table:
    """A table, and the time."""

    def __init__(self, places: int = 65_536) -> None:
        self.now_ns = NOW_NS
        self._memory = bytearray(16 * places)

    def worker(self) -> SharedBudgets:
        return SharedBudgets(memoryview(self._memory), nullcontext, b"key", lambda: self.now_ns)


def budget(memory: memoryview | None) -> Budget:
    assert memory is not None
    return Budget("request_rate", "acme", S, 0, 10 * S, memory)


def test_workers_charge_one_budget() -> None:
    table = Table()
    workers = [table.worker() for _ in range(2)]
    one, other = (budget(worker.memory("acme")) for worker in workers)
    globex = budget(workers[0].memory("globex"))

    one.charge(2, NOW_NS)
    other.charge(3, NOW_NS)

    assert one.debt_ns(NOW_NS) == other.debt_ns(NOW_NS) == 5 * S
    assert globex.debt_ns(NOW_NS) <= 0


def test_budgets_do_not_share_a_place() -> None:
    worker = Table().worker()
    budgets = [budget(worker.memory(str(number))) for number in range(5000)]

    for number, one in enumerate(budgets):
        one.charge(1 + number / 1000, NOW_NS)

    found = [one.debt_ns(NOW_NS) for one in budgets]
    assert found == pytest.approx([S + number * S / 1000 for number in range(5000)], abs=1)


def test_a_place_is_given_to_another_budget_only_when_nothing_is_owed_for_long() -> None:
    table = Table(MAX_PROBES)
    worker = table.worker()
    for number in range(MAX_PROBES):
        budget(worker.memory(str(number))).charge(1, table.now_ns)

    assert worker.memory("one more") is None
    assert worker.memory("7") is not None
    table.now_ns += 2 * IDLE_NS
    later = budget(worker.memory("one more"))

    assert later.debt_ns(table.now_ns) <= 0
