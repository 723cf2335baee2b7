"""How connections learn from libuv that their sockets are ready, under uvloop: see socket_watch.pyx."""

import asyncio
import gc
import socket
import sys
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop

from bifrost.gateway.sockets.socket_stream import SocketStream

from .played_socket import Listening

WAIT_S = 5


class Told(Listening):
    """A protocol that says when it was told something."""

    def __init__(self) -> None:
        """Have been told nothing."""
        super().__init__()
        self.news = asyncio.Event()

    def buffer_updated(self, nbytes: int) -> None:
        super().buffer_updated(nbytes)
        self.news.set()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.news.set()

    async def wait(self, is_enough: Callable[[], bool]) -> None:
        """Wait until it was told enough."""
        async with asyncio.timeout(WAIT_S):
            while not is_enough():
                self.news.clear()
                await self.news.wait()


class Ends:
    """A stream over one end of a connection, and the socket of the other end."""

    def __init__(self) -> None:
        """Connect the two, in the running event loop."""
        inner, self.other = socket.socketpair()
        inner.setblocking(False)
        self.other.settimeout(WAIT_S)
        self.protocol = Told()
        self.stream = SocketStream(asyncio.get_running_loop(), inner, self.protocol)

    async def lost(self) -> Exception | None:
        """Wait until the stream has lost its connection; return the error."""
        await self.protocol.wait(self._has_ended)
        return self.protocol.told[-1][1]  # type: ignore[index]

    async def end(self) -> None:
        """Abort the stream."""
        self.stream.abort()
        await self.lost()

    def _has_ended(self) -> bool:
        return bool(self.protocol.told) and isinstance(self.protocol.told[-1], tuple)


def _errors() -> list[dict[str, Any]]:
    """Return what the running event loop reports from now on."""
    found: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: found.append(context))
    return found


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run under uvloop; whatever the event loop reports fails the test."""

    async def watched() -> None:
        errors = _errors()
        await work()
        await asyncio.sleep(0)
        assert errors == []

    uvloop.run(watched())


def test_bytes_that_arrive_are_read() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        for part in (b"one", b"two"):
            ends.other.sendall(part)
            await ends.protocol.wait(lambda part=part: ends.protocol.got[-1:] == [part])  # type: ignore[misc]
        await ends.end()

    run(work)


def test_nothing_is_read_while_reading_is_paused() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        for _ in range(3):
            ends.stream.pause_reading()
            ends.other.sendall(b"later")
            await asyncio.sleep(0.02)
            before = len(ends.protocol.got)
            ends.stream.resume_reading()
            await ends.protocol.wait(lambda before=before: len(ends.protocol.got) > before)  # type: ignore[misc]
        assert ends.protocol.got == [b"later"] * 3
        await ends.end()

    run(work)


def test_what_does_not_fit_is_written_when_there_is_room_again() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        data = bytes(range(256)) * (8 << 12)  # 8 MiB
        ends.stream.write(data)
        assert ends.protocol.told == ["pause"]
        ends.other.sendall(b"read meanwhile")
        received = await asyncio.to_thread(_receive, ends.other, len(data))
        assert received == data
        await ends.protocol.wait(lambda: "resume" in ends.protocol.told)
        assert ends.protocol.got == [b"read meanwhile"]
        await ends.end()

    run(work)


def _receive(other: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        found += other.recv(1 << 20)
    return bytes(found)


@pytest.mark.parametrize("is_reading", [True, False])
def test_a_reset_is_told_as_soon_as_the_connection_is_read(is_reading: bool) -> None:
    async def work() -> None:
        ends = Ends()
        if is_reading:
            ends.stream.resume_reading()
        ends.stream.write(b"what nobody reads")
        await asyncio.sleep(0.01)
        ends.other.close()  # With bytes that it has not read: a reset.
        await asyncio.sleep(0.05)
        ends.stream.resume_reading()
        assert isinstance(await ends.lost(), ConnectionResetError)

    run(work)


def test_a_reset_is_told_to_a_writer_that_does_not_read() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.write(bytes(8 << 20))
        ends.other.close()
        assert isinstance(await ends.lost(), ConnectionError)

    run(work)


def test_more_resets_than_one_turn_reads_are_all_told() -> None:
    async def work() -> None:
        many = [Ends() for _ in range(300)]  # read_turns.pyx leaves some of them to the next turn.
        for ends in many:
            ends.stream.resume_reading()
            ends.stream.write(b"what nobody reads")
        await asyncio.sleep(0.01)
        for ends in many:
            ends.other.close()
        assert all([isinstance(await ends.lost(), ConnectionResetError) for ends in many])

    run(work)


def test_a_close_in_order_waits_for_the_other_side() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        ends.stream.write(b"last words")
        ends.stream.close()
        assert await asyncio.to_thread(_receive, ends.other, 10) == b"last words"
        ends.other.sendall(b"not wanted any more")
        ends.other.close()
        assert await ends.lost() is None
        assert ends.protocol.got == []

    run(work)


def test_a_number_that_another_socket_has_by_now_is_left_alone() -> None:
    async def work() -> None:
        for _ in range(50):
            first, second = Ends(), Ends()
            first.stream.resume_reading()
            first.stream.pause_reading()
            number = first.stream.socket.fileno()
            first.stream.abort()
            third = Ends()
            assert third.stream.socket.fileno() == number, "otherwise this shows nothing"
            third.stream.resume_reading()
            await first.lost()
            third.other.sendall(b"here")
            await third.protocol.wait(lambda third=third: third.protocol.got == [b"here"])  # type: ignore[misc]
            for ends in (second, third):
                await ends.end()

    run(work)


def test_an_exception_goes_to_the_event_loop_and_ends_only_its_connection() -> None:
    async def work() -> None:
        broken, sound = Ends(), Ends()
        for ends in (broken, sound):
            ends.stream.resume_reading()

        def fail(_nbytes: int) -> None:
            raise RuntimeError("a mistake")

        broken.stream.set_protocol(type("Broken", (Told,), {"buffer_updated": lambda _self, n: fail(n)})())
        errors = _errors()
        for ends in (broken, sound):
            ends.other.sendall(b"x")
        await sound.protocol.wait(lambda: sound.protocol.got == [b"x"])
        await asyncio.sleep(0.01)
        assert [str(one["exception"]) for one in errors] == ["a mistake"]
        assert broken.stream.is_closing()
        await sound.end()

    uvloop.run(work())


@pytest.mark.parametrize("state", ["reads", "is paused", "was never read"])
def test_an_event_loop_ends_with_connections_that_are_still_open(state: str) -> None:
    kept: list[Ends] = []

    async def work() -> None:
        ends = Ends()
        kept.append(ends)
        if state != "was never read":
            ends.stream.resume_reading()
        if state == "is paused":
            ends.stream.pause_reading()
        await asyncio.sleep(0)

    run(work)  # uvloop raises when a handle is left.
    kept.clear()
    gc.collect()


def test_an_event_loop_that_has_ended_watches_nothing_more() -> None:
    kept: list[Ends] = []

    async def work() -> None:
        kept.extend([Ends(), Ends()])
        kept[0].stream.resume_reading()

    run(work)
    with pytest.raises(RuntimeError, match="the event loop ends"):
        kept[1].stream.resume_reading()


def test_a_connection_that_nobody_closed_goes_when_nothing_refers_to_it() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        ends.stream.pause_reading()
        inner, gone = ends.stream.socket, weakref.ref(ends.protocol)
        del ends
        gc.collect()
        assert gone() is None
        inner.close()

    run(work)


def test_a_connection_that_is_read_stays() -> None:
    async def work() -> None:
        ends = Ends()
        ends.stream.resume_reading()
        protocol, other, is_gone = weakref.ref(ends.protocol), ends.other, asyncio.Event()
        weakref.finalize(ends.protocol, is_gone.set)
        del ends
        gc.collect()
        assert protocol() is not None
        other.close()
        async with asyncio.timeout(WAIT_S):
            await is_gone.wait()

    run(work)


def test_watching_leaves_no_reference_behind() -> None:
    async def work() -> None:
        ends = Ends()
        counts = [sys.getrefcount(ends.stream)]
        for _ in range(10):
            ends.stream.resume_reading()
            ends.stream.pause_reading()
        counts.append(sys.getrefcount(ends.stream))
        ends.stream.resume_reading()
        await ends.end()
        counts.append(sys.getrefcount(ends.stream))
        assert counts == [counts[0]] * 3

    run(work)
