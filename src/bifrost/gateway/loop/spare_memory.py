"""Gives memory back that large frames have left: what was not needed for a second goes back to the system.

While frames come, the engine keeps up to 10 MiB for the next ones, because memory fresh from the kernel costs as much
as all else that is done for a large frame. It should not be paid for all day long.
"""

import asyncio
import gc

from bifrost.wire.engine import release_spares

UNUSED_S = 1.0
"""How long spare memory lies unused before it is given back; it may be twice as long."""

DUE = 10
"""Collections of the middle generation after which a full one is due: CPython's own (gc.get_threshold)."""

OVERDUE = 100
"""Collections of the middle generation after which a full one is made although large work is under way."""

NEVER = 2**31 - 1
"""A threshold that is not reached."""


def settle() -> None:
    """Let the garbage collector never again look at what there is now: what a gateway begins with stays.

    A full collection would take 40 ms with it, in which no client is served. What is no longer referred to is freed all
    the same; only cycles among these objects would stay.
    """
    gc.collect()
    gc.freeze()


def hold_collections_back(is_busy: bool) -> None:
    """Let the garbage collector make no full collection while large work is under way.

    A full one goes through all lists there are. With those of a large request it takes 10 ms or more, and large
    requests would bring it about again and again.
    """
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER if is_busy else DUE)


async def release_unused() -> None:
    """Release spare memory for ever, and make the full collections that are overdue."""
    while True:
        await asyncio.sleep(UNUSED_S)
        release_spares()
        if gc.get_count()[2] >= OVERDUE:
            gc.collect()
