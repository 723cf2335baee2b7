"""Connections of one address: together they cost no more than its budget, and those that authenticate make no debt."""

import pytest

from bifrost.authentication.address_costs import BURST, EACH_S, Cost
from bifrost.authentication.failed_authentications import ADDRESS_COST, FailedAuthentications
from bifrost.config.fields.limits import Limits
from bifrost.gateway.admission.address_turns import ENTRY, AddressTurns, max_delay_ms

from .clock import Clock

HERE, THERE = "192.0.2.1", "198.51.100.1"
HANDSHAKE = Cost(requests=1, cpu_ns=3_000_000)
CLIENTS = 200
TIMEOUT_MS = 10_000


class Place:
    """Connections to a gateway, by a clock of its own."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.failures = FailedAuthentications(1_000)
        self.turns = AddressTurns(self.failures, self.clock.now_ms, self.clock.later)
        self.began_ms: dict[object, int] = {}

    def charge(self, cost: Cost, address: str = HERE) -> None:
        self.failures.charge(address, cost, self.clock.ms)

    def come(self, one: object, cost: Cost = HANDSHAKE, address: str = HERE) -> bool:
        def go_on() -> None:
            self.began_ms[one] = self.clock.ms
            self.charge(cost, address)

        return self.turns.enter(address, one, go_on)


@pytest.fixture
def place() -> Place:
    return Place()


def test_a_flood_of_parallel_connections_gets_no_more_than_the_budget_of_its_address(place: Place) -> None:
    place.charge(BURST)
    for number in range(CLIENTS):
        place.come(number)

    place.clock.pass_ms(3_000)

    # A tenth of a CPU; without lines each would wait for the same delay, and all go on after it.
    most = 3 * EACH_S.cpu_ns // HANDSHAKE.cpu_ns + 1
    assert most - 5 <= len(place.began_ms) <= most


def test_they_go_on_in_the_order_in_which_they_came(place: Place) -> None:
    place.charge(BURST)
    for number in range(CLIENTS):
        place.come(number)

    place.clock.pass_ms(60_000)

    assert list(place.began_ms) == list(range(CLIENTS))
    assert len(set(place.began_ms.values())) == CLIENTS, "one at a time"
    assert place.clock.waiting == 0


def test_a_fleet_that_knows_its_passwords_gets_in_within_the_time_to_authenticate(place: Place) -> None:
    """2,000 clients behind one address reconnect at once, which the budget would pay for in a minute."""
    fleet = 2_000
    for number in range(fleet):
        place.come(number)
    authenticated = 0
    for _ in range(TIMEOUT_MS // 50):
        begun = len(place.began_ms)
        place.clock.pass_ms(50)  # Those that have begun authenticate within this time.
        for _ in range(authenticated, begun):
            place.turns.forgive(HERE, HANDSHAKE)
        authenticated = begun

    assert len(place.began_ms) == fleet
    assert max(place.began_ms.values()) < TIMEOUT_MS


def test_honest_clients_get_in_beside_a_flood_of_their_address(place: Place) -> None:
    place.charge(BURST)
    for number in range(CLIENTS):
        place.come(number)
    place.come("honest")

    place.clock.pass_ms(TIMEOUT_MS)

    assert place.began_ms["honest"] < TIMEOUT_MS


def test_other_addresses_do_not_wait(place: Place) -> None:
    place.charge(BURST + ENTRY)
    assert place.come("one")

    assert not place.come("other", address=THERE)

    assert list(place.began_ms) == ["other"]


def test_a_network_of_ipv6_is_one_address(place: Place) -> None:
    place.charge(BURST + ENTRY, "2001:db8::1")

    assert place.come("one", address="2001:db8::2")
    assert not place.come("other", address="2001:db8:0:1::2")


def test_without_a_debt_a_connection_goes_on_at_once(place: Place) -> None:
    place.charge(BURST)

    assert not place.come("one")

    assert place.began_ms == {"one": 0}
    assert place.clock.waiting == 0


def test_a_connection_that_ends_leaves_its_line(place: Place) -> None:
    place.charge(BURST + EACH_S)
    place.come("gone")
    place.come("next")
    place.turns.leave(HERE, "gone")
    place.turns.leave(HERE, "gone")
    place.clock.pass_ms(60_000)
    assert list(place.began_ms) == ["next"]

    place.charge(BURST + EACH_S)
    place.come("last")
    place.turns.leave(HERE, "last")

    assert place.clock.waiting == 0
    assert place.turns._lines == place.turns._timers == {}


def test_a_client_that_authenticates_lets_the_next_go_on_sooner(place: Place) -> None:
    place.charge(BURST + EACH_S)
    place.come("one")
    place.clock.pass_ms(10)
    assert not place.began_ms

    place.turns.forgive(HERE, EACH_S)
    place.clock.pass_ms(0)

    assert place.began_ms == {"one": 10}


def test_a_connection_that_fails_when_it_goes_on_does_not_stop_the_line(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    monkeypatch.setattr(
        "bifrost.gateway.admission.address_turns.report", lambda where, _error: reported.append(where)
    )

    def fail() -> None:
        raise ZeroDivisionError

    place.charge(BURST + EACH_S)
    place.turns.enter(HERE, "bad", fail)
    place.come("good")
    place.clock.pass_ms(2_000)

    assert reported == ["address_turn"]
    assert "good" in place.began_ms


def test_each_that_waits_is_counted() -> None:
    place = Place()
    place.charge(BURST + EACH_S)
    for number in range(3):
        place.come(number)

    assert place.failures._hits == {(ADDRESS_COST, ""): 3}


def test_where_failures_delay_nothing_there_is_no_debt() -> None:
    clock = Clock()
    failures = FailedAuthentications(0)
    failures.charge(HERE, BURST + BURST, 0)
    went: list[int] = []

    assert not AddressTurns(failures, clock.now_ms, clock.later).enter(HERE, 1, lambda: went.append(1))
    assert went == [1]


@pytest.mark.parametrize(
    ("configured_ms", "timeout_ms", "delay_ms"), [(1_000, 10_000, 1_000), (1_000, 500, 250), (0, 500, 0)]
)
def test_a_delay_leaves_half_of_the_time_to_authenticate(
    configured_ms: int, timeout_ms: int, delay_ms: int
) -> None:
    limits = Limits(max_authentication_delay_ms=configured_ms, authentication_timeout_ms=timeout_ms)

    assert max_delay_ms(limits) == delay_ms
