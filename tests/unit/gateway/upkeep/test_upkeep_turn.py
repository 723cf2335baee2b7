import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.upkeep import upkeep_turn
from bifrost.gateway.upkeep.offset_upkeep import OffsetUpkeep
from bifrost.gateway.upkeep.upkeep_turn import look_after_offsets


def test_one_process_begins_once_a_tenant_has_virtual_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep_turn, "LOOK_S", 0)
    begun, asked = [], []
    tenant = SimpleNamespace(virtual_partitions=[])

    def takes_part() -> bool:
        asked.append(tenant.virtual_partitions)
        return len(asked) > 1

    gateway: Any = SimpleNamespace(
        config=SimpleNamespace(tenants=[tenant]), peers=SimpleNamespace(takes_part=takes_part)
    )

    async def run(self: OffsetUpkeep) -> None:
        begun.append(self)

    async def play() -> None:
        task = asyncio.create_task(look_after_offsets(gateway))
        for _ in range(5):
            await asyncio.sleep(0)
        assert asked == []
        tenant.virtual_partitions = ["a rule"]
        await task

    monkeypatch.setattr(OffsetUpkeep, "run", run)
    asyncio.run(play())

    assert len(begun) == 1
    assert len(asked) == 2, "another process had its turn first"
