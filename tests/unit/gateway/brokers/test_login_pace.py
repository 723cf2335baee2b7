"""How often a login is tried that fails."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bifrost.gateway.brokers.login_pace import RETRY_MS, LoginPace
from bifrost.gateway.errors import BrokerError, LoginError


class Clock:
    """Time that passes by sleeping."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 1_000
        self._yield = asyncio.sleep
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now_ms += round(seconds * 1000)
        await self._yield(0)


async def attempt(pace: LoginPace, clock: Clock, tried: list[int], error: Exception | None = None) -> None:
    async with pace.attempt(asyncio.get_running_loop().time() + 10):
        tried.append(clock.now_ms)
        await asyncio.sleep(0)
        if error is not None:
            raise error


def played(monkeypatch: pytest.MonkeyPatch, scenario: Callable[[LoginPace, Clock], Awaitable[None]]) -> None:
    clock = Clock(monkeypatch)
    asyncio.run(scenario(LoginPace(lambda: clock.now_ms), clock))  # type: ignore[arg-type]


def test_while_logins_succeed_no_attempt_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pace: LoginPace, clock: Clock) -> None:
        tried: list[int] = []
        await asyncio.gather(*(attempt(pace, clock, tried) for _ in range(5)))
        assert tried == [1_000] * 5

    played(monkeypatch, scenario)


def test_after_a_failure_one_is_tried_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pace: LoginPace, clock: Clock) -> None:
        tried: list[int] = []
        refused = LoginError("refused")
        first = await asyncio.gather(attempt(pace, clock, tried, refused), return_exceptions=True)
        assert first == [refused]
        await asyncio.gather(
            *(attempt(pace, clock, tried, refused) for _ in range(3)), return_exceptions=True
        )
        assert tried == [1_000 + number * RETRY_MS for number in range(4)]

    played(monkeypatch, scenario)


def test_the_first_success_lets_all_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pace: LoginPace, clock: Clock) -> None:
        tried: list[int] = []
        with pytest.raises(LoginError):
            await attempt(pace, clock, tried, LoginError("refused"))

        await asyncio.gather(*(attempt(pace, clock, tried) for _ in range(5)))

        assert tried == [1_000] + [2_000] * 5

    played(monkeypatch, scenario)


def test_a_broker_that_is_away_is_no_failed_login(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(pace: LoginPace, clock: Clock) -> None:
        tried: list[int] = []
        for _ in range(3):
            with pytest.raises(BrokerError):
                await attempt(pace, clock, tried, BrokerError("refused"))

        assert tried == [1_000] * 3

    played(monkeypatch, scenario)


def test_who_waits_for_too_long_is_told_why() -> None:
    async def scenario() -> None:
        pace = LoginPace(lambda: 0)
        with pytest.raises(LoginError):
            async with pace.attempt(0):
                raise LoginError("refused")

        soon = asyncio.get_running_loop().time() + 0.02
        waiting = [asyncio.create_task(_enter(pace, soon)) for _ in range(3)]
        done, _ = await asyncio.wait(waiting)

        expected = "not tried in time, for the last login failed: refused"
        assert [str(one.exception()) for one in done] == [expected] * 3

    asyncio.run(scenario())


def test_who_goes_leaves_the_line() -> None:
    async def scenario() -> None:
        now = [0]
        pace = LoginPace(lambda: now[0])
        with pytest.raises(LoginError):
            async with pace.attempt(0):
                raise LoginError("refused")
        later = asyncio.get_running_loop().time() + 5
        gone = asyncio.create_task(_enter(pace, later))
        behind = asyncio.create_task(_enter(pace, later))
        await asyncio.sleep(0.01)
        now[0] = RETRY_MS

        gone.cancel()
        await asyncio.wait([behind], timeout=2)

        assert behind.done()
        assert behind.exception() is None

    asyncio.run(scenario())


def test_workers_together_try_no_more_often_than_one_process() -> None:
    async def scenario() -> None:
        now = [0]
        pace = LoginPace(lambda: now[0], workers=3)
        with pytest.raises(LoginError):
            async with pace.attempt(0):
                raise LoginError("refused")
        for now_ms, is_tried in ((RETRY_MS, False), (3 * RETRY_MS, True)):
            now[0] = now_ms
            soon = asyncio.get_running_loop().time() + 0.05
            if is_tried:
                await _enter(pace, soon)
            else:
                with pytest.raises(LoginError, match="not tried in time"):
                    await _enter(pace, soon)
        assert not pace.has_failed

    asyncio.run(scenario())


async def _enter(pace: LoginPace, deadline: float) -> None:
    async with pace.attempt(deadline):
        pass
