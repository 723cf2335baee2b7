"""A relay of TCP connections with faults that a test sets and takes away, for each direction apart.

    client side ──▶ receive ──▶ bytes on the way ──▶ send ──▶ broker side        (toward_broker)
    client side ◀── send ◀── bytes on the way ◀── receive ◀── broker side        (toward_client)

Bytes on the way are bounded as on a real line: by a window where they are late, by little where the line is narrow. One
thread with an event loop of its own carries all connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Self

from support.faults.fault import NO_FAULT, Fault, FrameCount

Address = tuple[str, int]

WINDOW_BYTES = 4 * 1024 * 1024
"""Bytes on the way in one direction."""
RECEIVED_BYTES = 128 * 1024
"""What the kernel may hold in front of the relay, which receives at once: its own limit may be 32 MiB (tcp_rmem)."""
NARROW_WINDOW_BYTES = 32 * 1024
"""The same before a narrow line, which would otherwise be late by minutes as well."""
PIECE_BYTES = 64 * 1024
NARROW_PIECE_BYTES = 4 * 1024
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends RST and throws away what is unsent."""
START_S = 10.0


class FaultProxy:
    """Listens on addresses of its own, each relayed to another; a context manager."""

    def __init__(
        self, routes: Mapping[Address, Address], *, accepted: Callable[[Address], None] | None = None
    ) -> None:
        """Describe it.

        Args:
            routes: from where it listens to where that is relayed.
            accepted: told the address of each peer before a byte of it is relayed; in the relay's thread.
        """
        self._routes = dict(routes)
        self._accepted = accepted
        self.toward_broker = self.toward_client = NO_FAULT
        self.hits = 0
        """How many connections were cut or fell silent."""
        self.peers: dict[Address, Address] = {}
        """For each connection that it has made, by its own address there, the peer for which it made it."""
        self.bytes_toward_broker = 0
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._servers: list[socket.socket] = []
        self._open: dict[Relayed, asyncio.Task[None]] = {}

    def __enter__(self) -> Self:
        for address in self._routes:
            server = socket.create_server(address, backlog=128)
            server.setblocking(False)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_BYTES)
            self._servers.append(server)
        self._thread.start()
        for server, target in zip(self._servers, self._routes.values(), strict=True):
            asyncio.run_coroutine_threadsafe(self._accept(server, target), self.loop)
        return self

    @property
    def addresses(self) -> list[Address]:
        """Where it listens."""
        return list(self._routes)

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self.loop).result(START_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @contextmanager
    def fault(self, *, toward_broker: Fault = NO_FAULT, toward_client: Fault = NO_FAULT) -> Iterator[None]:
        """Let faults happen for a while."""
        self.toward_broker, self.toward_client = toward_broker, toward_client
        try:
            yield
        finally:
            self.toward_broker = self.toward_client = NO_FAULT

    def abandon(self) -> None:
        """Let all connections that there are be half-open: no byte arrives any more, no end either. New ones work."""

        def silence() -> None:
            for relayed in self._open:
                relayed.silence()

        self.loop.call_soon_threadsafe(silence)

    async def _accept(self, server: socket.socket, target: Address) -> None:
        while True:
            client, peer = await self.loop.sock_accept(server)
            client.setblocking(False)
            if self._accepted is not None:
                self._accepted(peer)
            relayed = Relayed(self, client, peer)
            self._open[relayed] = task = self.loop.create_task(relayed.run(target))
            task.add_done_callback(lambda _, one=relayed: self._open.pop(one))  # type: ignore[misc]

    async def _stop(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for server in self._servers:
            server.close()


class Relayed:
    """One connection: a socket to each side."""

    def __init__(self, proxy: FaultProxy, client: socket.socket, peer: Address) -> None:
        self.proxy, self._client, self._peer = proxy, client, peer
        self.broker = socket.socket()
        self.is_silent = False

    def silence(self) -> None:
        """Carry nothing any more."""
        self.proxy.hits += not self.is_silent
        self.is_silent = True

    async def run(self, target: Address) -> None:
        """Relay until both sides are at their end, or one fails."""
        loop = asyncio.get_running_loop()
        self.broker.setblocking(False)
        up = Direction(self, self._client, self.broker, lambda: self.proxy.toward_broker)
        down = Direction(self, self.broker, self._client, lambda: self.proxy.toward_client)
        tasks: list[asyncio.Task[None]] = []
        try:
            if self.proxy.toward_broker.is_silent:
                self.silence()
                await loop.create_future()
            await loop.sock_connect(self.broker, target)
            self.proxy.peers[self.broker.getsockname()] = self._peer
            for one in (self._client, self.broker):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tasks = [loop.create_task(work()) for way in (up, down) for work in (way.receive, way.send)]
            await asyncio.gather(*tasks)
        except OSError:
            self._reset()
        except EndedError:
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in (self._client, self.broker):
                one.close()

    def end(self, *, is_reset: bool) -> None:
        """End both sides where they are.

        Raises:
            EndedError: always.
        """
        self.proxy.hits += 1
        if is_reset:
            self._reset()
        raise EndedError

    def _reset(self) -> None:
        for one in (self._client, self.broker):
            with contextlib.suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


class EndedError(Exception):
    """A fault has ended the connection."""


class Direction:
    """The bytes that go from one side of a connection to the other."""

    def __init__(
        self, relayed: Relayed, source: socket.socket, target: socket.socket, fault: Callable[[], Fault]
    ) -> None:
        self._relayed, self._source, self._target, self._fault = relayed, source, target, fault
        self._loop = relayed.proxy.loop
        self._frames = FrameCount()
        self._way: deque[tuple[float, bytes]] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()

    async def receive(self) -> None:
        """Take what the source sends while there is room on the way; an empty piece is its end."""
        data = b"first"
        while data:
            await self._while(lambda: self._bytes >= self._window)
            await self._until_heard()
            data = await self._loop.sock_recv(self._source, PIECE_BYTES)
            self._way.append((self._loop.time() + self._fault().latency_s, data))
            self._bytes += len(data)
            self._changed.set()

    async def send(self) -> None:
        """Give the target each piece when it is due."""
        while True:
            await self._while(lambda: not self._way)
            due, data = self._way.popleft()
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            await self._until_heard()
            if not data:
                self._target.shutdown(socket.SHUT_WR)
                return
            await self._carry(data)

    async def _carry(self, data: bytes) -> None:
        middle = self._frames.pass_over(data, self._fault().cut_at_frame)
        whole = data if middle is None else data[:middle]
        while whole:
            fault = self._fault()
            size = PIECE_BYTES if fault.bytes_per_s is None else NARROW_PIECE_BYTES
            piece, whole = whole[:size], whole[size:]
            await self._until_heard()
            await self._loop.sock_sendall(self._target, piece)
            if self._target is self._relayed.broker:
                self._relayed.proxy.bytes_toward_broker += len(piece)
            self._bytes -= len(piece)
            self._changed.set()
            if fault.bytes_per_s is not None:
                await asyncio.sleep(len(piece) / fault.bytes_per_s)
        if middle is not None:
            self._relayed.end(is_reset=self._fault().is_reset)

    @property
    def _window(self) -> int:
        return WINDOW_BYTES if self._fault().bytes_per_s is None else NARROW_WINDOW_BYTES

    async def _while(self, is_so: Callable[[], bool]) -> None:
        while is_so():
            self._changed.clear()
            await self._changed.wait()

    async def _until_heard(self) -> None:
        """Go on, or never if the connection has fallen silent."""
        if self._fault().is_silent:
            self._relayed.silence()
        if self._relayed.is_silent:
            await self._loop.create_future()
