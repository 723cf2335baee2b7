"""All kinds of work that can wait share one turn of the event loop, and each has its least in any case."""

import asyncio
from collections.abc import Callable

import uvloop

from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.loop.loop_stalls import LoopStalls
from bifrost.gateway.loop.loop_turn import LoopTurn, turn_of

MS = 1_000_000
TURN_NS = 3 * MS // 2
"""What all kinds of work have in one turn."""


def spin_until(until_ns: int) -> None:
    while monotonic_ns() < until_ns:
        pass


def in_one_turn(*works: Callable[[LoopTurn], int]) -> list[float]:
    """Let works follow each other in one turn of a loop; return the time that each was given, in milliseconds."""
    given: list[float] = []

    async def turns() -> None:
        loop, stalls = asyncio.get_running_loop(), LoopStalls()
        assert stalls.start()
        await asyncio.sleep(0.01)
        for work in works:
            began_ns = monotonic_ns()
            until_ns = work(turn_of(loop))
            given.append((until_ns - began_ns) / MS)
            spin_until(until_ns)
        stalls.stop()

    uvloop.run(turns())
    return given


def test_the_first_work_has_what_it_asks_for_and_the_next_what_is_left() -> None:
    first, second = in_one_turn(
        lambda turn: turn.until_ns(MS, MS // 10), lambda turn: turn.until_ns(MS, MS // 10)
    )

    assert 0.99 < first < 1.2
    assert 0.1 <= second < 0.51


def test_a_work_has_its_least_in_a_turn_that_is_used_up() -> None:
    given = in_one_turn(*[lambda turn: turn.until_ns(MS, MS // 5)] * 5)

    assert sum(given[:2]) < 1.8
    assert all(0.2 <= one < 0.4 for one in given[2:])


def test_each_turn_begins_anew() -> None:
    given: list[float] = []

    async def turns() -> None:
        stalls = LoopStalls()
        assert stalls.start()
        for _ in range(3):
            await asyncio.sleep(0.005)
            began_ns = monotonic_ns()
            until_ns = turn_of(asyncio.get_running_loop()).until_ns(TURN_NS, 0)
            given.append((until_ns - began_ns) / MS)
            spin_until(until_ns)
        stalls.stop()

    uvloop.run(turns())

    assert all(1.49 < one < 1.7 for one in given)


def test_a_loop_whose_turns_nobody_counts_gives_each_work_all_of_its_time() -> None:
    async def ask() -> list[float]:
        turn, given = turn_of(asyncio.get_running_loop()), []
        for _ in range(3):
            began_ns = monotonic_ns()
            given.append((turn.until_ns(MS, 0) - began_ns) / MS)
            spin_until(began_ns + MS)
        return given

    assert all(0.99 < one < 1.2 for one in asyncio.run(ask()))


def test_a_watch_that_has_stopped_leaves_nothing_behind() -> None:
    async def turns() -> float:
        stalls = LoopStalls()
        assert stalls.start()
        turn = turn_of(asyncio.get_running_loop())
        turn.until_ns(MS, 0)
        stalls.stop()
        await asyncio.sleep(0.01)
        return (turn.until_ns(MS, 0) - monotonic_ns()) / MS

    assert 0.8 < uvloop.run(turns()) <= 1.0
