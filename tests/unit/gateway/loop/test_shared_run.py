"""Who waits for which run, with a loop and work that the test ends."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bifrost.gateway.loop.shared_run import SharedRun


class Work:
    """Counts its runs; each ends when `end` is set."""

    def __init__(self, error: Exception | None = None) -> None:
        self.runs, self.error, self.end = 0, error, asyncio.Event()

    async def __call__(self) -> None:
        self.runs += 1
        await self.end.wait()
        if self.error is not None:
            raise self.error


def played(scenario: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await scenario()

    asyncio.run(run())


async def waiting(run: SharedRun, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(run.wait()) for _ in range(count)]
    await asyncio.sleep(0.01)
    return tasks


def test_all_wait_for_the_run_of_the_first_and_the_next_begins_another() -> None:
    async def scenario() -> None:
        work = Work()
        run = SharedRun(work)
        assert not run.is_running
        tasks = await waiting(run, 3)
        assert (run.is_running, work.runs) == (True, 1)

        work.end.set()
        await asyncio.gather(*tasks)

        assert not run.is_running
        await run.wait()
        assert work.runs == 2

    played(scenario)


def test_one_that_is_cancelled_ends_its_own_waiting_alone() -> None:
    async def scenario() -> None:
        work = Work()
        run = SharedRun(work)
        first, second = await waiting(run, 2)

        first.cancel()
        await asyncio.wait([first])
        work.end.set()
        await second

        assert (first.cancelled(), work.runs) == (True, 1)

    played(scenario)


def test_an_error_reaches_all_and_is_not_the_next_ones() -> None:
    async def scenario() -> None:
        work = Work(ValueError("why"))
        run = SharedRun(work)
        tasks = await waiting(run, 2)
        work.end.set()
        assert [str(one) for one in await asyncio.gather(*tasks, return_exceptions=True)] == ["why", "why"]

        work.error = None
        await run.wait()

    played(scenario)


def test_a_run_that_nothing_waits_for_any_more_comes_to_its_end() -> None:
    async def scenario() -> None:
        work = Work()
        run = SharedRun(work)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run.wait()
        work.end.set()
        await asyncio.sleep(0.01)

        assert not run.is_running

    played(scenario)
