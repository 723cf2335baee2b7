"""Checks of passwords: in a thread, one at a time, in turns of addresses, and charged to them."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.authentication.accounts import Account, PasswordCheck
from bifrost.authentication.address_costs import BURST, EACH_S, NO_COST, Cost
from bifrost.authentication.failed_authentications import FailedAuthentications
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.gateway.admission.password_checks import CHECK_LIMIT, PasswordChecks

HERE, THERE = "192.0.2.1", "198.51.100.1"
VERIFIER = ScramVerifier.derive(Mechanism.SCRAM_SHA_512, b"right", b"a salt of 16 byt", 4096)
ACCOUNT = Account("acme", "acme", verifiers={VERIFIER.mechanism: VERIFIER})


class Place:
    """The checks of a gateway, and what came of them, in order."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.failures = FailedAuthentications(1_000)
        self.checks = PasswordChecks(self.failures, lambda: self.now_ms)
        self.done: list[tuple[object, bool, Cost]] = []
        self._has_come = asyncio.Event()

    def add(
        self, one: object, address: str = HERE, tenant: str | None = None, password: bytes = b"right"
    ) -> PasswordCheck:
        check = PasswordCheck(ACCOUNT, password, VERIFIER)

        def note(cost: Cost) -> None:
            self.done.append((one, check.account is ACCOUNT, cost))
            self._has_come.set()

        self.checks.add(address, tenant, one, check, note)
        return check

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.done) < count:
                self._has_come.clear()
                await self._has_come.wait()

    @property
    def order(self) -> list[object]:
        return [one for one, _, _ in self.done]


def play(scenario: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(Place())

    asyncio.run(run())


def test_a_check_runs_and_says_whether_the_password_is_right() -> None:
    async def scenario(place: Place) -> None:
        place.add("one")
        place.add("two", password=b"wrong")
        assert place.done == []

        await place.wait(2)

        assert [(one, is_right) for one, is_right, _ in place.done] == [("one", True), ("two", False)]
        assert all(1e5 < cost.cpu_ns < 1e9 for _, _, cost in place.done)
        assert place.failures._hits == {(CHECK_LIMIT, ""): 1}, "the second waited for the first"
        assert len(place.checks) == 0

    play(scenario)


def test_the_event_loop_computes_none_of_it() -> None:
    async def scenario(place: Place) -> None:
        began_ns = time.thread_time_ns()
        for number in range(100):
            place.add(number)
        await place.wait(100)
        spent_ns = time.thread_time_ns() - began_ns

        # A run of PBKDF2 takes some 3 ms here; what the loop does for one is a tenth of a millisecond.
        assert sum(cost.cpu_ns for _, _, cost in place.done) > 2 * spent_ns

    play(scenario)


def test_one_check_runs_at_a_time_in_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    running: list[int] = []

    def matches(_self: ScramVerifier, _password: bytes) -> bool:
        running.append(1)
        assert len(running) == 1
        threads.add(threading.get_ident())
        time.sleep(0.001)
        running.pop()
        return True

    monkeypatch.setattr(ScramVerifier, "matches", matches)

    async def scenario(place: Place) -> None:
        for number in range(20):
            place.add(number, address=f"192.0.2.{number}")
        await place.wait(20)

        assert all(is_right for _, is_right, _ in place.done)
        assert len(threads) == 1
        assert threads != {threading.get_ident()}

    play(scenario)


def test_a_flood_of_one_address_keeps_another_waiting_for_one_check() -> None:
    async def scenario(place: Place) -> None:
        for number in range(100):
            place.add(number)
        await place.wait(1)
        place.add("other", address=THERE)
        before = len(place.done)

        await place.wait(before + 3)

        assert "other" in place.order[: before + 3]

    play(scenario)


def test_an_address_in_debt_waits_until_it_is_paid_and_others_do_not() -> None:
    async def scenario(place: Place) -> None:
        place.failures.charge(HERE, BURST + EACH_S, place.now_ms)
        place.add("here")
        place.add("there", address=THERE)
        await place.wait(1)
        await asyncio.sleep(0.05)
        assert place.order == ["there"]

        place.now_ms += 1_000
        place.checks.forgiven()
        await place.wait(2)

        assert place.order == ["there", "here"]

    play(scenario)


def test_many_connections_of_one_address_cannot_make_more_checks_than_its_budget() -> None:
    async def scenario(place: Place) -> None:
        place.failures.charge(HERE, BURST, place.now_ms)
        for number in range(200):
            place.add(number, password=b"wrong")

        await place.wait(1)
        await asyncio.sleep(0.1)

        # The first makes the debt, which the clock, as it stands still, does not pay.
        assert place.order == [0]
        assert len(place.checks) == 199

    play(scenario)


def test_a_check_is_charged_to_its_address() -> None:
    async def scenario(place: Place) -> None:
        place.failures.charge(HERE, BURST, place.now_ms)
        place.add("one")
        await place.wait(1)

        assert place.failures.debt_ms(HERE, place.now_ms) > 0
        place.failures.forgive(HERE, place.done[0][2], place.now_ms)
        assert place.failures.debt_ms(HERE, place.now_ms) == 0

    play(scenario)


def test_a_client_that_authenticates_again_waits_for_no_debt_and_makes_none() -> None:
    async def scenario(place: Place) -> None:
        place.failures.charge(HERE, BURST + EACH_S, place.now_ms)
        place.add("known", tenant="acme")

        await place.wait(1)

        assert place.done == [("known", True, NO_COST)]
        assert place.failures.debt_ms(HERE, place.now_ms) == 1_000

    play(scenario)


def test_a_connection_that_has_ended_leaves() -> None:
    async def scenario(place: Place) -> None:
        place.failures.charge(HERE, BURST + EACH_S, place.now_ms)
        place.add("gone")
        place.checks.leave(HERE, None, "gone")
        place.checks.leave(HERE, None, "gone")
        place.add("other", address=THERE)
        await place.wait(1)
        await asyncio.sleep(0.01)

        assert place.order == ["other"]
        assert place.checks._lines == {}
        assert place.checks._task is None

    play(scenario)


def test_what_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[str] = []
    monkeypatch.setattr(
        "bifrost.gateway.admission.password_checks.report", lambda where, _error: reported.append(where)
    )

    def fail(_cost: Any) -> None:
        raise ZeroDivisionError

    async def scenario(place: Place) -> None:
        place.checks.add(HERE, None, "bad", PasswordCheck(ACCOUNT, b"right", VERIFIER), fail)
        place.checks.add(HERE, None, "worse", PasswordCheck(ACCOUNT, b"", object()), fail)  # type: ignore[arg-type]
        place.add("good")

        await place.wait(1)

        assert place.order == ["good"]
        assert reported == ["password_check"] * 2

    play(scenario)
