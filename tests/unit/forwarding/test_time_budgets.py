"""A tenant that uses more than its share while others want theirs waits; no other tenant does."""

from collections.abc import Callable

import pytest

from bifrost.forwarding.in_flight_limits import TIME_LIMIT, InFlightLimits
from bifrost.forwarding.load import Load
from bifrost.forwarding.shares import Shares
from bifrost.forwarding.time_budgets import BURST_NS, LOOK_EVERY_NS, TimeBudgets


class Clock:
    """Budgets, and the time."""

    def __init__(self, percent: int = 50, percent_of: dict[str, int | None] | None = None) -> None:
        self.now_ns = 1_000_000_000_000
        self.soon: list[Callable[[], None]] = []
        self.later: list[Callable[[], None]] = []
        self.limits = InFlightLimits(self.soon.append)
        self.budgets = TimeBudgets(self.limits, lambda _s, call: self.later.append(call), lambda: self.now_ns)
        self.budgets.limit(Shares(percent, percent_of or {}), Shares())

    def spend(self, seconds: float, **parts: float) -> None:
        """Let time pass in which tenants use parts of it."""
        for _ in range(int(seconds * 1e9 / LOOK_EVERY_NS)):
            self.now_ns += LOOK_EVERY_NS
            for tenant, part in parts.items():
                load = self.limits.load(tenant)
                if not load.is_over_budget:
                    load.spend(int(part * LOOK_EVERY_NS), self.now_ns)
            due, self.later[:] = list(self.later), []
            for call in due:
                call()

    def load(self, tenant: str) -> Load:
        return self.limits.load(tenant)


class Waiter:
    def __init__(self) -> None:
        self.turns = 0

    def take_turn(self) -> None:
        self.turns += 1


def test_a_tenant_that_is_alone_is_never_slowed_down() -> None:
    clock = Clock()

    clock.spend(10, acme=1.0)

    assert not clock.load("acme").is_over_budget


def test_a_tenant_is_not_slowed_down_while_there_is_enough_for_all() -> None:
    clock = Clock()

    clock.spend(10, acme=0.6, globex=0.1)

    assert not clock.load("acme").is_over_budget


def test_a_tenant_over_its_share_waits_and_the_other_does_not() -> None:
    clock = Clock()
    waits: list[bool] = []

    for _ in range(100):
        clock.spend(0.1, acme=0.95, globex=0.05)
        waits.append(clock.load("acme").is_over_budget)
        assert not clock.load("globex").is_over_budget

    assert not waits[0], "a burst is free"
    assert any(waits)
    assert clock.load("acme").throttle_ms > 0 or not clock.load("acme").is_over_budget


@pytest.mark.parametrize("percent", [5, 20, 50])
def test_a_tenant_that_always_wants_all_has_its_share(percent: int) -> None:
    """While it waits the loop has time, which is not the tenant's to use later beside others."""
    clock, waiter, used_s = Clock(percent), Waiter(), 0.0
    clock.spend(2, acme=0.95, globex=0.05)

    for _ in range(500):
        if clock.load("acme").is_over_budget:
            clock.limits.wait("acme", waiter)
        else:
            used_s += 0.95 * LOOK_EVERY_NS / 1e9
        clock.spend(LOOK_EVERY_NS / 1e9, acme=0.95, globex=0.05)
        for call in clock.soon:
            call()
        clock.soon.clear()

    assert used_s / 10 == pytest.approx(percent / 100, abs=0.02)


def test_a_tenant_that_was_told_to_wait_saves_nothing_meanwhile() -> None:
    clock = Clock(20)
    while not clock.load("acme").is_over_budget:
        clock.spend(0.02, acme=1.5, globex=0.1)
    while clock.load("acme").is_over_budget:
        clock.spend(0.02, globex=0.1)

    clock.spend(0.02, acme=0.95, globex=0.05)

    assert clock.load("acme").is_over_budget


def test_who_waits_has_a_turn_when_its_time_is_back() -> None:
    clock, waiter = Clock(), Waiter()
    while not clock.load("acme").is_over_budget:
        clock.spend(0.1, acme=1.5, globex=0.1)
    clock.limits.wait("acme", waiter)
    assert clock.limits.hits == {(TIME_LIMIT, "acme"): 1}
    assert clock.load("acme").is_full

    clock.spend(BURST_NS / 1e9, globex=0.1)
    for call in clock.soon:
        call()

    assert waiter.turns == 1


def test_no_client_waits_longer_than_a_burst_takes() -> None:
    clock = Clock()
    clock.spend(0.1, acme=0.5, globex=0.5)

    clock.load("acme").spend(60_000_000_000, clock.now_ns)
    clock.spend(0.04, globex=0.9)

    assert 0 < clock.load("acme").throttle_ms <= BURST_NS / 1e6 + 1


@pytest.mark.parametrize(("percent", "own"), [(100, None), (50, 100)])
def test_a_share_of_all_is_no_limit(percent: int, own: int | None) -> None:
    clock = Clock(percent, {"acme": own})

    clock.spend(10, acme=2.0, globex=0.2)

    assert not clock.load("acme").is_over_budget


def test_a_share_may_be_a_tenants_own() -> None:
    clock = Clock(50, {"acme": 90, "globex": 5})

    for _ in range(50):
        clock.spend(0.1, acme=0.85, globex=0.15)
        assert not clock.load("acme").is_over_budget
        if clock.load("globex").is_over_budget:
            return
    pytest.fail("globex used three times its share and never waited")


def test_shares_that_change_hold_at_once() -> None:
    clock = Clock()
    while not clock.load("acme").is_over_budget:
        clock.spend(0.1, acme=1.5, globex=0.1)

    clock.budgets.limit(Shares(100), Shares())

    assert not clock.load("acme").is_over_budget


def test_a_look_that_fails_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants that wait spend nothing, so nothing else would lead to a look."""
    clock = Clock()
    clock.spend(2, acme=1.0, globex=0.5)
    assert clock.load("acme").is_over_budget
    [look] = clock.later

    def fail(_now_ns: int) -> None:
        raise KeyError("a bug")

    clock.later.clear()
    with monkeypatch.context() as patch:
        patch.setattr(clock.budgets, "look", fail)
        with pytest.raises(KeyError):
            look()
    clock.spend(2)

    assert not clock.load("acme").is_over_budget
