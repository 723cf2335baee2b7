"""Begins the upkeep of offsets in one of a gateway's processes, once a tenant has virtual partitions."""

import asyncio

from bifrost.gateway.upkeep.context import UpkeepContext

LOOK_S = 1.0
"""Time between two looks whether this process has to do it: a reload may bring the first rule, or a worker end."""


async def look_after_offsets(gateway: UpkeepContext) -> None:
    """Look after the offset groups of a gateway's tenants, for ever."""
    while True:
        has_rules = any(one.virtual_partitions for one in gateway.config.tenants)
        if has_rules and gateway.peers.takes_part():
            break
        await asyncio.sleep(LOOK_S)
    from bifrost.gateway.upkeep.offset_upkeep import OffsetUpkeep  # memory, only if there is something to do

    await OffsetUpkeep(gateway).run()
