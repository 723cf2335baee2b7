"""What a gateway wants follows what its clients use, and whether they wait."""

import pytest

from bifrost.forwarding.exchange.demands import HUNGRY_NS, IDLE_NS, Demands
from bifrost.forwarding.exchange.exchange_record import MAX_BUDGETS, Stake
from bifrost.forwarding.exchange.shares import WHOLE
from bifrost.forwarding.quotas.shared_budgets import Use

S = 1_000_000_000
PERIOD = S // 4
TAG = 7


class Scene:
    def __init__(self) -> None:
        self.demands, self.now_ns = Demands(), 1000 * S
        self.demands.note([], self.now_ns)

    def use(self, part: float, seconds: float, *, share: int = WHOLE, debt_ns: int = 0) -> None:
        for _ in range(round(seconds * S / PERIOD)):
            self.now_ns += PERIOD
            uses = [(Use(0, TAG, int(part * PERIOD), debt_ns), share)] if part else []
            self.demands.note(uses, self.now_ns)

    def demand(self) -> float:
        return self.demands.demand(TAG, self.now_ns) / WHOLE


def test_what_is_not_used_is_not_wanted() -> None:
    scene = Scene()

    assert scene.demand() == 0
    assert scene.demands.tags(scene.now_ns) == []


def test_steady_use_is_wanted_with_room_to_grow() -> None:
    scene = Scene()

    scene.use(0.3, 10)

    assert scene.demand() == pytest.approx(0.3 * 1.1 + 0.02, abs=0.01)


@pytest.mark.parametrize(("part", "share", "debt_ns"), [(0.01, WHOLE, 1), (0.49, WHOLE // 2, -5)])
def test_clients_that_wait_or_use_nearly_all_want_all(part: float, share: int, debt_ns: int) -> None:
    scene = Scene()

    scene.use(part, 1, share=share, debt_ns=debt_ns)

    assert scene.demand() == 1


def test_what_was_wanted_is_kept_for_a_moment_and_then_less() -> None:
    scene = Scene()
    scene.use(0.5, 3, share=WHOLE // 2)

    scene.use(0, HUNGRY_NS / S - 0.25)
    assert scene.demand() == 1
    scene.use(0, 1)
    assert 0 < scene.demand() < 0.3
    scene.use(0, IDLE_NS / S)

    assert scene.demand() == 0


def test_of_many_budgets_those_that_want_most_are_published() -> None:
    scene = Scene()
    many = [(Use(tag, tag, PERIOD // 10, 0), WHOLE) for tag in range(MAX_BUDGETS)]
    scene.demands.note([*many, (Use(1, -1, PERIOD, S), WHOLE)], scene.now_ns + PERIOD)

    stakes = scene.demands.stakes({-1: 5}, scene.now_ns + PERIOD)

    assert len(stakes) == MAX_BUDGETS
    assert stakes[-1] == Stake(WHOLE, 5)
