"""The ports on which a process accepts its clients, when it binds them itself.

A worker's ports are bound by its supervisor, which hands the connections over: `workers/given_ports.py`.
"""

import asyncio
import errno
import socket
from collections.abc import Iterable
from typing import Protocol

import structlog

from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.accepted_socket import Accept, enter
from bifrost.gateway.sockets.bound_socket import bind
from bifrost.gateway.sockets.listener_watch import Probes, Watched

log = structlog.get_logger()

BACKLOG = 1024
"""Connections that the kernel keeps while the gateway is busy: a whole fleet may reconnect at once."""

ACCEPTED_AT_ONCE = 4
"""Connections of one port that are accepted before other work has its turn: half a millisecond's work, with what the
event loop and the gateway make of each. An event loop's own server accepts all that wait; with a thousand of them all
other connections wait for a tenth of a second."""

NO_DESCRIPTORS_RETRY_S = 1.0

FAILED_RETRY_S = 0.1
"""Time after which a port accepts again when an error of the gateway's own ended a connection."""

NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Errors of accept() when the process or the system has no room for another connection."""


class Port(Protocol):
    """A bound port."""

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Accept clients from now on; `stands_for` says in the log what they reach here."""

    def close(self) -> None:
        """Stop accepting, and release the port."""


class Ports(Protocol):
    """How a process gets its ports."""

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Return a port that is bound and not served yet.

        Args:
            name: name of the listener set, for errors and the log.
            host: an address of this machine, or a name of one.
            port: the TCP port.
        Raises:
            StartError: the port cannot be bound.
        """

    def served(self) -> Iterable[Watched]:
        """Return the ports on which this process itself accepts."""


class OwnPorts:
    """Ports that this process binds itself."""

    def __init__(self) -> None:
        """Bind nothing yet."""
        self._served: set[OwnPort] = set()

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Bind a port in this process."""
        return OwnPort(name, (host, port), bind(f"listener {name}", host, port), self._served)

    def served(self) -> Iterable[Watched]:
        """Return the open ports."""
        return tuple(self._served)


class OwnPort:
    """A socket of this process."""

    def __init__(
        self, name: str, where: tuple[str, int], bound: socket.socket, served: "set[OwnPort]"
    ) -> None:
        """Keep a bound socket.

        Args:
            name: name of the listener set.
            where: the address and port that it is bound to, as the configuration has them.
            bound: the socket.
            served: the open ports; this one is among them while it is open.
        """
        self.name, self.where, self.bound, self._served = name, where, bound, served
        self.stands_for = ""
        self.accepted = 0
        self.probes = Probes()
        self._accept: Accept | None = None

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Listen."""
        self._accept, self.stands_for = accept, stands_for
        self._served.add(self)
        self.bound.setblocking(False)
        self.bound.listen(BACKLOG)
        self._watch()
        log_listening(self.name, self.bound, stands_for)

    def _watch(self) -> None:
        if self._accept is not None and self.bound.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self.bound.fileno(), self._take)

    def _pause(self, pause_s: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self.bound.fileno())
        loop.call_later(pause_s, self._watch)

    def _take(self) -> None:
        try:
            self._take_some()
        except Exception as error:
            report("accept", error, listener=self.name)
            self._pause(FAILED_RETRY_S)  # Otherwise it would be tried again at once, for ever.

    def _take_some(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                client, address = self.bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS:
                    raise
                retry_s = NO_DESCRIPTORS_RETRY_S
                log.warning("accept_failed", listener=self.name, error=str(error), retry_in_s=retry_s)
                self._pause(retry_s)
                return
            self.accepted += 1
            if self.probes.take(address):
                client.close()
            elif self._accept is not None:
                enter(client, address, self._accept)

    async def reopen(self) -> None:
        """Listen on a new socket: the event loop does not poll the old one any more, or it is closed.

        Raises:
            StartError: the port cannot be bound again.
        """
        accept = self._accept
        if accept is None:
            return
        self._close()
        self.bound = bind(f"listener {self.name}", *self.where)
        await self.serve(accept, self.stands_for)

    def close(self) -> None:
        """Stop listening."""
        self._accept = None
        self._served.discard(self)
        self._close()

    def _close(self) -> None:
        if self.bound.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.bound.fileno())
            self.bound.close()


def log_listening(name: str, bound: socket.socket, stands_for: str) -> None:
    """Log that clients are accepted on a socket."""
    host, port, *_ = bound.getsockname()
    log.info("listening", listener=name, address=f"{host}:{port}", stands_for=stands_for)
