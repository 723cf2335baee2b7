"""Gives memory back that large frames have left: what was not needed for a second goes back to the system.

While frames come, the engine keeps up to 10 MiB for the next ones, because memory fresh from the kernel costs as much
as all else that is done for a large frame. Nobody should pay for it all day long.
"""

import asyncio
import gc

from bifrost.wire.engine import release_spares

UNUSED_S = 1.0
"""How long spare memory lies unused before it is given back; it may be twice as long."""


def settle() -> None:
    """Let the garbage collector never again look at what there is now: what a gateway begins with stays.

    A full collection would take 40 ms with it, in which nobody is served. What is no longer referred to is freed all
    the same; only cycles among these objects would stay.
    """
    gc.collect()
    gc.freeze()


async def release_unused() -> None:
    """Release spare memory for ever."""
    while True:
        await asyncio.sleep(UNUSED_S)
        release_spares()
