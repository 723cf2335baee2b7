"""Long work on the event loop, done in steps: between two of them the loop serves connections."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import TypeVar

from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.loop.later import turn_until_ns

STEP_S = 0.0005
"""Work for so long, then others have their turn. With all else in one turn (`loop_turn.pyx`) that is still less than
what counts as a stall (`loop_stalls.py`)."""

LEAST_NS = 100_000
"""Work for so long in a turn of the loop that other kinds of work have used up, 0.1 ms."""

THREAD_TURN_S = 0.0002
"""For `sys.setswitchinterval`: how long Python code in another thread, such as the reading of a configuration,
goes on when the event loop wants to. CPython's 5 ms would delay every request meanwhile."""

_Result = TypeVar("_Result")
_Object = TypeVar("_Object")


class Breaks:
    """The breaks in a long work, in which the event loop serves connections."""

    def __init__(self, step_s: float = STEP_S) -> None:
        """Begin; `step_s` is the time until the next break, in seconds."""
        self._step_s = step_s
        self._until_ns = monotonic_ns() + int(step_s * 1e9)

    async def take(self) -> None:
        """Let others have their turn, if it is time for that."""
        if monotonic_ns() >= self._until_ns:
            await self.take_now()

    async def take_now(self) -> None:
        """Let others have their turn, before a part of the work that is long and must not be split."""
        await asyncio.sleep(0)
        most_ns = int(self._step_s * 1e9)
        self._until_ns = turn_until_ns(most_ns, min(most_ns, LEAST_NS))

    async def between(self, steps: Iterable[None]) -> None:
        """Do all steps, with breaks when it is time for that."""
        for _ in steps:
            await self.take()


def at_once(steps: Generator[None, None, _Result]) -> _Result:
    """Do all steps now, where there is no connection yet that would wait; return what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result


async def in_steps(steps: Generator[None, None, _Result], step_s: float = STEP_S) -> _Result:
    """Do all steps, and let the event loop serve connections now and then.

    Args:
        steps: yields after each small part of the work; what it returns is returned.
        step_s: time for steps in one turn of the loop, in seconds.
    """
    breaks = Breaks(step_s)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result
        await breaks.take()


def let_go_of(objects: list[_Object]) -> Generator[None, None, None]:
    """Drop the objects one by one: CPython frees an object with all that it holds, 10,000 tenants in 20 ms."""
    while objects:
        objects.pop()
        yield


async def one_by_one(works: Iterable[Callable[[], Awaitable[object]]]) -> None:
    """Do one work after the other, and let the event loop serve connections now and then."""
    breaks = Breaks()
    for work in works:
        await work()
        await breaks.take()
