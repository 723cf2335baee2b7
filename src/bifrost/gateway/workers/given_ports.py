"""The ports of a worker: its supervisor binds them, accepts there, and hands connections over (SCM_RIGHTS)."""

import asyncio
import socket
from collections.abc import Callable, Iterable

import structlog

from bifrost.gateway.errors import StartError
from bifrost.gateway.sockets.accepted_socket import Accept, enter
from bifrost.gateway.sockets.listener_watch import Watched
from bifrost.gateway.sockets.ports import ACCEPTED_AT_ONCE, Port
from bifrost.gateway.workers.channel import Channel, ChannelClosed, Refused

log = structlog.get_logger()

NUMBER_BYTES = 4
"""Bytes of the port's number, which comes with each connection."""


class GivenPorts:
    """The ports of one worker."""

    def __init__(self, channel: Channel, arriving: socket.socket, note: Callable[[int], None]) -> None:
        """Bind nothing yet.

        Args:
            channel: the channel to the supervisor.
            arriving: SOCK_SEQPACKET socket on which connections arrive.
            note: called with how many arrived in all.
        """
        self._channel, self._arriving, self._note = channel, arriving, note
        self._accept: dict[int, Accept] = {}
        self._taken = 0

    def start(self) -> None:
        """Take connections from now on."""
        self._arriving.setblocking(False)
        asyncio.get_running_loop().add_reader(self._arriving.fileno(), self._take)

    async def bind(self, name: str, host: str, port: int) -> Port:
        """Ask the supervisor for a port."""
        try:
            answer = await self._channel.ask({"do": "bind", "name": name, "host": host, "port": port})
        except Refused as error:
            raise StartError(str(error)) from None
        except ChannelClosed:
            raise StartError("the supervisor is gone") from None
        return GivenPort(self, int(answer["number"]))

    def served(self) -> Iterable[Watched]:
        """Return no ports: the supervisor accepts."""
        return ()

    def serve(self, number: int, accept: Accept, stands_for: str) -> None:
        """Ask the supervisor for connections to a port."""
        self._accept[number] = accept
        self._channel.tell({"do": "serve", "number": number, "stands_for": stands_for})

    def leave(self, number: int) -> None:
        """Ask for no more connections to a port."""
        self._accept.pop(number, None)
        self._channel.tell({"do": "leave", "number": number})

    def _take(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                content, descriptors, _, _ = socket.recv_fds(self._arriving, NUMBER_BYTES, 1)
            except (BlockingIOError, InterruptedError):
                return
            if not content:
                asyncio.get_running_loop().remove_reader(self._arriving.fileno())
                return
            self._taken += 1
            if descriptors:
                self._enter(int.from_bytes(content, "big"), socket.socket(fileno=descriptors[0]))
            else:
                log.error("connection_lost", detail="no descriptor was left for it: raise ulimit -n")
            self._note(self._taken)

    def _enter(self, number: int, client: socket.socket) -> None:
        accept = self._accept.get(number)
        if accept is None:
            client.close()  # It was under way when the port was given up.
            return
        try:
            address = client.getpeername()
        except OSError:
            client.close()  # The client is gone already.
        else:
            enter(client, address, accept)


class GivenPort:
    """A port that the supervisor has bound."""

    def __init__(self, ports: GivenPorts, number: int) -> None:
        """Represent the port with this number at the supervisor."""
        self._ports, self._number = ports, number

    async def serve(self, accept: Accept, stands_for: str) -> None:
        """Accept the connections to this port."""
        self._ports.serve(self._number, accept, stands_for)

    def close(self) -> None:
        """Accept no more connections."""
        self._ports.leave(self._number)
