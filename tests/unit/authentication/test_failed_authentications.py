import pytest

from bifrost.authentication.address_costs import BURST, EACH_S, Cost
from bifrost.authentication.failed_authentications import (
    FIRST_DELAY_MS,
    FORGOTTEN_AFTER_MS,
    MAX_ADDRESSES,
    FailedAuthentications,
    SharedFailures,
)

HERE = "192.0.2.1"


def failed(times: int, max_delay_ms: int = 1000, address: str = HERE) -> FailedAuthentications:
    failures = FailedAuthentications(max_delay_ms)
    for _ in range(times):
        failures.note(address, 0)
    return failures


@pytest.mark.parametrize(("times", "delay_ms"), [(0, 0), (1, 100), (2, 200), (3, 400), (4, 800)])
def test_each_failure_doubles_the_delay(times: int, delay_ms: int) -> None:
    assert failed(times).delay_ms(HERE, 1) == delay_ms


@pytest.mark.parametrize("times", [5, 6, 50, 10_000])
def test_the_delay_has_a_bound(times: int) -> None:
    assert failed(times).delay_ms(HERE, 1) == 1000
    assert failed(times, max_delay_ms=1599).delay_ms(HERE, 1) == 1599


def test_a_bound_below_the_first_delay_is_kept() -> None:
    assert failed(1, max_delay_ms=FIRST_DELAY_MS - 1).delay_ms(HERE, 1) == FIRST_DELAY_MS - 1


def test_others_do_not_wait() -> None:
    assert failed(9).delay_ms("192.0.2.2", 1) == 0


def test_without_a_bound_no_address_waits_and_nothing_is_kept() -> None:
    failures = failed(9, max_delay_ms=0)

    assert failures.delay_ms(HERE, 1) == 0
    assert len(failures._failures) == 0


def test_failures_are_forgotten_after_a_while_without_any() -> None:
    failures = failed(3)

    assert failures.delay_ms(HERE, FORGOTTEN_AFTER_MS - 1) == 400
    assert failures.delay_ms(HERE, FORGOTTEN_AFTER_MS) == 0
    failures.note(HERE, FORGOTTEN_AFTER_MS)
    assert failures.delay_ms(HERE, FORGOTTEN_AFTER_MS) == 100


def test_every_failure_makes_the_others_last() -> None:
    failures = failed(2)

    failures.note(HERE, FORGOTTEN_AFTER_MS - 1)

    assert failures.delay_ms(HERE, 2 * FORGOTTEN_AFTER_MS - 2) == 400


def test_no_more_addresses_are_kept_than_the_limit() -> None:
    failures = FailedAuthentications(1000)

    for number in range(MAX_ADDRESSES + 1):
        failures.note(f"a{number}", 0)

    assert len(failures._failures) == MAX_ADDRESSES
    assert (failures.delay_ms("a0", 1), failures.delay_ms("a1", 1)) == (0, 100)


def test_who_failed_last_is_forgotten_last() -> None:
    failures = FailedAuthentications(1000)
    for number in range(MAX_ADDRESSES):
        failures.note(f"a{number}", 0)

    failures.note("a0", 1)
    failures.note("new", 2)

    assert (failures.delay_ms("a0", 3), failures.delay_ms("a1", 3)) == (200, 0)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("a:strange:one", "a:strange:one", True),
    ],
)
def test_an_address_of_ipv6_stands_for_its_network(one: str, other: str, is_same: bool) -> None:
    assert bool(failed(1, address=one).delay_ms(other, 1)) is is_same


def processes(count: int) -> list[FailedAuthentications]:
    """Several that remember together."""
    parts = [memoryview(bytearray(8 * 3 * 64)).cast("q") for _ in range(count)]
    return [FailedAuthentications(1000, SharedFailures(parts, own, b"key")) for own in range(count)]


def test_processes_remember_together() -> None:
    one, other = processes(2)

    one.note(HERE, 0)
    assert (one.delay_ms(HERE, 1), other.delay_ms(HERE, 1)) == (100, 100)
    other.note(HERE, 5)
    one.note(HERE, 6)

    assert (one.delay_ms(HERE, 7), other.delay_ms(HERE, 7)) == (400, 400)
    assert other.delay_ms("192.0.2.2", 7) == 0


def test_processes_forget_together() -> None:
    one, other = processes(2)
    one.note(HERE, 0)
    other.note(HERE, 10)

    assert one.delay_ms(HERE, 10 + FORGOTTEN_AFTER_MS) == 0
    one.note(HERE, 10 + FORGOTTEN_AFTER_MS)
    assert other.delay_ms(HERE, 11 + FORGOTTEN_AFTER_MS) == 100


def test_two_addresses_that_meet_in_one_place_are_not_taken_for_each_other() -> None:
    [only] = processes(1)
    for number in range(200):
        only.note(f"192.0.2.{number}", 0)

    delays = [only.delay_ms(f"192.0.2.{number}", 1) for number in range(200)]

    assert set(delays) == {0, 100}, "forgotten, or remembered as it was"
    assert delays.count(100) > 30


EMPTY_S = Cost(cpu_ns=BURST.cpu_ns + EACH_S.cpu_ns)
"""What takes a second to be made good."""


def test_an_address_that_has_cost_too_much_waits() -> None:
    failures = FailedAuthentications(5_000)

    failures.charge(HERE, EMPTY_S, 0)

    assert failures.delay_ms(HERE, 0) == 1_000
    assert failures.delay_ms(HERE, 400) == 600
    assert failures.delay_ms("192.0.2.2", 0) == 0
    assert failures._hits == {("address_cost", ""): 2}


def test_the_longer_of_two_delays_counts_within_the_bound() -> None:
    failures = failed(2, max_delay_ms=800)

    failures.charge(HERE, EMPTY_S, 0)

    assert failures.delay_ms(HERE, 0) == 800
    assert failures.delay_ms(HERE, 950) == 200


def test_the_costs_of_one_ipv6_network_are_added() -> None:
    failures = FailedAuthentications(5_000)

    failures.charge("2001:db8::1", EMPTY_S, 0)

    assert failures.delay_ms("2001:db8::ffff", 0) == 1_000
    assert failures.delay_ms("2001:db8:0:1::1", 0) == 0


def test_without_a_bound_costs_delay_no_address() -> None:
    failures = FailedAuthentications(0)

    failures.charge(HERE, EMPTY_S, 0)

    assert failures.delay_ms(HERE, 0) == 0
