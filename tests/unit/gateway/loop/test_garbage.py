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
        "import gc, sys\n"
        "from bifrost.gateway.loop.garbage import look_at_all, settle\n"
        "settle()\n"
        "before, blocks = gc.get_freeze_count(), sys.getallocatedblocks()\n"
        "def cycle():\n"
        "    one = []\n"
        "    one.append(one)\n"
        "    return one\n"
        "kept = [cycle() for _ in range(100_000)]\n"
        "gc.collect(1)\n"
        "del kept\n"
        "print(gc.get_freeze_count() - before > 90_000, look_at_all() - blocks < 1_000)\n"
    )

    assert output_of(code) == ["True", "True"]


def test_it_is_made_when_there_is_more_than_the_connections_account_for_at_two_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = 100_000
    most = 2 * usual + garbage.SPARED + 10 * garbage.FOR_A_CONNECTION
    looks = [usual, most, most, most + 1, usual, most + 1, most + 1]
    made: list[int] = []
    ended = asyncio.Event()

    def look() -> int:
        if not looks:
            ended.set()
            return usual
        return looks.pop(0)

    def look_at_all() -> int:
        made.append(len(looks))
        return usual

    monkeypatch.setattr(garbage, "LOOK_AFTER_S", 0.001)
    monkeypatch.setattr(garbage.sys, "getallocatedblocks", look)
    monkeypatch.setattr(garbage, "look_at_all", look_at_all)

    async def scenario() -> None:
        watching = asyncio.create_task(garbage.watch_garbage([0] * 10))
        await asyncio.wait_for(ended.wait(), 5)
        watching.cancel()

    asyncio.run(scenario())

    assert made == [0], "once, at the second look in a row that found more"


def test_a_look_takes_less_than_a_millisecond_with_a_million_blocks() -> None:
    """To count the objects would take ten."""
    code = (
        "import sys, time\n"
        "kept = [[number] for number in range(500_000)]\n"
        "assert sys.getallocatedblocks() > 500_000\n"
        "took = []\n"
        "for _ in range(20):\n"
        "    began = time.perf_counter()\n"
        "    sys.getallocatedblocks()\n"
        "    took.append(time.perf_counter() - began)\n"
        "print(min(took) < 0.001)\n"
    )

    assert output_of(code) == ["True"]


def test_what_is_made_without_collections_is_frozen() -> None:
    code = (
        "import gc\n"
        "from bifrost.gateway.loop import garbage\n"
        "garbage.settle()\n"
        "before, made = gc.get_freeze_count(), []\n"
        "gc.callbacks.append(lambda phase, info: made.append(phase))\n"
        "with garbage.no_collections():\n"
        "    kept = [[number] for number in range(100_000)]\n"
        "print(made == [], gc.isenabled(), gc.get_freeze_count() - before > 90_000)\n"
    )

    assert output_of(code) == ["True"] * 3
