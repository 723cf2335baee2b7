"""Long work on the event loop, done in steps: between two of them the loop serves connections."""

import asyncio
from collections.abc import Generator
from time import perf_counter
from typing import TypeVar

STEP_S = 0.0005
"""Work for so long, then others have their turn. With a slice of a large request in one turn (`forwarding/turns.py`,
1 ms) that is still less than what counts as a stall (`loop_stalls.py`)."""

THREAD_TURN_S = 0.0002
"""For `sys.setswitchinterval`: how long Python code in another thread, such as the reading of a configuration,
goes on when the event loop wants to. CPython's 5 ms would delay every request meanwhile."""

_Result = TypeVar("_Result")


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
    until_s = perf_counter() + step_s
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result
        if perf_counter() >= until_s:
            await asyncio.sleep(0)
            until_s = perf_counter() + step_s
