import asyncio
import itertools
import subprocess
import sys

import pytest

from bifrost.gateway.loop import spare_memory


def test_spare_memory_is_released_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_s, calls = 0.01, []
    monkeypatch.setattr(spare_memory, "UNUSED_S", pause_s)

    async def scenario() -> None:
        enough = asyncio.Event()

        def release() -> None:
            calls.append(asyncio.get_running_loop().time())
            if len(calls) == 3:
                enough.set()

        monkeypatch.setattr(spare_memory, "release_spares", release)
        calls.append(asyncio.get_running_loop().time())
        releasing = asyncio.create_task(spare_memory.release_unused())
        await asyncio.wait_for(enough.wait(), 5)
        releasing.cancel()

    asyncio.run(scenario())

    assert all(later - earlier > pause_s / 2 for earlier, later in itertools.pairwise(calls))


def test_a_full_collection_is_made_when_it_is_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    due, made = [spare_memory.OVERDUE - 1], asyncio.Event()
    monkeypatch.setattr(spare_memory, "UNUSED_S", 0.001)
    monkeypatch.setattr(spare_memory.gc, "get_count", lambda: (0, 0, due[0]))
    monkeypatch.setattr(spare_memory.gc, "collect", made.set)

    async def scenario() -> None:
        releasing = asyncio.create_task(spare_memory.release_unused())
        await asyncio.sleep(0.02)
        assert not made.is_set()
        due[0] = spare_memory.OVERDUE
        await asyncio.wait_for(made.wait(), 5)
        releasing.cancel()

    asyncio.run(scenario())


@pytest.mark.parametrize(("is_busy", "oldest"), [(True, "1"), (False, "2")])
def test_no_full_collection_is_made_by_itself_while_large_work_is_under_way(
    is_busy: bool, oldest: str
) -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop.spare_memory import hold_collections_back, settle\n"
        "settle()\n"
        f"hold_collections_back({is_busy})\n"
        "made = []\n"
        "gc.callbacks.append(lambda phase, info: made.append(info['generation']))\n"
        "kept = [[number] for number in range(300_000)]\n"
        "print(max(made))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == oldest
