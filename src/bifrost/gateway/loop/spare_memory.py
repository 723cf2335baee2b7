"""Gives memory back that large frames have left: what was not needed for a second goes back to the system.

While frames come, the engine keeps up to 10 MiB for the next ones, because memory fresh from the kernel costs as much
as all else that is done for a large frame. It should not be paid for all day long.

The memory of a frame beyond that goes back at once, but in parts of 4 MiB, one in each turn of the event loop: 64 MiB
take 10 ms.
"""

import asyncio
from typing import TYPE_CHECKING

from bifrost.wire.framer import call_when_leaving, release_spares, unmap_part

if TYPE_CHECKING:
    from bifrost.tenancy.recent_records.recent_records import RecentRecords

UNUSED_S = 1.0
"""How long spare memory lies unused before it is given back; it may be twice as long."""


async def release_unused(recent: "RecentRecords | None" = None) -> None:
    """Release spare memory for ever, large blocks in parts, and what of `recent` is too old to be given."""
    loop = asyncio.get_running_loop()

    def unmap() -> None:
        if unmap_part():
            loop.call_soon(unmap)

    call_when_leaving(lambda: loop.call_soon(unmap))
    try:
        while True:
            await asyncio.sleep(UNUSED_S)
            if recent is not None:
                recent.drop_stale()
            release_spares()
    finally:
        call_when_leaving(None)
