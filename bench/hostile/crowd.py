"""Many clients at once, from several addresses: each connects, says what it has to say, leaves, and begins anew.

connecting ──▶ (TLS handshake) ──▶ a frame ──▶ its answer ──▶ the next frame … ──▶ closed ──▶ connecting
"""

import errno
import os
import selectors
import socket
import ssl
import time
from collections.abc import Callable

from bench.certificates import HOST
from bench.hostile.field import Field
from bench.hostile.line import LONGEST_WAIT_S, RETRY_S, Line

CLIENTS = 150
"""At a time. The gateway of the suite lets in 200 that have not authenticated, and the victim needs places as well."""
SOURCES = 8
"""Addresses that they come from, in turns."""
BOTH = selectors.EVENT_READ | selectors.EVENT_WRITE

Frames = Callable[[int], list[bytes]]
"""What a connection says, by its number."""


class Crowd:
    """The clients of one attack."""

    def __init__(
        self,
        field: Field,
        frames: Frames,
        *,
        clients: int = CLIENTS,
        sources: int = SOURCES,
        tls: bool = False,
    ) -> None:
        """Begin with none; `tls`: with a TLS handshake, which may be all."""
        self._field, self._frames, self._sources = field, frames, sources
        self._context = field.context if tls else None
        self._port = field.target.tls_port if tls else field.target.plain_port
        self._waiting, self._retry_at = clients, 0.0
        self._number = 0
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Keep them busy until the attack is over."""
        field = self._field
        with self._selector:
            while field.goes_on():
                self._begin_anew()
                for key, _ in self._selector.select(LONGEST_WAIT_S):
                    self._step(key.data)
            for key in list(self._selector.get_map().values()):
                key.data.close()

    def _begin_anew(self) -> None:
        while self._waiting and time.monotonic() >= self._retry_at:
            self._number += 1
            try:
                client = _Client(self._field, self._frames(self._number), self._connect(), self._context)
            except OSError:
                self._lost()
                return
            self._waiting -= 1
            self._selector.register(client.socket, BOTH, client)

    def _connect(self) -> socket.socket:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        source = source_of(self._field.target.source, self._number % self._sources)
        if source:
            connection.bind((source, 0))
        failure = connection.connect_ex((HOST, self._port))
        if failure not in (0, errno.EINPROGRESS):
            connection.close()
            raise OSError(failure, os.strerror(failure))
        return connection

    def _step(self, client: "_Client") -> None:
        before = client.socket
        try:
            wanted = client.step()
        except OSError:
            self._selector.unregister(before)
            client.close()
            self._waiting += 1
            self._lost()
            return
        if not wanted:
            self._selector.unregister(before)
            client.close()
            self._waiting += 1
        elif client.socket is not before:  # TLS has taken its descriptor.
            self._selector.unregister(before)
            self._selector.register(client.socket, wanted, client)
        else:
            self._selector.modify(before, wanted, client)

    def _lost(self) -> None:
        self._field.sent.closed += 1
        self._retry_at = time.monotonic() + RETRY_S


class _Client:
    """One connection, from its beginning to its end."""

    def __init__(
        self, field: Field, frames: list[bytes], connection: socket.socket, context: ssl.SSLContext | None
    ) -> None:
        self._field, self._frames, self._context = field, iter(frames), context
        self.socket = connection
        self._is_connected = self._is_encrypted = False
        self._line: Line | None = None

    def step(self) -> int:
        """Do what can be done; return the events to wait for, 0: nothing is left.

        Raises:
            OSError: the gateway has closed the connection, or refused it.
        """
        if not self._is_connected:
            failure = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if failure:
                raise OSError(failure, os.strerror(failure))
            self._is_connected = True
            self._field.opened()
        if self._context is not None and not self._is_encrypted:
            events = self._shake_hands(self._context)
            if events:
                return events
        return self._talk()

    def _shake_hands(self, context: ssl.SSLContext) -> int:
        if not isinstance(self.socket, ssl.SSLSocket):
            self.socket = context.wrap_socket(
                self.socket, server_hostname=HOST, do_handshake_on_connect=False
            )
        try:
            self.socket.do_handshake()
        except ssl.SSLWantReadError:
            return selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            return selectors.EVENT_WRITE
        self._is_encrypted = True
        self._field.count(600)
        self._field.sent.answers += 1
        return 0

    def _talk(self) -> int:
        line = self._line = self._line or Line(self.socket, self._field.count)
        if line.in_flight:
            line.receive()
        if not line.in_flight:
            frame = next(self._frames, None)
            if frame is None:
                return 0
            line.give("", frame)
            self._field.sent.frames += 1
        line.send()
        return BOTH if line.has_more else selectors.EVENT_READ

    def close(self) -> None:
        if self._line is not None:
            self._field.sent.answers += self._line.answers
        self.socket.close()


def source_of(source: str, number: int) -> str:
    """Return another address for each number, made after an attack's own, 127.1.x.y."""
    first, second, rest = source.split(".", 2) if source else ("", "", "")
    return f"{first}.{int(second) + number}.{rest}" if source else ""
