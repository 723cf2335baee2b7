"""How much of many connections is read in one turn of the event loop: see read_turns.pyx."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import uvloop

from bifrost.forwarding.forwarding import Forwarding
from bifrost.forwarding.load import Load
from bifrost.gateway.loop.loop_stalls import LoopStalls, take_recent
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.gateway.sockets.socket_stream import SocketStream
from bifrost.wire.framer import Framer
from support.stage.fake_transport import FakeTransport

from .played_socket import Listening, PlayedLoop, PlayedSocket

RECORD = b"r" * 16384
READS = 16
"""Records that one connection gets at once."""
TURN = 64
"""Records that one turn reads, before the last connection of it: 1 MiB."""
MOST = 96
"""Reads of one turn, with those of one record: 1.5 MiB."""
OWN = 8
"""Reads that a tenant has of its own."""
ALL = 128
"""Reads of one turn where there are many tenants: 2 MiB."""
ENDS = MOST // 4
"""Connections that end in one turn: an end counts as three reads beside its own."""


class Busy:
    """A connection with many records to read."""

    def __init__(self, loop: PlayedLoop, records: int) -> None:
        self.socket, self.protocol = PlayedSocket(), Listening(len(RECORD))
        self.stream = SocketStream(loop, self.socket, self.protocol)  # type: ignore[arg-type]
        self.stream.encrypt(self.socket)  # type: ignore[arg-type]
        self.socket.records.extend([RECORD] * records)
        self.stream.resume_reading()
        assert loop.reader is not None
        self.is_ready: Callable[[], object] = loop.reader

    @property
    def got(self) -> int:
        return len(self.protocol.got)


def busy(count: int, records: int) -> tuple[PlayedLoop, list[Busy]]:
    loop = PlayedLoop()
    return loop, [Busy(loop, records) for _ in range(count)]


def test_one_turn_reads_many_busy_connections_only_so_far() -> None:
    _, many = busy(30, 100)
    for one in many:
        one.is_ready()

    assert [one.got for one in many] == [READS] * 4 + [1] * 26


def test_one_turn_reads_some_hundred_connections_and_leaves_the_rest_to_the_next() -> None:
    loop, many = busy(180, 100)
    for one in many:
        one.is_ready()
    read = 4 + MOST - TURN
    assert [one.got for one in many] == [READS] * 4 + [1] * (MOST - TURN) + [0] * (len(many) - read)
    for _ in range(6):
        loop.turn()
        for one in many:
            one.is_ready()

    assert min(one.got for one in many) >= 1
    assert sum(one.got for one in many) <= 7 * MOST


def test_what_one_turn_leaves_is_not_watched_until_it_is_read() -> None:
    loop, many = busy(120, 1)
    *_, last = many
    for one in many:
        if one is last:
            loop.reader = one.is_ready
        one.socket.records.extend([RECORD] * 99)
        one.is_ready()
    assert (last.got, loop.reader) == (0, None)

    for _ in range(3):
        loop.turn()
    assert last.got >= 1
    assert loop.reader is not None


def test_one_turn_ends_only_so_many_connections() -> None:
    loop, many = busy(ENDS + 10, 0)
    for one in many:
        one.socket.records.append(b"")
        one.is_ready()

    assert [one.stream.is_closing() for one in many] == [True] * ENDS + [False] * 10
    loop.turn()
    for one in many[ENDS:]:
        one.is_ready()  # The event loop says it again.
    assert all(one.stream.is_closing() for one in many)


def with_relay(one: Busy, load: Load) -> Forwarding:
    """Let a tenant's relay read the connection; return its session."""
    session, transport = Forwarding(), FakeTransport()
    session._load = load
    owner: Any = Listening()
    one.stream.set_protocol(FrameRelay(Framer(1 << 20), session, owner, owner, transport))  # type: ignore[arg-type]
    return session


def test_a_tenant_does_not_wait_for_another_ones_connections() -> None:
    loop, many = busy(400, 0)
    for one in many:
        one.socket.records.extend([(900_000).to_bytes(4, "big") + bytes(16380), *[bytes(16384)] * 49])
    others = [Busy(loop, 0) for _ in range(OWN + 2)]
    one_tenant, other_tenant = Load(), Load()
    kept = [with_relay(one, one_tenant) for one in many]
    kept += [with_relay(one, other_tenant) for one in others]
    for one in others:
        one.socket.records.append((1 << 16).to_bytes(4, "big"))  # A frame begins.
    for one in (*many, *others):
        one.is_ready()

    assert [bool(one.socket.records) for one in others] == [False] * OWN + [True] * 2
    assert sum(len(one.socket.records) == 50 for one in many) == 400 - MOST


def test_one_turn_reads_only_so_many_tenants() -> None:
    loop, many = busy(ALL + 10, 0)
    kept = [with_relay(one, Load()) for one in many]
    for one in many:
        one.socket.records.append((1 << 16).to_bytes(4, "big"))
        one.is_ready()

    assert [bool(one.socket.records) for one in many] == [False] * ALL + [True] * 10
    loop.turn()
    for one in many[ALL:]:
        one.is_ready()
    assert not any(one.socket.records for one in many)
    assert len(kept) == len(many)


def test_a_small_request_is_read_behind_all_of_them() -> None:
    loop, many = busy(30, 100)
    other = Busy(loop, 0)
    other.socket.records.append(b"small")
    for one in (*many, other):
        one.is_ready()

    assert other.protocol.got == [b"small"]


def test_those_with_more_to_read_come_in_turn() -> None:
    loop, many = busy(30, 100)
    for one in many:
        one.is_ready()

    before = [one.got for one in many]
    loop.turn()
    for one in many:
        one.is_ready()  # The event loop says it of each socket in every turn.
    assert sum(one.got for one in many) - sum(before) == TURN
    for _ in range(7):
        loop.turn()

    # Each once at least, in eight turns of four.
    assert min(one.got for one in many) >= 1 + READS
    while loop.turn():
        pass
    assert [one.got for one in many] == [100] * 30


def test_a_connection_that_is_paused_leaves_its_turn_to_others() -> None:
    loop, many = busy(8, 40)
    for one in many:
        one.is_ready()
    paused = many[0]
    paused.stream.pause_reading()
    before = paused.got

    while loop.turn():
        pass
    assert paused.got == before
    assert [one.got for one in many[1:]] == [40] * 7

    paused.stream.resume_reading()
    while loop.turn():
        pass
    assert paused.got == 40


def test_many_small_reads_do_not_keep_large_ones_small() -> None:
    loop, many = busy(1, 100)
    small = [Busy(loop, 0) for _ in range(MOST - READS)]
    for one in small:
        one.socket.records.append(b"small")
        one.is_ready()
    assert all(one.got == 1 for one in small)
    assert loop.turn() == 1

    many[0].is_ready()
    assert many[0].got == READS


def test_a_connection_whose_protocol_fails_stops_no_other() -> None:
    loop, many = busy(3, 40)
    for one in many:
        one.is_ready()

    def fail(_nbytes: int) -> None:
        raise RuntimeError("a mistake")

    broken = many[1].stream
    broken.set_protocol(type("Broken", (Listening,), {"buffer_updated": lambda _self, _n: fail(_n)})())
    errors = 0
    for _ in range(20):
        try:
            loop.turn()
        except RuntimeError:
            errors += 1

    assert errors == 1
    assert [many[0].got, many[2].got] == [40, 40]


def test_reads_that_take_long_leave_the_others_to_the_next_turns() -> None:
    """A hundred small requests that take 0.2 ms each: 20 ms of work."""

    class Slow(Listening):
        def buffer_updated(self, nbytes: int) -> None:
            super().buffer_updated(nbytes)
            until_s = time.thread_time() + 0.0002
            while time.thread_time() < until_s:
                pass

    async def read_all() -> tuple[int, float]:
        loop, stalls, protocols = asyncio.get_running_loop(), LoopStalls(), list[Slow]()
        assert stalls.start()
        with ExitStack() as closing:
            streams = []
            for _ in range(100):
                ours, theirs = (closing.enter_context(one) for one in socket.socketpair())
                ours.setblocking(False)
                protocols.append(Slow(len(RECORD)))
                streams.append(SocketStream(loop, ours, protocols[-1]))
                theirs.send(b"small")
            await asyncio.sleep(0.01)
            take_recent(stalls.marks)
            for one in streams:
                one.resume_reading()
            await asyncio.sleep(0.2)
            assert all(one.got for one in protocols)
            for one in streams:
                one.abort()
            await asyncio.sleep(0.01)
        _, _, _, cpu_s = take_recent(stalls.marks)
        stalls.stop()
        return len(protocols), cpu_s

    count, longest_s = uvloop.run(read_all())

    assert count == 100
    assert longest_s < 0.006, "2 ms, and some for a machine with other work"
