from __future__ import annotations

import asyncio

from bifrost.gateway.sources.reading.process_room import ProcessRoom


def test_the_process_that_was_used_least_of_late_makes_room() -> None:
    async def scenario() -> list[str]:
        room, ended = ProcessRoom(2), []

        async def use(name: str) -> None:
            async with room.turn(name, lambda: ended.append(name)):
                await asyncio.sleep(0)

        for name in ("a", "b", "a", "c", "a"):
            await use(name)
        room.leave("c")
        await use("d")
        return ended

    assert asyncio.run(scenario()) == ["b"]


def test_no_more_work_at_a_time_than_there_may_be_processes() -> None:
    async def scenario() -> int:
        room, most, now = ProcessRoom(2), 0, 0

        async def use(name: int) -> None:
            nonlocal most, now
            async with room.turn(name, lambda: None):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1

        await asyncio.gather(*(use(name) for name in range(10)))
        return most

    assert asyncio.run(scenario()) == 2
