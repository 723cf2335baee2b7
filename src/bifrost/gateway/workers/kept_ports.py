"""The listening sockets of all workers, in the supervisor: bound once, and open for as long as a worker needs them.

The supervisor binds a port when the first worker asks for it. Connections go to the workers that serve it. While none
does, because the last one has died, they wait in the kernel's backlog for the next worker.
"""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import structlog

from bifrost.gateway.errors import StartError
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.bound_socket import bind
from bifrost.gateway.sockets.listener_watch import Probes
from bifrost.gateway.sockets.ports import BACKLOG, log_listening
from bifrost.gateway.workers.channel import Refused

log = structlog.get_logger()

ACCEPTED_AT_ONCE = 32
"""Connections of one port that are accepted before other work has its turn."""

RETRY_S = 0.02
"""Time to the next attempt when no worker can take a connection."""

NO_DESCRIPTORS_RETRY_S = 1.0

FAILED_RETRY_S = 0.1
"""Time after which a port accepts again when an error of the gateway's own ended a connection."""

W = TypeVar("W")


@dataclass(eq=False, slots=True)
class KeptPort(Generic[W]):
    """A listening socket and the workers that use it."""

    number: int
    name: str
    where: tuple[str, int]
    bound: socket.socket
    holders: set[W] = field(default_factory=set)
    """Workers that have asked for the port."""
    serving: set[W] = field(default_factory=set)
    """Workers that take its connections."""
    stands_for: str = ""
    is_listening: bool = False
    is_watched: bool = False
    accepted: int = 0
    probes: Probes = field(default_factory=Probes)
    open_again: Callable[["KeptPort[W]"], None] = lambda _kept: None

    async def reopen(self) -> None:
        """Open the port again, so that it accepts.

        Raises:
            StartError: the port cannot be bound again.
        """
        self.open_again(self)


class Hands(Protocol[W]):
    """Gives connections to workers: the Supervisor."""

    def can_give(self, port: KeptPort[W]) -> bool:
        """Whether a worker that serves the port can take a connection now."""

    def give(self, port: KeptPort[W], client: socket.socket) -> None:
        """Give the connection to such a worker."""


class KeptPorts(Generic[W]):
    """All ports of the workers."""

    def __init__(self, hands: Hands[W]) -> None:
        """Bind nothing yet; no client is accepted before `open`."""
        self._hands = hands
        self._ports: dict[int, KeptPort[W]] = {}
        self._number = 0
        self._is_open = False

    def __iter__(self) -> Iterator[KeptPort[W]]:
        return iter(tuple(self._ports.values()))

    def bind(self, worker: W, name: str, host: str, port: int) -> int:
        """Return the number of a port that a worker asks for.

        Raises:
            Refused: the port cannot be bound, or this worker has it for another listener.
        """
        for kept in self:
            if kept.where == (host, port) and worker not in kept.holders:
                kept.holders.add(worker)
                return kept.number
        try:
            bound = bind(f"listener {name}", host, port)
        except StartError as error:
            raise Refused(str(error)) from None
        bound.setblocking(False)
        self._number += 1
        self._ports[self._number] = KeptPort(
            self._number, name, (host, port), bound, {worker}, open_again=self._open_again
        )
        return self._number

    def serve(self, worker: W, number: int, stands_for: str) -> None:
        """Give a worker connections of a port from now on.

        A worker that starts while the gateway stops asks when the ports are closed; one that has died, when it is lost.
        """
        kept = self._ports.get(number)
        if kept is None or worker not in kept.holders:
            return
        kept.serving.add(worker)
        kept.stands_for = stands_for
        self._update(kept)

    def leave(self, worker: W, number: int) -> None:
        """Give a worker no more connections of a port; close the port if no worker wants it."""
        kept = self._ports.get(number)
        if kept is not None:
            kept.holders.discard(worker)
            kept.serving.discard(worker)
            self._update(kept)
            if not kept.holders:
                self._close(kept)

    def served(self) -> list[KeptPort[W]]:
        """Return the ports that should accept, as a worker takes their connections."""
        return [kept for kept in self if kept.serving and self._is_open]

    def lose(self, worker: W) -> None:
        """Forget a worker that is gone; ports that only it had are kept for the next one."""
        for kept in self:
            kept.holders.discard(worker)
            kept.serving.discard(worker)
            self._update(kept)

    def close_unwanted(self) -> None:
        """Close the ports that no worker has asked for."""
        for kept in self:
            if not kept.holders:
                self._close(kept)

    def open(self) -> None:
        """Accept clients from now on."""
        self._is_open = True
        for kept in self:
            self._update(kept)

    def close(self) -> None:
        """Accept no more clients."""
        self._is_open = False
        for kept in self:
            self._close(kept)

    def _close(self, kept: KeptPort[W]) -> None:
        del self._ports[kept.number]
        self._watch(kept, False)
        kept.bound.close()

    def _update(self, kept: KeptPort[W]) -> None:
        if kept.serving and self._is_open and not kept.is_listening:
            kept.is_listening = True
            kept.bound.listen(BACKLOG)
            log_listening(kept.name, kept.bound, kept.stands_for)
        self._watch(kept, bool(kept.serving) and self._is_open)

    def _open_again(self, kept: KeptPort[W]) -> None:
        """Poll the socket again; replace it if it is closed.

        Raises:
            StartError: the port cannot be bound.
        """
        if kept.number not in self._ports:
            return
        if kept.bound.fileno() < 0:
            kept.is_listening = kept.is_watched = False
            kept.bound = bind(f"listener {kept.name}", *kept.where)
            kept.bound.setblocking(False)
        else:
            self._watch(kept, False)
        self._update(kept)

    def _watch(self, kept: KeptPort[W], wanted: bool) -> None:
        if wanted is kept.is_watched or kept.bound.fileno() < 0:
            return
        kept.is_watched = wanted
        loop = asyncio.get_running_loop()
        if wanted:
            loop.add_reader(kept.bound.fileno(), self._accept, kept)
        else:
            loop.remove_reader(kept.bound.fileno())

    def _accept(self, kept: KeptPort[W]) -> None:
        try:
            self._accept_some(kept)
        except Exception as error:
            report("accept", error, listener=kept.name)
            self._pause(kept, FAILED_RETRY_S)  # Otherwise it would be tried again at once, for ever.

    def _accept_some(self, kept: KeptPort[W]) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            if not self._hands.can_give(kept):
                self._pause(kept, RETRY_S)
                return
            try:
                client, address = kept.bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    raise
                log.warning(
                    "accept_failed", listener=kept.name, error=str(error), retry_in_s=NO_DESCRIPTORS_RETRY_S
                )
                self._pause(kept, NO_DESCRIPTORS_RETRY_S)
                return
            kept.accepted += 1
            with client:  # The worker that gets it has a copy.
                if kept.probes.take(address):
                    continue
                self._hands.give(kept, client)

    def _pause(self, kept: KeptPort[W], pause_s: float) -> None:
        self._watch(kept, False)
        asyncio.get_running_loop().call_later(pause_s, self._resume, kept)

    def _resume(self, kept: KeptPort[W]) -> None:
        if kept.number in self._ports:
            self._update(kept)


def peer_of(client: socket.socket) -> str:
    """Return the address of a connection's other side for the log."""
    try:
        host, port, *_ = client.getpeername()
    except (OSError, ValueError):
        return "?"  # It is gone already.
    return f"{host}:{port}"
