"""Turns of connections whose requests wait to be routed: each gets one, and the loop goes on meanwhile."""

import asyncio
import time

import pytest

from bifrost.gateway.routing.route_turns import (
    AT_ONCE,
    AT_ONCE_BYTES,
    SLICE_NS,
    RouteTurns,
    count_at_once,
    turns_of,
)


async def until_done(turns: RouteTurns) -> int:
    """Return how many turns of the loop it took to route all."""
    for ticks in range(1000):
        if not turns:
            return ticks
        await asyncio.sleep(0)
    raise AssertionError("it has no end")


def test_tenants_and_their_connections_take_turns() -> None:
    routed = list[str]()

    async def route() -> None:
        turns = RouteTurns(asyncio.get_running_loop())
        for name, count in (("a1", 3), ("a2", 2), ("b", 2)):
            left = [name] * count

            def route_one(left: list[str] = left) -> bool:
                routed.append(left.pop())
                return bool(left)

            turns.wait(name[0], route_one)
        assert turns.has("a")
        assert not turns.has("c")
        await until_done(turns)

    asyncio.run(route())

    assert routed == ["a1", "b", "a2", "b", "a1", "a2", "a1"]


def test_a_long_work_is_done_in_turns_with_other_requests() -> None:
    done = list[str]()

    async def scenario() -> None:
        turns = RouteTurns(asyncio.get_running_loop())

        def step(name: str, count: int) -> bool:
            done.append(name)
            return done.count(name) < count

        await asyncio.gather(
            turns.all_of("a", lambda: step("a1", 3)),
            turns.all_of("a", lambda: step("a2", 1)),
            turns.all_of("b", lambda: step("b", 2)),
        )
        assert not turns

    asyncio.run(scenario())

    assert done == ["a1", "b", "a2", "b", "a1", "a1"]


def test_a_long_work_that_fails_or_is_not_waited_for_goes_no_further() -> None:
    steps = list[str]()

    def failing() -> bool:
        raise ValueError("no")

    def endless() -> bool:
        steps.append("endless")
        return True

    async def scenario() -> None:
        turns = RouteTurns(asyncio.get_running_loop())
        with pytest.raises(ValueError, match="no"):
            await turns.all_of("a", failing)
        waiting = asyncio.create_task(turns.all_of("a", endless))
        await asyncio.sleep(0)  # It begins to wait for its turn,
        await asyncio.sleep(0)  # and has it.
        assert steps
        waiting.cancel()
        await until_done(turns)

    asyncio.run(scenario())


def test_the_loop_goes_on_after_a_slice() -> None:
    left = list(range(5))

    async def route() -> int:
        turns = RouteTurns(asyncio.get_running_loop())

        def route_one() -> bool:
            time.sleep(SLICE_NS / 1e9)
            left.pop()
            return bool(left)

        turns.wait(None, route_one)
        return await until_done(turns)

    ticks = asyncio.run(route())

    assert left == []
    assert ticks >= 5


def test_all_connections_of_a_loop_have_the_same() -> None:
    async def ask() -> bool:
        loop = asyncio.get_running_loop()
        return turns_of(loop) is turns_of(loop)

    assert asyncio.run(ask())


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], 0),
        ([100], 1),
        ([100] * 10, AT_ONCE),
        ([AT_ONCE_BYTES], 1),
        ([AT_ONCE_BYTES + 1], 0),
        ([100, AT_ONCE_BYTES, 100], 1),
    ],
)
def test_a_few_small_frames_are_routed_at_once(sizes: list[int], expected: int) -> None:
    frames = [[bytes(size // 2), memoryview(bytes(size - size // 2))] for size in sizes]

    assert count_at_once(frames) == expected
