"""Limits of requests in flight that several processes share: here two `InFlightLimits` on one memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bifrost.forwarding.in_flight_limits import LOOK_AGAIN_S, UNLIMITED, InFlightLimits
from bifrost.forwarding.lane import Awaited
from bifrost.forwarding.load import Load
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import new_lane

TENANTS = ("acme", "globex")
STRIDE = 2 * (len(TENANTS) + 1)


class Process:
    """One of them."""

    def __init__(self, memory: memoryview, number: int, processes: int, of_all: int, most: int) -> None:
        self.later: list[Callable[[], None]] = []
        self.soon: list[Callable[[], None]] = []

        def new_load(tenant: str | None, of_all: Load | None) -> Load:
            place = 0 if tenant is None else 1 + TENANTS.index(tenant)
            return Load(of_all, (memory[place * 16 :], STRIDE, processes, number))

        self.limits = InFlightLimits(self.soon.append, new_load, self._again)
        self.limits.limit(of_all, dict.fromkeys(TENANTS, most))
        self.awaited: dict[str, list[Awaited]] = {name: [] for name in TENANTS}
        self.has_turns = 0

    def _again(self, delay_s: float, call: Callable[[], None]) -> None:
        assert delay_s == LOOK_AGAIN_S
        self.later.append(call)

    def send(self, tenant: str = "acme") -> bool:
        """Send a request if there is room."""
        load = self.limits.load(tenant)
        if load.is_full:
            return False
        lane = new_lane(ApiKey.HEARTBEAT, 4, load=load)
        self.awaited[tenant].append(Awaited(1, lane, None))
        return True

    def answer(self, tenant: str = "acme") -> None:
        self.awaited[tenant].pop(0).finish(10)

    def wait(self, tenant: str = "acme") -> None:
        self.limits.wait(tenant, self)

    def take_turn(self) -> None:
        self.has_turns += 1
        self.send()

    def turn(self) -> None:
        """Do what is due now, and look again once."""
        later, self.later = self.later, []
        for call in later:
            call()
        while self.soon:
            self.soon.pop(0)()


def processes(count: int = 2, *, of_all: int = UNLIMITED, most: int = UNLIMITED) -> list[Process]:
    memory = memoryview(bytearray(8 * STRIDE * count))
    return [Process(memory, number, count, of_all, most) for number in range(count)]


def test_a_tenants_limit_is_of_all() -> None:
    one, other = processes(most=3)

    assert [one.send(), other.send(), one.send(), other.send(), one.send()] == [
        True,
        True,
        True,
        False,
        False,
    ]
    one.answer()
    assert other.send()
    assert not one.send()
    assert other.send("globex")


def test_the_limit_of_all_tenants_is_of_all() -> None:
    one, other = processes(of_all=2)

    assert [one.send("acme"), other.send("globex"), one.send("globex"), other.send("acme")] == [
        True,
        True,
        False,
        False,
    ]


def test_without_a_limit_no_process_looks_at_the_others() -> None:
    one, other = processes()

    assert all(one.send() and other.send() for _ in range(1000))


def test_who_waits_finds_the_room_that_another_makes() -> None:
    one, other = processes(most=2)
    assert one.send()
    assert one.send()
    other.wait()
    other.turn()
    assert other.has_turns == 0

    one.answer()
    other.turn()

    assert other.has_turns == 1
    other.turn()
    assert other.later == [], "no connection waits any more"


def test_who_has_more_than_its_part_leaves_room_to_whom_waits() -> None:
    one, other = processes(most=4)
    assert [one.send() for _ in range(5)] == [True] * 4 + [False]
    other.wait()

    one.answer()

    assert not one.send(), "it has three of four, and another waits"
    other.turn()
    assert other.has_turns == 1
    assert not one.send()
    one.answer()
    assert one.send(), "no other connection waits any more"


def test_a_limit_below_the_number_of_processes_goes_round() -> None:
    one, other = processes(most=1)
    for process in (one, other):
        process.limits.load("acme").waiting = 1
    for process in (one, other):
        found = False
        for _ in range(100_000_000):
            if process.limits.load("acme").has_room:
                found = True
                break
        assert found, "its slice of the time comes"


def test_what_is_in_flight_is_told_of_each_process_alone() -> None:
    one, other = processes(most=5)
    one.send()
    other.send()
    other.send()

    assert (dict(one.limits)["acme"], dict(other.limits)["acme"]) == (1, 2)


@pytest.mark.parametrize("share", [(2, 2, 2), (4, 2, -1), (1, 1, 0), (2, 1, 1)])
def test_too_little_memory_is_an_error(share: tuple[int, int, int]) -> None:
    stride, count, number = share

    with pytest.raises(ValueError, match="not enough memory"):
        Load(None, (memoryview(bytearray(16)), stride, count, number))
