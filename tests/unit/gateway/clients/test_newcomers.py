"""Who has a place while its client authenticates."""

import random
from collections import Counter

from bifrost.gateway.clients.newcomers import Newcomers
from bifrost.session.close_reason import CloseReason


class Connection:
    def __init__(self, address: str) -> None:
        self.address = address
        self.ended: CloseReason | None = None

    def end(self, reason: CloseReason, detail: str) -> None:
        assert detail
        self.ended = reason


def some(most: int, of_address: int | None = None) -> Newcomers:
    made = Newcomers()
    made.most, made.most_of_address = most, of_address or most
    return made


def came(newcomers: Newcomers, *addresses: str) -> list[Connection]:
    """Let connections come; return those that were let in."""
    made = [Connection(address) for address in addresses]
    return [one for one in made if newcomers.admit(one, one.address) is None]


def test_a_client_that_finds_no_place_is_told_why() -> None:
    newcomers = some(2)
    came(newcomers, "a", "b")

    refusal = newcomers.admit(Connection("c"), "c")

    assert refusal is not None
    assert refusal[0] is CloseReason.UNAUTHENTICATED_CONNECTIONS
    assert len(newcomers) == 2


def test_an_address_that_holds_all_places_keeps_no_other_out() -> None:
    newcomers = some(10)
    flood = came(newcomers, *["flood"] * 10)

    [victim] = came(newcomers, "victim")
    assert came(newcomers, *["flood"] * 50) == []

    assert victim.ended is None
    assert [one.ended for one in flood] == [CloseReason.UNAUTHENTICATED_CONNECTIONS] + [None] * 9
    assert len(newcomers) == 10


def test_many_addresses_that_hold_all_places_keep_no_other_out() -> None:
    newcomers = some(100)
    came(newcomers, *[f"flood-{number % 10}" for number in range(100)])

    victims = came(newcomers, *[f"victim-{number}" for number in range(20)])

    assert len(victims) == 20
    assert not any(one.ended for one in victims)


def test_a_fleet_that_comes_back_at_once_is_served_in_order() -> None:
    newcomers = some(10)

    first = came(newcomers, *[f"host-{number}" for number in range(30)])

    assert [one.address for one in first] == [f"host-{number}" for number in range(10)]
    assert not any(one.ended for one in first)
    for one in first[:4]:
        newcomers.forget(one)
    assert len(came(newcomers, *[f"host-{number}" for number in range(10, 30)])) == 4


def test_an_address_has_no_more_than_it_may() -> None:
    newcomers = some(10, 3)

    assert len(came(newcomers, *["a"] * 5)) == 3
    refusal = newcomers.admit(Connection("a"), "a")
    assert refusal is not None
    assert refusal[0] is CloseReason.ADDRESS_CONNECTIONS
    assert len(came(newcomers, "b")) == 1


def test_an_address_of_ipv6_stands_for_its_network() -> None:
    newcomers = some(10, 2)

    assert len(came(newcomers, "2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")) == 3


def test_behind_a_balancer_the_clients_own_address_counts_once_it_is_known() -> None:
    newcomers = some(10, 2)
    made = [Connection("?") for _ in range(4)]
    assert [newcomers.admit(one, None) for one in made] == [None] * 4

    refusals = [newcomers.locate(one, "a") for one in made[:3]]

    assert [None if one is None else one[0] for one in refusals] == [
        None,
        None,
        CloseReason.ADDRESS_CONNECTIONS,
    ]
    assert newcomers.locate(made[3], "b") is None
    assert newcomers.locate(Connection("gone"), "c") is None
    assert len(newcomers) == 4


def test_a_connection_that_ends_is_forgotten_once() -> None:
    newcomers = some(3)
    [one, *_] = came(newcomers, "a", "a", "b")

    for _ in range(3):
        newcomers.forget(one)

    assert len(newcomers) == 2
    assert len(came(newcomers, "c")) == 1


def test_whatever_comes_and_goes_the_counts_are_right() -> None:
    chance, newcomers = random.Random(7), some(30, 12)
    here: list[Connection] = []
    for _ in range(5_000):
        if here and chance.random() < 0.45:
            newcomers.forget(here.pop(chance.randrange(len(here))))
        else:
            here += came(newcomers, chance.choice("abcdefgh"))
        here = [one for one in here if one.ended is None]
        counts = Counter(one.address for one in here)
        assert len(newcomers) == len(here) <= 30
        assert newcomers._largest == max(counts.values(), default=0) <= 12
        assert {key: len(held) for key, held in newcomers._of_address.items()} == counts
    assert sum(map(len, newcomers._by_count.values())) == len({one.address for one in here})
