import pytest

from bifrost.authentication.address_costs import BURST, EACH_S, MAX_ADDRESSES, AddressCosts, Cost

HERE = "192.0.2.1"
KINDS = ("requests", "nbytes", "cpu_ns")


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_bucket_delays_no_connection_and_one_more_does(kind: str) -> None:
    costs = AddressCosts()
    costs.charge(HERE, BURST, 0)
    assert costs.delay_ms(HERE, 0) == 0

    costs.charge(HERE, Cost(**{kind: getattr(EACH_S, kind) // 2}), 0)

    assert costs.delay_ms(HERE, 0) == 500


@pytest.mark.parametrize("kind", KINDS)
def test_time_makes_costs_good_and_no_more_than_all_of_them(kind: str) -> None:
    costs = AddressCosts()
    each_s = getattr(EACH_S, kind)
    burst_s = getattr(BURST, kind) // each_s
    costs.charge(HERE, BURST, 0)

    costs.charge(HERE, Cost(**{kind: 2 * each_s}), 1_000)
    assert costs.delay_ms(HERE, 1_000) == 1_000

    later_ms = 1_000 * (burst_s + 1_000)
    assert costs.delay_ms(HERE, later_ms) == 0
    costs.charge(HERE, BURST, later_ms)
    costs.charge(HERE, Cost(**{kind: each_s}), later_ms)
    assert costs.delay_ms(HERE, later_ms) == 1_000


def test_small_costs_that_come_slowly_never_delay() -> None:
    costs = AddressCosts()

    for second in range(200):
        costs.charge(HERE, EACH_S, second * 1_000)

    assert costs.delay_ms(HERE, 199_000) == 0


def test_the_addresses_that_are_remembered_have_a_bound() -> None:
    costs = AddressCosts()
    too_much = Cost(requests=2 * BURST.requests)

    for number in range(MAX_ADDRESSES + 1):
        costs.charge(str(number), too_much, 0)

    assert costs.delay_ms("0", 0) == 0
    assert costs.delay_ms("1", 0) > 0
    assert costs.delay_ms(str(MAX_ADDRESSES), 0) > 0
