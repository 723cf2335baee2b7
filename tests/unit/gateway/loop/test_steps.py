"""Long work in steps, between which the event loop serves others."""

import asyncio
import time
from collections.abc import Generator

import pytest

from bifrost.gateway.loop.steps import STEP_S, at_once, in_steps, one_by_one


def work(seconds: float, parts: int) -> Generator[None, None, int]:
    for _ in range(parts):
        until_s = time.perf_counter() + seconds / parts
        while time.perf_counter() < until_s:
            pass
        yield
    return parts


def test_what_the_steps_return_is_returned() -> None:
    assert at_once(work(0, 3)) == 3
    assert asyncio.run(in_steps(work(0, 3))) == 3
    assert asyncio.run(in_steps(work(0, 0))) == 0


def test_others_have_their_turn_after_each_step() -> None:
    turns = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async def scenario() -> None:
        task = asyncio.create_task(others())
        await in_steps(work(20 * STEP_S, 200))
        task.cancel()

    asyncio.run(scenario())

    assert len(turns) >= 15


def test_an_error_of_a_step_is_the_callers() -> None:
    def broken() -> Generator[None, None, None]:
        yield
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(in_steps(broken()))
    with pytest.raises(ValueError, match="no"):
        at_once(broken())


def test_works_that_wait_themselves_have_breaks_between_them() -> None:
    turns, done = [], []

    async def others() -> None:
        while True:
            turns.append(len(done))
            await asyncio.sleep(0)

    async def one() -> None:
        until_s = time.perf_counter() + 2 * STEP_S
        while time.perf_counter() < until_s:
            pass
        done.append(1)

    async def scenario() -> None:
        task = asyncio.create_task(others())
        await one_by_one([one] * 3)
        task.cancel()

    asyncio.run(scenario())

    assert {1, 2, 3} <= set(turns)
