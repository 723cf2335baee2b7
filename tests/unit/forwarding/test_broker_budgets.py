"""While several tenants are active, each has its share of the brokers' time, and waits when that is used up."""

from collections.abc import Callable

import pytest

from bifrost.forwarding.broker_budgets import BURST_NS, BrokerBudgets
from bifrost.forwarding.in_flight_limits import BROKER_TIME_LIMIT, InFlightLimits
from bifrost.forwarding.load import UNLIMITED_NS
from bifrost.forwarding.shares import Shares
from bifrost.forwarding.time_budgets import LOOK_SOON_NS, TimeBudgets

STEP_NS = 20_000_000


class Waiter:
    def __init__(self) -> None:
        self.turns = 0

    def take_turn(self) -> None:
        self.turns += 1


class Budgets:
    """Budgets of two tenants, before clusters of 1 and 3 brokers."""

    def __init__(self, percent: int = 50, **own: int) -> None:
        self.soon: list[Callable[[], None]] = []
        self.limits = InFlightLimits(self.soon.append)
        self.budgets = BrokerBudgets(self.limits, {"acme": 1, "globex": 3}.__getitem__)
        self.budgets.limit(Shares(percent, own))
        self.acme, self.globex = self.limits.load("acme"), self.limits.load("globex")

    def pass_time(self, ns: int = STEP_NS, *, is_shared: bool = True) -> None:
        self.budgets.fill((self.acme, self.globex), ns, is_shared=is_shared)
        due, self.soon[:] = list(self.soon), []
        for call in due:
            call()


def test_a_tenant_that_is_alone_has_no_limit() -> None:
    budgets = Budgets()
    budgets.acme.broker_left_ns -= 10**12

    budgets.pass_time(is_shared=False)

    assert budgets.acme.has_room
    assert not budgets.budgets.is_short


def test_a_tenant_may_use_its_share_and_a_burst() -> None:
    budgets = Budgets(50)
    used_ns = 0

    for _ in range(50):  # one second
        budgets.pass_time()
        while budgets.acme.has_room:
            budgets.acme.broker_left_ns -= 50_000
            used_ns += 50_000

    assert 500_000_000 <= used_ns <= 500_000_000 + BURST_NS // 2 + 50_000
    assert budgets.globex.has_room


def test_more_brokers_have_more_time() -> None:
    budgets = Budgets(50)

    budgets.pass_time()

    assert (budgets.acme.broker_left_ns, budgets.globex.broker_left_ns) == (BURST_NS // 2, BURST_NS * 3 // 2)


def test_a_connection_waits_until_there_is_time_again() -> None:
    budgets, waiter = Budgets(50), Waiter()
    budgets.pass_time()
    budgets.acme.broker_left_ns -= BURST_NS // 2 + STEP_NS // 4
    budgets.limits.wait("acme", waiter)
    assert budgets.limits.hits == {(BROKER_TIME_LIMIT, "acme"): 1}
    assert budgets.acme.is_full

    budgets.pass_time(STEP_NS // 4)
    assert budgets.budgets.is_short
    assert waiter.turns == 0

    budgets.pass_time(STEP_NS)
    assert waiter.turns == 1
    assert not budgets.budgets.is_short


def test_no_tenant_waits_longer_than_a_second_of_its_share() -> None:
    budgets = Budgets(50)
    budgets.pass_time()
    budgets.acme.broker_left_ns -= 10**12

    for _ in range(51):
        budgets.pass_time()

    assert budgets.acme.has_room


def test_a_share_may_be_a_tenants_own_and_0_is_no_limit() -> None:
    budgets = Budgets(50, acme=10, globex=0)
    budgets.globex.broker_left_ns -= 10**12

    budgets.pass_time()

    assert budgets.acme.broker_left_ns == BURST_NS // 10
    assert budgets.globex.has_room


@pytest.mark.parametrize("is_reloaded", [True, False])
def test_limits_end_when_the_tenant_is_alone_or_has_another_share(is_reloaded: bool) -> None:
    budgets, waiter = Budgets(1), Waiter()
    budgets.pass_time()
    budgets.acme.broker_left_ns -= 10**9
    budgets.limits.wait("acme", waiter)

    if is_reloaded:
        budgets.budgets.limit(Shares(0))
    budgets.pass_time(is_shared=is_reloaded)

    assert budgets.acme.broker_left_ns == UNLIMITED_NS
    assert waiter.turns == 1


class Both:
    """Both kinds of budgets, in which two tenants have just been active."""

    def __init__(self) -> None:
        self.later: list[Callable[[], None]] = []
        self.budgets, self.now_ns = Budgets(), 10**12
        self.both = TimeBudgets(
            self.budgets.limits, lambda _s, call: self.later.append(call), lambda: self.now_ns
        )
        self.both.limit(Shares(50), Shares(50))
        self.budgets.acme.spend(1, self.now_ns)
        self.pass_time()

    def pass_time(self) -> None:
        """Let the other tenant be active for a while, and what is due happen."""
        self.now_ns += STEP_NS
        self.budgets.globex.spend(1, self.now_ns)
        due, self.later[:] = list(self.later), []
        for call in due:
            call()
        while self.budgets.soon:
            soon, self.budgets.soon[:] = list(self.budgets.soon), []
            for call in soon:
                call()


@pytest.mark.parametrize("is_over_time", [False, True])
def test_connections_that_wait_for_time_of_both_kinds_go_on_in_the_end(is_over_time: bool) -> None:
    scene, waiters = Both(), [Waiter() for _ in range(3)]
    scene.budgets.acme.is_over_budget = is_over_time
    scene.budgets.acme.broker_left_ns = -1
    for waiter in waiters:
        scene.budgets.limits.wait("acme", waiter)
    scene.budgets.acme.is_over_budget = False
    scene.budgets.limits.have_turns(scene.budgets.acme)

    for _ in range(3):
        scene.pass_time()

    assert [waiter.turns for waiter in waiters] == [1, 1, 1]


def test_a_connection_whose_turn_comes_when_no_time_is_left_goes_on_in_the_end() -> None:
    scene, first, second = Both(), Waiter(), Waiter()
    scene.budgets.acme.most = 0
    for waiter in (first, second):
        scene.budgets.limits.wait("acme", waiter)
    first.take_turn = lambda: setattr(scene.budgets.acme, "broker_left_ns", -1)  # type: ignore[method-assign]

    scene.budgets.acme.most = 10
    scene.budgets.limits.have_turns(scene.budgets.acme)
    for _ in range(3):
        scene.pass_time()

    assert second.turns == 1


def test_a_tenant_that_waits_is_filled_although_no_tenant_spends_any_more() -> None:
    later: list[Callable[[], None]] = []
    now_ns = [10**12]
    budgets = Budgets()
    both = TimeBudgets(budgets.limits, lambda _s, call: later.append(call), lambda: now_ns[0])
    both.limit(Shares(100), Shares(50))
    waiter = Waiter()
    for _ in range(2):
        now_ns[0] += STEP_NS
        budgets.acme.spend(1, now_ns[0])
        budgets.globex.spend(1, now_ns[0])
    both.look(now_ns[0])
    budgets.acme.broker_left_ns = -1

    budgets.limits.wait("acme", waiter)
    now_ns[0] += STEP_NS
    for call in (*later, *budgets.soon):
        call()
    for call in budgets.soon:
        call()

    assert waiter.turns == 1


def test_who_waits_for_brokers_gets_its_time_in_small_portions() -> None:
    """What a tenant gets at once, others' requests wait for at the broker."""
    delays_s: list[float] = []
    now_ns = 10**12
    budgets = Budgets()
    both = TimeBudgets(budgets.limits, lambda delay_s, _call: delays_s.append(delay_s), lambda: now_ns)
    both.limit(Shares(100), Shares(50))
    budgets.acme.broker_left_ns = -1

    budgets.limits.wait("acme", Waiter())

    assert delays_s == [LOOK_SOON_NS / 1e9]
    assert LOOK_SOON_NS * 4 < BURST_NS
