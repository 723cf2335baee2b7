"""Gives memory back that large frames have left: what was not needed for a second goes back to the system.

While frames come, the engine keeps up to 10 MiB for the next ones, because memory fresh from the kernel costs as much
as all else that is done for a large frame. It should not be paid for all day long.
"""

import asyncio

from bifrost.wire.framer import release_spares

UNUSED_S = 1.0
"""How long spare memory lies unused before it is given back; it may be twice as long."""


async def release_unused() -> None:
    """Release spare memory for ever."""
    while True:
        await asyncio.sleep(UNUSED_S)
        release_spares()
