"""Connections that wait for a budget go on one after the other, as it is paid."""

from collections import Counter
from collections.abc import Callable

from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.quota_turns import QuotaTurns

S = 1_000_000_000


class Scene:
    def __init__(self) -> None:
        self.now_ns = 100 * S
        self.timers: list[tuple[int, Callable[[], None]]] = []
        self.hits: Counter[tuple[str, str]] = Counter()
        self.turns = QuotaTurns(self._again, lambda: self.now_ns, self.hits)
        self.went_on: list[tuple[str, float]] = []

    def _again(self, delay_s: float, call: Callable[[], None]) -> None:
        self.timers.append((self.now_ns + round(delay_s * 1e9), call))

    def budget(self) -> Budget:
        one = Budget("request_rate", "acme", S, 0, 10 * S)
        one.charge(2, self.now_ns)
        return one

    def wait(self, budget: Budget, name: str, cost: float = 1) -> None:
        def take_turn() -> None:
            self.went_on.append((name, self.now_ns / S - 100))
            budget.charge(cost, self.now_ns)

        self.turns.wait(budget, name, take_turn)

    def run(self, seconds: float) -> None:
        until_ns = self.now_ns + int(seconds * S)
        while due := [one for one in self.timers if one[0] <= until_ns]:
            first = min(due, key=lambda one: one[0])
            self.timers.remove(first)
            self.now_ns = max(self.now_ns, first[0])
            first[1]()
        self.now_ns = until_ns


def test_connections_go_on_in_their_order_at_the_rate() -> None:
    scene = Scene()
    budget = scene.budget()

    for name in ("first", "second", "third"):
        scene.wait(budget, name)
    assert budget.waiting == 3
    scene.run(10)

    assert scene.went_on == [("first", 2), ("second", 3), ("third", 4)]
    assert budget.waiting == 0
    assert scene.hits == {("request_rate", "acme"): 3}


def test_a_connection_waits_once_however_often_it_is_queued() -> None:
    scene = Scene()
    budget = scene.budget()

    for _ in range(3):
        scene.wait(budget, "one")
    scene.run(10)

    assert scene.went_on == [("one", 2)]


def test_a_connection_that_is_gone_has_no_turn() -> None:
    scene = Scene()
    budget = scene.budget()
    scene.wait(budget, "gone")
    scene.wait(budget, "there")

    scene.turns.forget("gone")
    scene.turns.forget("gone")
    assert budget.waiting == 1
    scene.run(10)

    assert scene.went_on == [("there", 2)]


def test_a_connection_waits_for_one_budget_at_a_time() -> None:
    scene = Scene()
    first, second = scene.budget(), scene.budget()

    scene.wait(first, "one")
    scene.wait(second, "one")
    assert (first.waiting, second.waiting) == (0, 1)
    scene.run(10)

    assert scene.went_on == [("one", 2)]


def test_many_that_cost_nothing_go_on_over_several_rounds() -> None:
    scene = Scene()
    budget = scene.budget()

    for number in range(1000):
        scene.wait(budget, str(number), cost=0)
    scene.run(10)

    assert [int(name) for name, _ in scene.went_on] == list(range(1000))
    assert not scene.timers
