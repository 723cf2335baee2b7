"""A socket and an event loop for what reads and writes sockets itself: the test says what either does."""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any


class PlayedSocket:
    """A socket with TLS, or before it, that hands out what it was given and keeps what is written."""

    def __init__(self) -> None:
        """Have nothing to read, and room for whatever is written."""
        self.records: deque[bytes | Exception] = deque()
        """What `read` finds, a record after the other; b"" is the end."""
        self.written: list[bytes] = []
        self.room = 1 << 30
        """Bytes that can be written."""
        self.failure: Exception | None = None
        """What `write` raises."""
        self.calls: list[str] = []
        self.options: list[tuple[int, ...]] = []
        self.context = "the context"
        self._sslobj: object = self

    def fileno(self) -> int:
        """Return a number that no open file has."""
        return 1 << 20

    def read(self, size: int, buffer: memoryview) -> int:
        if not self.records:
            raise ssl.SSLWantReadError
        found = self.records.popleft()
        if isinstance(found, Exception):
            raise found
        buffer[: min(size, len(found))] = found[:size]
        if len(found) > size:
            self.records.appendleft(found[size:])
        return min(size, len(found))

    def write(self, data: bytes | memoryview) -> int:
        if self.failure is not None:
            raise self.failure
        if not self.room:
            raise ssl.SSLWantWriteError
        sent = min(len(data), self.room, 16384)
        self.room -= sent
        self.written.append(bytes(data[:sent]))
        return sent

    send = write

    def recv(self, nbytes: int, flags: int = 0) -> bytes:
        if not self.records:
            raise BlockingIOError
        found = self.records[0]
        if isinstance(found, Exception):
            raise found
        if not flags:
            self.records[0] = found[nbytes:]
        return found[:nbytes]

    def recv_into(self, buffer: bytearray | memoryview) -> int:
        return self.read(len(buffer), memoryview(buffer)) if self.records else self._would_block()

    def _would_block(self) -> int:
        raise BlockingIOError

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)

    def unwrap(self) -> None:
        self.calls.append("unwrap")
        raise ssl.SSLWantReadError

    def shutdown(self, _how: int) -> None:
        self.calls.append("shutdown")

    def close(self) -> None:
        self.calls.append("close")


class PlayedLoop:
    """An event loop that calls when it is told to."""

    def __init__(self) -> None:
        """Have nothing to do."""
        self.reader: Callable[[], object] | None = None
        self.writer: Callable[[], object] | None = None
        self.soon: deque[Callable[[], object]] = deque()
        self.timers: list[PlayedTimer] = []

    def add_reader(self, _fd: int, call: Callable[..., object], *args: Any) -> None:
        self.reader = lambda: call(*args)

    def remove_reader(self, _fd: int) -> None:
        self.reader = None

    def add_writer(self, _fd: int, call: Callable[..., object], *args: Any) -> None:
        self.writer = lambda: call(*args)

    def remove_writer(self, _fd: int) -> None:
        self.writer = None

    def call_soon(self, call: Callable[..., object], *args: Any) -> None:
        self.soon.append(lambda: call(*args))

    def call_later(self, delay_s: float, call: Callable[[], object]) -> "PlayedTimer":
        self.timers.append(PlayedTimer(delay_s, call))
        return self.timers[-1]

    def create_future(self) -> "asyncio.Future[None]":
        return asyncio.get_running_loop().create_future()

    def turn(self) -> int:
        """Call what is to be called soon; return how much that was."""
        count = len(self.soon)
        for _ in range(count):
            self.soon.popleft()()
        return count


class PlayedTimer:
    """A call for later."""

    def __init__(self, delay_s: float, call: Callable[[], object]) -> None:
        """Wait for the test."""
        self.delay_s, self.call, self.is_cancelled = delay_s, call, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Listening(asyncio.BufferedProtocol):
    """A protocol that keeps what it is told."""

    def __init__(self, buffer_bytes: int = 65536) -> None:
        """Have a buffer of that size."""
        self.buffer = memoryview(bytearray(buffer_bytes))
        self.got: list[bytes] = []
        self.told: list[object] = []

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.got.append(bytes(self.buffer[:nbytes]))

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def eof_received(self) -> bool:
        self.told.append("eof")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.told.append(("lost", exc))
