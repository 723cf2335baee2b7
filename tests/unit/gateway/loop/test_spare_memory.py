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
        releasing = asyncio.create_task(spare_memory.release_unused(lambda: False))
        await asyncio.wait_for(enough.wait(), 5)
        releasing.cancel()

    asyncio.run(scenario())

    assert all(later - earlier > pause_s / 2 for earlier, later in itertools.pairwise(calls))


@pytest.fixture
def full_collections(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What is put in whenever a full collection is made; the collector says that `due` of the middle ones were."""
    made: list[int] = []
    monkeypatch.setattr(spare_memory.gc, "collect", lambda: made.append(2))
    return made


@pytest.mark.parametrize(
    ("due", "is_busy", "is_made"),
    [
        (spare_memory.DUE - 1, False, False),
        (spare_memory.DUE, False, True),
        (spare_memory.OVERDUE - 1, True, False),
        (spare_memory.OVERDUE, True, True),
    ],
)
def test_cycles_are_looked_for_when_that_is_due_and_keeps_no_large_work_waiting(
    monkeypatch: pytest.MonkeyPatch, full_collections: list[int], due: int, is_busy: bool, is_made: bool
) -> None:
    monkeypatch.setattr(spare_memory.gc, "get_count", lambda: (0, 0, due))

    spare_memory.collect(is_busy)

    assert bool(full_collections) is is_made


def test_the_collector_makes_no_full_collection_by_itself_once_a_gateway_has_settled() -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop.spare_memory import settle\n"
        "settle()\n"
        "made = []\n"
        "gc.callbacks.append(lambda phase, info: made.append(info['generation']))\n"
        "kept = [[number] for number in range(300_000)]\n"
        "print(max(made), gc.get_count()[2] > 10)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["1", "True"]
