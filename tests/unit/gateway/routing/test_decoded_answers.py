"""Answers that are decoded at a single address: others have their turns while a large one is made."""

import asyncio
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from bifrost.gateway.routing.decoded_answers import AT_ONCE_BYTES, give_decoded
from bifrost.gateway.routing.route_turns import RouteTurns
from bifrost.wire.steps import in_steps

ITEMS = 400
ITEM_S = 0.00005
"""All items take 20 ms, or forty slices."""


class PlayedRouter:
    """What gives an answer its place, and does what is done beside the requests."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.turns = RouteTurns(self.loop)
        self.answers: list[Any] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.is_closed = False

    def answer(self, _turn: object, frame: bytes) -> None:
        self.answers.append(frame)

    def start(self, awaitable: Any) -> None:
        self.tasks.append(self.loop.create_task(awaitable))

    async def in_turns(self, step: Callable[[], bool]) -> None:
        await self.turns.all_of("acme", step)


def made(left: list[int]) -> bytes:
    """Make an answer of many items; what is left of them tells how far it is."""
    try:
        for _ in in_steps(range(ITEMS)):
            until_s = time.perf_counter() + ITEM_S
            while time.perf_counter() < until_s:
                pass
            left[0] -= 1
        return b"answer"
    finally:
        left.append(0)


def give(router: PlayedRouter, size: int, left: list[int]) -> None:
    give_decoded(router, object(), size, lambda: made(left))  # type: ignore[arg-type]


async def until(is_so: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if is_so():
            return
        await asyncio.sleep(0)
    raise AssertionError("it is never so")


def test_a_small_answer_is_given_at_once() -> None:
    async def scenario() -> None:
        router = PlayedRouter()
        give(router, AT_ONCE_BYTES, [ITEMS])
        assert router.answers == [b"answer"]
        assert not router.tasks

    asyncio.run(scenario())


def test_a_large_answer_is_made_in_turns_with_others() -> None:
    async def scenario() -> list[int]:
        router, left, seen = PlayedRouter(), [ITEMS], list[int]()
        give(router, AT_ONCE_BYTES + 1, left)
        while not router.answers:
            seen.append(left[0])
            await asyncio.sleep(0)
        assert router.answers == [b"answer"]
        return seen

    seen = asyncio.run(scenario())

    assert len(set(seen)) > 10
    assert max(before - after for before, after in pairwise(seen)) < ITEMS / 4


def test_two_large_answers_are_made_side_by_side() -> None:
    async def scenario() -> None:
        router, one, other = PlayedRouter(), [ITEMS], [ITEMS]
        give(router, AT_ONCE_BYTES + 1, one)
        give(router, AT_ONCE_BYTES + 1, other)
        await until(lambda: bool(router.answers))
        assert min(one[0], other[0]) == 0
        assert max(one[0], other[0]) < ITEMS / 2

    asyncio.run(scenario())


def test_a_client_that_leaves_meanwhile_ends_the_work() -> None:
    async def scenario() -> None:
        router, left = PlayedRouter(), [ITEMS]
        give(router, AT_ONCE_BYTES + 1, left)
        await until(lambda: left[0] < ITEMS)
        router.is_closed = True
        router.tasks[0].cancel()
        await asyncio.gather(*router.tasks, return_exceptions=True)
        assert 0 < left[0] < ITEMS
        assert left[1:] == [0], "its code was left as by an exception"
        await asyncio.sleep(0.01)
        assert not router.turns
        assert not router.answers

    asyncio.run(scenario())


def test_what_cannot_be_read_is_an_error_of_the_connection() -> None:
    def fail() -> bytes:
        raise ValueError("not readable")

    async def scenario() -> None:
        router = PlayedRouter()
        give_decoded(router, object(), AT_ONCE_BYTES + 1, fail)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="not readable"):
            await router.tasks[0]
        assert not router.answers

    asyncio.run(scenario())
