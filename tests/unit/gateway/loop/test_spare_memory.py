import asyncio
import itertools

import pytest

from bifrost.gateway.loop import spare_memory
from bifrost.tenancy.recent_records.recent_records import RecentRecords


def test_spare_memory_is_released_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_s, calls, dropped = 0.01, [], list[str]()
    recent = RecentRecords(lambda: 0)
    monkeypatch.setattr(recent, "drop_stale", lambda: dropped.append("what is too old"))
    monkeypatch.setattr(spare_memory, "UNUSED_S", pause_s)

    async def scenario() -> None:
        enough = asyncio.Event()

        def release() -> None:
            calls.append(asyncio.get_running_loop().time())
            if len(calls) == 3:
                enough.set()

        monkeypatch.setattr(spare_memory, "release_spares", release)
        calls.append(asyncio.get_running_loop().time())
        releasing = asyncio.create_task(spare_memory.release_unused(recent))
        await asyncio.wait_for(enough.wait(), 5)
        releasing.cancel()

    asyncio.run(scenario())

    assert len(dropped) == 2
    assert all(later - earlier > pause_s / 2 for earlier, later in itertools.pairwise(calls))
