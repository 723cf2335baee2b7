"""A budget is used up at its rate: never more than that and a burst, and no less by a client that wants more."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.forwarding.quotas.budget import Budget

S = 1_000_000_000
BEGIN = 100 * S
BURST_NS, MOST_NS = S // 4, 10 * S


def budget(rate: float = 1000, memory: bytearray | None = None) -> Budget:
    return Budget("producer_byte_rate", "acme", S / rate, BURST_NS, MOST_NS, memory)


def test_a_new_budget_has_the_credit_of_a_burst() -> None:
    one = budget(1000)

    assert one.is_full(BEGIN)
    assert one.debt_ns(BEGIN) == -BURST_NS
    one.charge(250, BEGIN)
    assert not one.is_full(BEGIN)
    assert one.debt_ns(BEGIN) == 0


def test_a_debt_is_paid_by_the_time_that_passes() -> None:
    one = budget(1000)

    one.charge(1250, BEGIN)

    assert one.debt_ns(BEGIN) == S
    assert one.debt_ns(BEGIN + S // 4) == 3 * S // 4
    assert one.debt_ns(BEGIN + 60 * S) == -BURST_NS, "credit does not grow beyond the burst"


def test_no_debt_is_longer_than_it_may_be() -> None:
    one = budget(1000)

    one.charge(1e9, BEGIN)

    assert one.debt_ns(BEGIN) == MOST_NS


def test_what_was_charged_too_much_is_given_back() -> None:
    one = budget(1000)
    one.charge(1000, BEGIN)

    one.charge(-400, BEGIN)

    assert one.debt_ns(BEGIN) == 350_000_000


def test_a_new_rate_applies_to_what_is_charged_from_then_on() -> None:
    one = budget(1000)
    one.charge(250, BEGIN)

    one.ns_per_unit = S / 2000
    one.charge(1000, BEGIN)

    assert one.debt_ns(BEGIN) == S // 2


def test_budgets_in_the_same_memory_are_one_budget() -> None:
    memory = bytearray(8)
    one, other = budget(1000, memory), budget(1000, memory)

    one.charge(250, BEGIN)
    other.charge(500, BEGIN)

    assert one.debt_ns(BEGIN) == other.debt_ns(BEGIN) == S // 2


@pytest.mark.parametrize(("rate_ns", "burst_ns", "most_ns"), [(0, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)])
def test_a_budget_without_a_rate_or_bounds_is_refused(rate_ns: float, burst_ns: int, most_ns: int) -> None:
    with pytest.raises(ValueError, match="rate"):
        Budget("request_rate", "acme", rate_ns, burst_ns, most_ns)
    with pytest.raises(ValueError, match="memory"):
        Budget("request_rate", "acme", 1, 1, 1, bytearray(4))


@given(
    rate=st.floats(1, 1e9),
    steps=st.lists(st.tuples(st.integers(0, 3 * S), st.floats(0, 1)), min_size=1, max_size=60),
)
def test_a_client_that_waits_for_its_debts_stays_within_rate_and_burst(
    rate: float, steps: list[tuple[int, float]]
) -> None:
    one, now_ns, used, largest = budget(rate), BEGIN, 0.0, 0.0

    for pause_ns, part in steps:
        now_ns += pause_ns
        now_ns += max(0, one.debt_ns(now_ns))  # It is not read until its debt is paid.
        units = part * rate  # At most what a second brings, so no debt is forgiven.
        one.charge(units, now_ns)
        used, largest = used + units, max(largest, units)

    allowed = rate * (now_ns - BEGIN + BURST_NS) / S + largest
    assert used <= allowed * (1 + 1e-6) + 1


@given(rate=st.floats(10, 1e9), parts=st.lists(st.floats(0.01, 1), min_size=20, max_size=60))
def test_a_client_that_always_wants_more_gets_all_of_its_rate(rate: float, parts: list[float]) -> None:
    one, now_ns, used = budget(rate), BEGIN, 0.0

    for part in parts:
        now_ns += max(0, one.debt_ns(now_ns))
        one.charge(part * rate, now_ns)
        used += part * rate

    assert used >= rate * (now_ns - BEGIN) / S * (1 - 1e-6)


@given(
    charges=st.lists(
        st.tuples(st.integers(0, S), st.floats(-100, 1000), st.integers(0, 1)), min_size=1, max_size=40
    )
)
def test_two_processes_charge_one_budget_like_one_process(charges: list[tuple[int, float, int]]) -> None:
    memory = bytearray(8)
    shared, alone, now_ns = [budget(1000, memory), budget(1000, memory)], budget(1000), BEGIN

    for pause_ns, units, process in charges:
        now_ns += pause_ns
        shared[process].charge(units, now_ns)
        alone.charge(units, now_ns)

    assert shared[0].debt_ns(now_ns) == alone.debt_ns(now_ns)


def shared(rate: float = 1000) -> Budget:
    return budget(rate, bytearray(40))


def test_with_a_share_of_the_rate_all_takes_longer_to_pay_for() -> None:
    one = shared()
    one.stretch_to(4, BEGIN)

    one.charge(250, BEGIN)

    assert one.stretch == 4
    assert one.debt_ns(BEGIN) == S - BURST_NS


@pytest.mark.parametrize("charged", [0, 100, 250, 800])
@pytest.mark.parametrize("stretches", [(4.0, 1.0), (1.0, 4.0), (2.0, 3.0, 2.0)])
def test_another_share_leaves_what_is_owed_and_what_may_be_used(
    charged: float, stretches: tuple[float, ...]
) -> None:
    one = shared()
    one.stretch_to(stretches[0], BEGIN)
    one.charge(charged, BEGIN)
    owed = one.debt_ns(BEGIN) / stretches[0]

    for stretch in stretches[1:]:
        one.stretch_to(stretch, BEGIN)

    # Credit has a bound in time, so with a small share there is less of it.
    now = one.debt_ns(BEGIN) / stretches[-1]
    assert now == pytest.approx(max(owed, -BURST_NS / max(stretches)), abs=10)


def test_a_smaller_share_makes_no_debt_longer_than_it_may_be() -> None:
    one = shared()
    one.charge(5000, BEGIN)

    one.stretch_to(50, BEGIN)
    assert one.debt_ns(BEGIN) == MOST_NS
    one.stretch_to(1, BEGIN)

    assert one.debt_ns(BEGIN) == MOST_NS // 50


@pytest.mark.parametrize("stretch", [0.5, 0, -1, float("nan")])
def test_a_share_is_no_more_than_the_whole(stretch: float) -> None:
    with pytest.raises(ValueError, match="whole"):
        shared().stretch_to(stretch, BEGIN)


def test_a_budget_alone_has_the_whole() -> None:
    assert budget().stretch == 1
    assert shared().stretch == 1
