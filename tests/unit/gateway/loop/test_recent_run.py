"""When a run begins and who waits for it, with a clock and work of the test."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop import recent_run as module
from bifrost.gateway.loop.recent_run import RecentRun

RECENT_MS = 1_000


class Work:
    """Counts its runs; each ends when `end` is set."""

    def __init__(self) -> None:
        self.now_ms, self.runs = 5_000, 0
        self.error: Exception | None = None
        self.end = asyncio.Event()
        self.end.set()
        self.recent = RecentRun("refresh", self, RECENT_MS, lambda: self.now_ms, upstream="main")

    async def __call__(self) -> None:
        self.runs += 1
        await self.end.wait()
        if self.error is not None:
            raise self.error

    async def waiting(self, count: int = 1) -> list[asyncio.Task[None]]:
        """Let some wait, until they can go on no further."""
        tasks = [asyncio.create_task(self.recent.wait()) for _ in range(count)]
        await self.turns()
        return tasks

    async def turns(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def played(scenario: Callable[[Work], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario(Work())

    asyncio.run(run())


def test_a_result_is_used_until_it_is_as_old_as_it_may_be() -> None:
    async def scenario(work: Work) -> None:
        assert not work.recent.is_recent
        await work.recent.wait()

        work.now_ms += RECENT_MS - 1
        assert work.recent.is_recent
        await work.recent.wait()
        assert work.runs == 1

        work.now_ms += 1
        assert not work.recent.is_recent
        await work.recent.wait()
        assert work.runs == 2

    played(scenario)


def test_however_many_need_it_there_is_one_run_in_the_time() -> None:
    async def scenario(work: Work) -> None:
        work.end.clear()
        tasks = await work.waiting(100)
        assert (work.runs, any(one.done() for one in tasks)) == (1, False)

        work.end.set()
        await asyncio.gather(*tasks)
        for _ in range(100):
            await work.recent.wait()

        assert work.runs == 1

    played(scenario)


def test_a_result_is_as_old_as_the_beginning_of_its_run() -> None:
    async def scenario(work: Work) -> None:
        work.end.clear()
        (first,) = await work.waiting()
        work.now_ms += RECENT_MS
        (late,) = await work.waiting()
        work.end.set()
        await asyncio.gather(first, late)

        assert work.runs == 2, "what the first run has found may be older than the second caller may use"

    played(scenario)


def test_one_that_is_cancelled_leaves_the_run_to_the_others() -> None:
    async def scenario(work: Work) -> None:
        work.end.clear()
        first, second = await work.waiting(2)
        first.cancel()
        work.end.set()
        await second

        assert (first.cancelled(), work.runs) == (True, 1)

    played(scenario)


def test_a_run_that_fails_is_logged_and_not_tried_again_at_once() -> None:
    async def scenario(work: Work) -> None:
        work.error = BrokerError("connection refused")
        await work.recent.wait()
        await work.recent.wait()
        assert work.runs == 1

        work.error = ValueError("a bug")
        work.now_ms += RECENT_MS
        await work.recent.wait()
        assert work.runs == 2

    with capture_logs() as logged:
        played(scenario)

    assert [(one["event"], one["upstream"]) for one in logged] == [
        ("refresh_failed", "main"),
        ("internal_error", "main"),
    ]
    assert [one.get("error") for one in logged] == ["connection refused", None]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_S", 0.01)

    async def scenario(work: Work) -> None:
        work.end.clear()
        await work.recent.wait()
        assert not work.recent.is_recent

        work.end.set()
        await work.turns()
        assert (work.recent.is_recent, work.runs) == (True, 1)

    played(scenario)
