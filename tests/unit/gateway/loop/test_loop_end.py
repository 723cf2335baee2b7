"""What is called when an event loop ends."""

import asyncio

import pytest
import uvloop

from bifrost.gateway.loop.loop_end import LoopEnd


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_it_calls_once_behind_the_last_task(run: object) -> None:
    calls: list[str] = []

    async def work() -> None:
        kept.append(LoopEnd(lambda: calls.append("the end")))
        await asyncio.sleep(0)
        calls.append("work")

    kept: list[LoopEnd] = []
    for _ in range(2):
        run(work())  # type: ignore[operator]

    assert calls == ["work", "the end"] * 2


def test_it_calls_while_the_loop_can_still_be_used() -> None:
    used: list[bool] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        kept.append(LoopEnd(lambda: used.append(loop.is_running() and not loop.is_closed())))

    kept: list[LoopEnd] = []
    uvloop.run(work())

    assert used == [True]
