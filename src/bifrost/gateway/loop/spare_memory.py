"""Gives memory back that large frames have left: what was not needed for a second goes back to the system.

While frames come, the engine keeps up to 10 MiB for the next ones, because memory fresh from the kernel costs as much
as all else that is done for a large frame. Nobody should pay for it all day long.
"""

import asyncio
import gc
from collections.abc import Callable

from bifrost.wire.engine import release_spares

UNUSED_S = 1.0
"""How long spare memory lies unused before it is given back; it may be twice as long."""

DUE, OVERDUE = 10, 1_000
"""Collections of the middle generation after which a full one is due, as in CPython (gc.get_threshold), and after which
it is made although large work is under way. A full one goes through all lists there are; with those of a large request
it takes 10 ms or more, and large requests would bring it about again and again."""

NEVER = 2**31 - 1
"""A threshold for full collections that is not reached: the gateway makes them itself, see `collect`."""


def settle() -> None:
    """Let the garbage collector never again look at what there is now: what a gateway begins with stays.

    A full collection would take 40 ms with it, in which nobody is served. What is no longer referred to is freed all
    the same; only cycles among these objects would stay.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)


def collect(is_busy: bool) -> None:
    """Look for cycles among all that was made since the start, if that is due; if `is_busy`, only if overdue."""
    if gc.get_count()[2] >= (OVERDUE if is_busy else DUE):
        gc.collect()


async def release_unused(is_busy: Callable[[], bool]) -> None:
    """Release spare memory and collect cycles for ever; `is_busy` says whether large work is under way."""
    while True:
        await asyncio.sleep(UNUSED_S)
        release_spares()
        collect(is_busy())
