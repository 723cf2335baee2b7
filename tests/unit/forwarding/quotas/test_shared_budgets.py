"""Workers find the same memory for the same budget."""

from contextlib import nullcontext

import pytest

from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.shared_budgets import (
    IDLE_NS,
    MAX_PROBES,
    START_STRETCH,
    SharedBudgets,
    Use,
    cells_of,
)

S = 1_000_000_000
NOW_NS = 100 * IDLE_NS


class Table:
    """A table, and the time."""

    def __init__(self, places: int = 65_536) -> None:
        self.now_ns = NOW_NS
        self._memory = bytearray(8 * cells_of(places))

    def worker(self, *, is_exchanged: bool = False) -> SharedBudgets:
        memory = memoryview(self._memory)
        return SharedBudgets(memory, nullcontext, b"key", lambda: self.now_ns, is_exchanged=is_exchanged)


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


def test_workers_know_what_all_used_of_budgets_that_gateways_share() -> None:
    table = Table()
    workers = [table.worker(is_exchanged=True) for _ in range(2)]
    workers[0].new_stretch = 1
    one, other = (budget(worker.memory("acme")) for worker in workers)
    idle = budget(workers[0].memory("globex"))
    one.charge(2, NOW_NS)
    other.charge(3, NOW_NS)
    other.charge(-1, NOW_NS)

    [use] = workers[0].uses()

    assert use.used_ns == 4 * S
    assert use.debt_ns == 4 * S
    assert workers[1].tag_at(use.place) == use.tag
    assert next(tag for _, tag in workers[0].tags(0)) == use.tag
    assert len(workers[0]) == 2
    assert workers[1].uses() == [Use(use.place, use.tag, 0, 4 * S)], "it is in debt"
    assert idle.debt_ns(NOW_NS) <= 0
    table.now_ns += 5 * S
    assert workers[1].uses() == []


def test_other_gateways_know_a_budget_by_the_same_tag() -> None:
    tables = [Table(), Table()]
    workers = [table.worker(is_exchanged=True) for table in tables]
    for worker in workers:
        worker.memory("acme")

    assert next(workers[0].tags(0))[1] == next(workers[1].tags(0))[1]


def test_a_new_budget_has_a_small_share_until_the_gateways_are_known() -> None:
    worker = Table().worker(is_exchanged=True)
    early = budget(worker.memory("early"))
    worker.new_stretch = 3
    late = budget(worker.memory("late"))

    assert (early.stretch, late.stretch) == (START_STRETCH, 3)


def test_a_share_holds_for_all_workers_at_once() -> None:
    table = Table()
    workers = [table.worker(is_exchanged=True) for _ in range(2)]
    workers[0].new_stretch = 1
    one, other = (budget(worker.memory("acme")) for worker in workers)
    one.charge(4, NOW_NS)

    [use] = workers[0].uses()
    workers[0].stretch(use.place, 2)

    assert (one.stretch, other.stretch, workers[1].stretch_at(use.place)) == (2, 2, 2)
    assert other.debt_ns(NOW_NS) == 8 * S
    other.charge(1, NOW_NS)
    assert one.debt_ns(NOW_NS) == 10 * S


def test_what_a_place_counted_for_another_budget_is_forgotten() -> None:
    table = Table(1)
    worker = table.worker(is_exchanged=True)
    budget(worker.memory("first")).charge(5, NOW_NS)
    table.now_ns += 2 * IDLE_NS
    budget(worker.memory("second"))

    assert worker.uses() == []
    assert len(worker) == 1


def test_budgets_that_no_other_gateway_has_are_not_counted() -> None:
    worker = Table().worker()
    one = budget(worker.memory("acme"))

    one.charge(5, NOW_NS)

    assert one.stretch == 1
    assert all(use.used_ns == 0 for use in worker.uses())
