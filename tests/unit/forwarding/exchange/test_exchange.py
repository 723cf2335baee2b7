"""Gateways that exchange what they use keep together within one budget, and divide it by what their clients want."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bifrost.forwarding.exchange.exchange import Exchange
from bifrost.forwarding.exchange.exchange_record import ExchangeRecord
from bifrost.forwarding.exchange.shares import FLOORS, WHOLE
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.shared_budgets import START_STRETCH, SharedBudgets, cells_of

S = 1_000_000_000
STEP = S // 50
PUBLISH_STEPS, READ_STEPS = 12, 5
RATE = 1000.0
ALL = 10.0
"""A demand far above the budget."""


class Fleet:
    """Gateways before one log; each has a clock of its own."""

    def __init__(self, wants: list[float], delay_steps: int = 1) -> None:
        self.step, self.delay_steps = 0, delay_steps
        self.log: list[tuple[int, bytes]] = []
        self.gateways = [Gateway(self, number, want) for number, want in enumerate(wants)]

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * S / STEP)):
            self.step += 1
            for gateway in self.gateways:
                gateway.turn()

    def used(self, seconds: float) -> float:
        """Return what all use in this time, in parts of the budget's rate."""
        before = sum(one.used for one in self.gateways)
        self.run(seconds)
        return (sum(one.used for one in self.gateways) - before) / RATE / seconds

    def shares(self) -> list[float]:
        return [one.share for one in self.gateways]


class Gateway:
    """A gateway with one budget and clients that want so much of it, in parts of its rate."""

    def __init__(self, fleet: Fleet, number: int, want: float) -> None:
        self.fleet, self.number, self.want = fleet, number, want
        self.epoch_ns = (number + 1) * 10_000 * S
        self.table = SharedBudgets(
            memoryview(bytearray(8 * cells_of(16))),
            nullcontext,
            bytes([number]),
            lambda: self.now_ns,
            is_exchanged=True,
        )
        self.used = 0.0
        self.is_alive = self.is_linked = True
        self.position = 0
        self.budget = self.open("bytes")
        self.exchange = Exchange(number + 1, self.table)
        self.exchange.begin(self.now_ns)

    @property
    def now_ns(self) -> int:
        return self.epoch_ns + self.fleet.step * STEP

    @property
    def share(self) -> float:
        return 1 / self.budget.stretch if self.is_alive else 0.0

    def open(self, name: str) -> Budget:
        return Budget("producer_byte_rate", "acme", S / RATE, S // 4, 10 * S, self.table.memory(name))

    def turn(self) -> None:
        if not self.is_alive:
            return
        self._serve_clients()
        if self.is_linked and (self.fleet.step + self.number) % PUBLISH_STEPS == 0:
            self.publish(self.exchange.next_record(self.now_ns))
        if self.is_linked and (self.fleet.step + 2 * self.number) % READ_STEPS == 0:
            self._read()

    def _serve_clients(self) -> None:
        left = self.want * RATE * STEP / S
        while left > 0 and self.budget.debt_ns(self.now_ns) <= 0:
            units = min(left, 2.0)
            self.budget.charge(units, self.now_ns)
            self.used, left = self.used + units, left - units

    def publish(self, record: ExchangeRecord) -> None:
        self.fleet.log.append((self.fleet.step + self.fleet.delay_steps, record.to_bytes()))

    def _read(self) -> None:
        log = self.fleet.log
        while self.position < len(log) and log[self.position][0] <= self.fleet.step:
            self.exchange.hear(ExchangeRecord.from_bytes(log[self.position][1]), self.now_ns)
            self.position += 1
        self.exchange.settle(self.now_ns)


def test_a_gateway_that_is_alone_begins_with_little_and_then_has_the_whole() -> None:
    fleet = Fleet([ALL])

    assert fleet.shares() == [pytest.approx(1 / START_STRETCH)]
    fleet.run(3)

    assert fleet.shares() == [1]
    assert fleet.used(10) == pytest.approx(1, rel=0.03)


def test_gateways_whose_clients_want_all_have_equal_shares() -> None:
    fleet = Fleet([ALL, ALL, ALL])

    fleet.run(4)

    assert fleet.shares() == pytest.approx([1 / 3] * 3, rel=0.001)
    assert fleet.used(10) == pytest.approx(1, rel=0.03)


def test_what_one_does_not_use_the_others_have() -> None:
    fleet = Fleet([ALL, 0.2, 0])

    fleet.run(6)

    assert fleet.used(10) == pytest.approx(1, rel=0.09)
    first, second, third = fleet.shares()
    assert second > 0.2
    assert third == pytest.approx(1 / FLOORS / 3, rel=0.01)
    assert first > 0.7


def test_a_gateway_that_begins_to_want_more_has_it_within_a_second() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)
    assert fleet.shares()[0] > 0.95

    fleet.gateways[1].want = ALL
    used = fleet.used(1.0)

    assert fleet.shares() == pytest.approx([0.5, 0.5], rel=0.001)
    assert used < 1.05


def test_a_gateway_that_is_killed_gives_its_share_back_within_two_seconds() -> None:
    fleet = Fleet([ALL, ALL])
    fleet.run(5)

    fleet.gateways[0].is_alive = False
    fleet.run(0.9)
    assert fleet.shares()[1] == pytest.approx(0.5, rel=0.001), "it may only be slow"
    fleet.run(1.1)

    assert fleet.shares()[1] == 1


def test_a_gateway_that_stops_gives_its_share_back_at_once() -> None:
    fleet = Fleet([ALL, ALL])
    fleet.run(5)

    gone = fleet.gateways[0]
    gone.is_alive = False
    gone.publish(ExchangeRecord(1, gone.now_ns, leaves=True))
    fleet.run(0.4)

    assert fleet.shares()[1] == 1


def test_a_gateway_that_is_cut_off_goes_on_with_its_share_and_returns() -> None:
    fleet = Fleet([ALL, ALL])
    fleet.run(5)

    cut = fleet.gateways[0]
    cut.is_linked = False
    fleet.run(10)
    assert fleet.shares() == [pytest.approx(0.5, rel=0.001), 1]
    cut.is_linked = True
    fleet.run(2)

    assert fleet.shares() == pytest.approx([0.5, 0.5], rel=0.001)


def test_while_no_record_comes_back_all_go_on_with_their_shares() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)
    before = fleet.shares()

    for gateway in fleet.gateways:
        gateway.is_linked = False
    fleet.gateways[1].want = ALL
    fleet.run(20)
    assert fleet.shares() == before
    for gateway in fleet.gateways:
        gateway.is_linked = True
    fleet.run(2)

    assert fleet.shares() == pytest.approx([0.5, 0.5], rel=0.001)


def test_a_record_that_is_not_understood_lets_no_share_grow() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)
    second = fleet.gateways[1]
    before = second.share

    second.want = ALL
    second.exchange.block(second.now_ns + 3 * S)
    fleet.run(2.5)
    assert second.share == before
    fleet.run(1.5)

    assert second.share == pytest.approx(0.5, rel=0.001)


def test_a_budget_that_is_new_has_the_share_of_one_that_none_uses() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)

    new = fleet.gateways[0].open("another")

    assert new.stretch == pytest.approx(2)


def test_a_budget_that_all_have_left_is_divided_equally_again() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)

    fleet.gateways[0].want = 0
    fleet.run(8)

    assert fleet.shares() == pytest.approx([0.5, 0.5], rel=0.001)


def test_another_process_of_a_gateway_goes_on_with_its_shares() -> None:
    fleet = Fleet([ALL, 0])
    fleet.run(5)
    first = fleet.gateways[0]
    before = first.share

    first.exchange = Exchange(1, first.table)
    first.exchange.begin(first.now_ns)
    fleet.run(1)
    assert first.share == before
    fleet.run(4)

    assert first.share == pytest.approx(before, rel=0.01)
    assert fleet.gateways[1].share < 0.05


@settings(max_examples=25, deadline=None)
@given(
    wants=st.lists(st.one_of(st.just(0.0), st.just(ALL), st.floats(0, 2)), min_size=1, max_size=4),
    later=st.lists(st.one_of(st.just(0.0), st.just(ALL), st.floats(0, 2)), min_size=4, max_size=4),
    delay_steps=st.integers(1, 8),
)
def test_together_they_stay_within_the_budget_and_use_it(
    wants: list[float], later: list[float], delay_steps: int
) -> None:
    fleet = Fleet(wants, delay_steps)
    fleet.run(5)

    for gateway, want in zip(fleet.gateways, later, strict=False):
        gateway.want = want
    used = fleet.used(10)

    wanted = sum(later[: len(wants)])
    assert used <= 1.06, "also while demands change"
    if wanted <= 0.7 or wanted >= ALL:
        assert used >= min(1.0, wanted) * 0.75 - 0.001, "the first second of it with other shares"
    assert sum(fleet.shares()) <= 1 + len(wants) / WHOLE
