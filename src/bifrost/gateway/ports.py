"""The ports on which a process accepts its clients: those that it binds itself.

A worker's are bound by its supervisor, which hands the connections over: `workers/given_ports.py`.
"""

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

from bifrost.gateway.bound_socket import bind
from bifrost.gateway.listener_watch import Probes, Watched
from bifrost.gateway.loop_guard import Threshold

log = structlog.get_logger()

BACKLOG = 1024
"""Connections the kernel keeps while we are busy: a whole fleet may reconnect at once."""

Accept = Callable[[], asyncio.BaseProtocol]
"""Makes what a new connection's bytes go to."""


class Port(Protocol):
    """One of them."""

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Accept clients from now on; `stands_for` says in the log what they reach here."""

    def close(self) -> None:
        """Accept no more, and leave the port to others."""


class Ports(Protocol):
    """How they are had."""

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Return a port that is bound and not served yet.

        Args:
            name: of the listener set, for errors and the log.
            host: an address of this machine, or a name of one.
            port: of TCP.
        Raises:
            StartError: the port cannot be bound.
        """

    def served(self) -> Iterable[Watched]:
        """Return those on which this process itself accepts."""


class OwnPorts:
    """Of this process alone."""

    def __init__(self) -> None:
        """Bind nothing yet."""
        self._served: set[OwnPort] = set()

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Bind one here."""
        return OwnPort(name, (host, port), bind(f"listener {name}", host, port), self._served)

    def served(self) -> Iterable[Watched]:
        """Return those that are open."""
        return tuple(self._served)


class OwnPort:
    """A socket of this process."""

    def __init__(
        self, name: str, where: tuple[str, int], bound: socket.socket, served: "set[OwnPort]"
    ) -> None:
        """Take a socket that is bound.

        Args:
            name: of the listener set.
            where: the address and the port that it is bound to, as the configuration has them.
            bound: the socket.
            served: those that are open, this one while it is.
        """
        self.name, self.where, self.bound, self._served = name, where, bound, served
        self.stands_for = ""
        self.accepted = 0
        self.probes = Probes()
        self._server: asyncio.Server | None = None
        self._accept: Accept | None = None

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Listen."""
        self._accept, self.stands_for = accept, stands_for
        self._served.add(self)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._threshold, sock=self.bound, backlog=BACKLOG)
        if self._accept is None:  # It was closed meanwhile.
            self._server.close()
        else:
            log_listening(self.name, self.bound, stands_for)

    def _threshold(self) -> Threshold:
        """Return what a new connection is at first. Whatever else is done here may raise, and must not."""
        self.accepted += 1
        assert self._accept is not None
        return Threshold(self._accept, self.probes.take)

    async def reopen(self) -> None:
        """Listen on a new socket: the old one is not polled any more, or is closed.

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
        """Listen no more."""
        self._accept = None
        self._served.discard(self)
        self._close()

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        else:
            self.bound.close()


def log_listening(name: str, bound: socket.socket, stands_for: str) -> None:
    """Log that clients are accepted on a socket."""
    host, port, *_ = bound.getsockname()
    log.info("listening", listener=name, address=f"{host}:{port}", stands_for=stands_for)
