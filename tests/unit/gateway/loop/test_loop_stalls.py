"""Stalls of an event loop: how long they are, what CPU time they take, and that many short turns are none."""

import asyncio
import socket
import time
from collections.abc import Callable

import pytest
import uvloop

from bifrost.gateway.loop.loop_stalls import (
    EVER,
    EVER_CPU,
    MARK_CELLS,
    RECENT,
    STALL_CELLS,
    LoopStalls,
    histogram,
    take_recent,
)


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def run(*work: Callable[[], None]) -> LoopStalls:
    """Let an event loop do this work, each in a turn of its own."""
    stalls = LoopStalls()

    async def turns() -> None:
        assert stalls.start()
        await asyncio.sleep(0.01)
        for one in work:
            one()
            await asyncio.sleep(0.01)
        stalls.stop()

    uvloop.run(turns())
    return stalls


def test_a_turn_that_computes_is_a_stall_of_its_length_and_cpu_time() -> None:
    stalls = run(lambda: spin(0.06))

    assert stalls.marks[EVER] > 0.05e9
    assert 0.055e9 < stalls.marks[EVER_CPU] < 0.075e9
    assert stalls.counts[0] >= stalls.marks[EVER]
    assert sum(stalls.counts[1:]) >= 1


def test_a_turn_that_waits_takes_time_and_no_cpu() -> None:
    stalls = run(lambda: time.sleep(0.06))

    assert 0.055e9 < stalls.marks[EVER] < 0.5e9
    assert stalls.marks[EVER_CPU] < 0.03e9


def test_short_turns_and_waiting_for_events_are_no_stall() -> None:
    async def turns() -> int:
        stalls = LoopStalls()
        stalls.start()
        for _ in range(20_000):
            await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        stalls.stop()
        return stalls.marks[EVER_CPU]

    # By CPU time: on a busy machine a turn may have to wait for its core.
    assert uvloop.run(turns()) < 0.02e9


def stall_of(work: Callable[[], None]) -> LoopStalls:
    """Let the callback of a socket that is ready do something."""
    stalls = LoopStalls()

    async def turns() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        one, other = socket.socketpair()
        with one, other:

            def receive() -> None:
                one.recv(1)
                work()
                done.set()

            loop.add_reader(one, receive)
            assert stalls.start()
            other.send(b"x")
            await done.wait()
            await asyncio.sleep(0.01)  # A turn is noted when it is over.
            loop.remove_reader(one)
            stalls.stop()

    uvloop.run(turns())
    return stalls


def test_the_callbacks_of_ready_sockets_are_part_of_the_turn() -> None:
    assert stall_of(lambda: spin(0.05)).marks[EVER_CPU] > 0.045e9


def test_asking_for_the_time_hides_no_work() -> None:
    def look() -> None:
        spin(0.05)
        asyncio.get_running_loop().time()

    assert stall_of(look).marks[EVER] > 0.045e9


def test_what_was_longest_recently_begins_anew_with_each_look() -> None:
    stalls = run(lambda: time.sleep(0.02))

    ever, recent, ever_cpu, recent_cpu = take_recent(stalls.marks)
    assert ever == recent > 0.015
    assert ever_cpu == recent_cpu
    assert stalls.marks[EVER] > 0
    assert stalls.marks[RECENT] == 0
    assert take_recent(stalls.marks)[1] == 0


def test_memory_of_others_is_counted_in_and_has_to_be_large_enough() -> None:
    counts, marks = (
        memoryview(bytearray(8 * STALL_CELLS)).cast("q"),
        memoryview(bytearray(8 * MARK_CELLS)).cast("q"),
    )
    counts[0], counts[1], counts[STALL_CELLS - 1] = 3_000_000_000, 2, 1
    LoopStalls(counts, marks)

    buckets, sum_s = histogram(counts)

    assert (buckets[0], buckets[-2], buckets[-1], sum_s) == (("0.005", 2), ("30.0", 2), ("+Inf", 3), 3.0)
    with pytest.raises(ValueError, match="memory"):
        LoopStalls(counts[1:], marks)


def test_another_kind_of_loop_is_not_watched() -> None:
    async def turns() -> bool:
        stalls = LoopStalls()
        started = stalls.start()
        stalls.stop()
        return started

    assert asyncio.run(turns()) is False


def test_a_loop_that_is_closed_too_early_does_not_break() -> None:
    stalls = LoopStalls()

    async def turns() -> None:
        stalls.start()
        stalls.stop()
        stalls.stop()
        assert stalls.start()
        stalls.stop()

    uvloop.run(turns())
    assert sum(stalls.counts[1:]) == 0
