"""One connection of an attacker, which is never waited for, and the loop that keeps many of them busy."""

import contextlib
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator

RECEIVE_BYTES = 256 * 1024
SEND_BYTES = 256 * 1024
RETRY_S = 0.02
"""Time before a connection that was closed is opened again."""
LONGEST_WAIT_S = 0.05

Frames = Iterator[tuple[str, bytes]]
"""What is sent: a label, and the bytes."""


class Line:
    """A connection that sends frames and throws answers away."""

    def __init__(self, connection: socket.socket, count: Callable[[int], None]) -> None:
        """Take a connection; `count` is told of bytes sent."""
        self.socket, self._count = connection, count
        connection.setblocking(False)
        self._rest = memoryview(b"")
        self._sent_at: deque[tuple[str, float]] = deque()
        self._head = bytearray()
        self._left = 0
        self.answers = 0
        self.answered: set[str] = set()
        """Labels of what was answered."""
        self.slowest: tuple[float, str] = (0.0, "")

    @property
    def in_flight(self) -> int:
        return len(self._sent_at)

    @property
    def has_more(self) -> bool:
        """Whether bytes wait to be sent."""
        return bool(self._rest)

    def give(self, label: str, frame: bytes) -> None:
        """Send a frame once the one before it is gone."""
        self._rest = memoryview(frame)
        self._sent_at.append((label, time.monotonic()))

    def send(self) -> None:
        """Send what can be sent."""
        while self._rest:
            try:
                sent = self.socket.send(self._rest[:SEND_BYTES])
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            self._count(sent)
            self._rest = self._rest[sent:]

    def receive(self) -> None:
        """Read and throw away what is there.

        Raises:
            ConnectionError: the other side has closed.
        """
        while True:
            try:
                received = self.socket.recv(RECEIVE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            if not received:
                raise ConnectionError("closed")
            self._read(memoryview(received))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.close()

    def _read(self, data: memoryview) -> None:
        while data:
            if self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                if not self._left:
                    self._answered()
                continue
            taken = min(4 - len(self._head), len(data))
            self._head += data[:taken]
            data = data[taken:]
            if len(self._head) == 4:
                self._left = int.from_bytes(self._head, "big")
                self._head.clear()

    def _answered(self) -> None:
        self.answers += 1
        if self._sent_at:
            label, at = self._sent_at.popleft()
            self.answered.add(label)
            self.slowest = max(self.slowest, (time.monotonic() - at, label))


class Flood:
    """Keeps frames in flight on several connections until it is over."""

    def __init__(
        self, connect: Callable[[], Line], frames: Frames, *, connections: int, depth: int, reads: bool
    ) -> None:
        self._connect, self._frames, self._wanted, self._depth = connect, frames, connections, depth
        self._reads = reads
        self._lines: list[Line] = []
        self._retry_at = 0.0
        self._has_frames = True
        self.closed = self.answers = self.given = 0
        self.answered: set[str] = set()
        """Labels of what was answered."""
        self.slowest: tuple[float, str] = (0.0, "")

    def run(self, goes_on: Callable[[], bool]) -> None:
        """Send while `goes_on` says so, or until all frames are answered."""
        try:
            while goes_on() and (self._has_frames or any(one.in_flight for one in self._lines)):
                self._open()
                self._turn()
        finally:
            for line in self._lines:
                self._note(line)
                line.close()

    def _open(self) -> None:
        while len(self._lines) < self._wanted and time.monotonic() >= self._retry_at:
            try:
                self._lines.append(self._connect())
            except (OSError, ConnectionError):
                self.closed += 1
                self._retry_at = time.monotonic() + RETRY_S

    def _turn(self) -> None:
        lines = self._lines
        for line in lines:
            if not line.has_more and self._has_frames and (line.in_flight < self._depth or not self._reads):
                found = next(self._frames, None)
                if found is None:
                    self._has_frames = False
                    break
                self.given += 1
                line.give(*found)
        reading = [one.socket for one in lines] if self._reads else []
        writing = [one.socket for one in lines if one.has_more]
        if not reading and not writing:
            time.sleep(RETRY_S)
            return
        readable, writable = _wait(reading, writing)
        for line in tuple(lines):
            try:
                number = line.socket.fileno()
                if number in writable:
                    line.send()
                if number in readable:
                    line.receive()
            except OSError:
                self._note(line)
                line.close()
                lines.remove(line)
                self.closed += 1
                self._retry_at = time.monotonic() + RETRY_S

    def _note(self, line: Line) -> None:
        self.answers += line.answers
        self.answered |= line.answered
        self.slowest = max(self.slowest, line.slowest)


def _wait(reading: list[socket.socket], writing: list[socket.socket]) -> tuple[set[int], set[int]]:
    """Wait until something can be read or written; select() knows only the first 1,024 descriptors."""
    poll = select.poll()
    wanted: dict[int, int] = {}
    for one in reading:
        wanted[one.fileno()] = select.POLLIN
    for one in writing:
        wanted[one.fileno()] = wanted.get(one.fileno(), 0) | select.POLLOUT
    for number, events in wanted.items():
        poll.register(number, events)
    readable, writable = set(), set()
    for number, events in poll.poll(LONGEST_WAIT_S * 1000):
        if events & ~select.POLLOUT:
            readable.add(number)
        if events & ~select.POLLIN:
            writable.add(number)
    # TLS may have decrypted more than was read.
    return readable | {one.fileno() for one in reading if isinstance(one, ssl.SSLSocket)}, writable
