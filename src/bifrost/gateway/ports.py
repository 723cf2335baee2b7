"""The ports on which a process accepts its clients: those that it binds itself.

A worker's are bound by its supervisor, which hands the connections over: `workers/given_ports.py`.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

import structlog

from bifrost.gateway.bound_socket import bind

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


class OwnPorts:
    """Of this process alone."""

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Bind one here."""
        return OwnPort(name, bind(f"listener {name}", host, port))


class OwnPort:
    """A socket of this process."""

    def __init__(self, name: str, bound: socket.socket) -> None:
        """Take a socket that is bound, for a listener set of this name."""
        self._name, self._bound = name, bound
        self._server: asyncio.Server | None = None

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(accept, sock=self._bound, backlog=BACKLOG)
        log_listening(self._name, self._bound, stands_for)

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
        else:
            self._bound.close()


def log_listening(name: str, bound: socket.socket, stands_for: str) -> None:
    """Log that clients are accepted on a socket."""
    host, port, *_ = bound.getsockname()
    log.info("listening", listener=name, address=f"{host}:{port}", stands_for=stands_for)
