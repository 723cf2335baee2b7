import asyncio
import subprocess
import sys

import pytest

from bifrost.gateway.loop import garbage


def output_of(code: str) -> list[str]:
    """Run code in a process of its own, since the collector is one for all."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(("is_settled", "at_least", "at_most"), [(True, 0, 20_000), (False, 100_000, 10**9)])
def test_collections_do_not_go_through_what_lives_long(is_settled: bool, at_least: int, at_most: int) -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop.garbage import settle\n"
        f"if {is_settled}: settle()\n"
        "seen = []\n"
        "def look(phase, info):\n"
        "    if phase == 'start': seen.append(sum(len(gc.get_objects(one)) for one in range(info['generation'] + 1)))\n"
        "gc.callbacks.append(look)\n"
        "kept = [[number] for number in range(300_000)]\n"
        "print(max(seen))\n"
    )

    assert at_least <= int(output_of(code)[0]) < at_most


def test_a_full_look_frees_cycles_of_frozen_objects() -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop.garbage import look_at_all, settle\n"
        "settle()\n"
        "before = gc.get_freeze_count()\n"
        "def cycle():\n"
        "    one = []\n"
        "    one.append(one)\n"
        "    return one\n"
        "kept = [cycle() for _ in range(100_000)]\n"
        "gc.collect(1)\n"
        "del kept\n"
        "print(gc.get_freeze_count() - before > 90_000, look_at_all() - before < 1_000)\n"
    )

    assert output_of(code) == ["True", "True"]


def test_it_is_made_when_there_are_more_than_the_connections_account_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen, made = [100_000], asyncio.Event()
    monkeypatch.setattr(garbage, "LOOK_AFTER_S", 0.001)
    monkeypatch.setattr(garbage.gc, "get_freeze_count", lambda: frozen[0])
    monkeypatch.setattr(garbage, "look_at_all", lambda: made.set() or frozen[0])

    async def scenario() -> None:
        watching = asyncio.create_task(garbage.watch_garbage([0] * 10))
        await asyncio.sleep(0.02)
        monkeypatch.setattr(garbage, "_freezes", garbage._freezes + 100)
        frozen[0] = 2 * 100_000 + garbage.SPARED + 10 * garbage.FOR_A_CONNECTION
        await asyncio.sleep(0.02)
        assert not made.is_set()
        monkeypatch.setattr(garbage, "_freezes", garbage._freezes + 100)
        frozen[0] += 1
        await asyncio.wait_for(made.wait(), 5)
        watching.cancel()

    asyncio.run(scenario())


def test_frozen_objects_are_counted_only_after_collections_that_may_have_frozen_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: list[int] = []
    counted = asyncio.Event()

    def count() -> int:
        counts.append(1)
        if len(counts) > 1:
            counted.set()
        return 100_000

    monkeypatch.setattr(garbage, "LOOK_AFTER_S", 0.001)
    monkeypatch.setattr(garbage.gc, "get_freeze_count", count)
    monkeypatch.setattr(garbage, "_freezes", 0)

    async def scenario() -> None:
        watching = asyncio.create_task(garbage.watch_garbage([]))
        await asyncio.sleep(0.02)
        assert len(counts) == 1, "at the beginning"
        most = (100_000 + garbage.SPARED) // garbage.FROZEN_AT_ONCE
        monkeypatch.setattr(garbage, "_freezes", most)
        await asyncio.sleep(0.02)
        assert len(counts) == 1
        monkeypatch.setattr(garbage, "_freezes", most + 1)
        await asyncio.wait_for(counted.wait(), 5)
        watching.cancel()

    asyncio.run(scenario())


def test_what_is_made_without_collections_is_frozen() -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop import garbage\n"
        "garbage.settle()\n"
        "before, made = gc.get_freeze_count(), []\n"
        "gc.callbacks.append(lambda phase, info: made.append(phase))\n"
        "with garbage.no_collections():\n"
        "    kept = [[number] for number in range(100_000)]\n"
        "print(made == [], gc.isenabled(), gc.get_freeze_count() - before > 90_000, garbage._freezes > 10)\n"
    )

    assert output_of(code) == ["True"] * 4
