"""A budget is divided so that no more than the whole is given, and none who wants some is left without."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.forwarding.exchange.shares import FLOORS, WHOLE, divide, floor_of

demands = st.lists(
    st.one_of(st.just(0), st.just(WHOLE), st.integers(0, WHOLE), st.integers(-5, 2 * WHOLE)),
    min_size=1,
    max_size=60,
)


@pytest.mark.parametrize(
    ("wanted", "shares"),
    [
        ([WHOLE], [1.0]),
        ([0], [1.0]),
        ([WHOLE, WHOLE], [0.5, 0.5]),
        ([WHOLE, 0], [0.99, 0.01]),
        ([0, 0, 0, 0], [0.25] * 4),
        ([WHOLE, WHOLE // 5], [0.8, 0.2]),
        ([WHOLE // 10, WHOLE * 3 // 10], [0.4, 0.6]),
        ([WHOLE, WHOLE * 9 // 10, WHOLE // 10], [0.45, 0.45, 0.1]),
    ],
)
def test_small_demands_are_met_and_the_rest_is_divided_equally(
    wanted: list[int], shares: list[float]
) -> None:
    assert [one / WHOLE for one in divide(wanted)] == pytest.approx(shares, abs=0.001)


def test_without_members_nothing_is_given() -> None:
    assert divide([]) == []


@given(demands)
def test_no_more_than_the_whole_is_given_and_nearly_all(wanted: list[int]) -> None:
    shares = divide(wanted)

    assert WHOLE - 2 * len(wanted) < sum(shares) <= WHOLE


@given(demands)
def test_each_member_has_the_floor(wanted: list[int]) -> None:
    shares = divide(wanted)

    assert min(shares) >= floor_of(len(wanted))
    assert floor_of(len(wanted)) * len(wanted) <= WHOLE // FLOORS + len(wanted)


@given(demands)
def test_who_gets_less_than_it_wants_has_no_less_than_any_other(wanted: list[int]) -> None:
    shares = divide(wanted)

    short = [share for share, demand in zip(shares, wanted, strict=True) if share < min(demand, WHOLE)]
    assert all(max(shares) - one <= 1 for one in short)


@given(demands, st.randoms())
def test_shares_do_not_depend_on_the_order_of_members(wanted: list[int], random: object) -> None:
    order = list(range(len(wanted)))
    random.shuffle(order)  # type: ignore[attr-defined]

    shuffled = divide([wanted[member] for member in order])

    shares = divide(wanted)
    assert all(abs(shuffled[at] - shares[member]) <= 1 for at, member in enumerate(order))
