"""The broker side of one client's connection: a socket and its framer; what to do with the frames is the session's."""

import asyncio
import socket
from typing import TYPE_CHECKING, cast

from bifrost.session.close_reason import CloseReason
from bifrost.wire.engine import Framer

if TYPE_CHECKING:
    from bifrost.gateway.client_connection import ClientConnection

MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""A broker bounds its answers itself (fetch.max.bytes, 55 MiB by default, plus one batch); this bounds our memory."""


class BrokerConnection(asyncio.BufferedProtocol):
    """Carries one client's frames to one broker and back."""

    __slots__ = ("_client", "framer", "get_buffer", "is_write_paused", "transport")

    def __init__(self, client: "ClientConnection") -> None:
        """Belong to `client` from the start: if the client goes, this goes."""
        self._client = client
        self.framer = Framer(MAX_RESPONSE_BYTES)
        self.get_buffer = self.framer.get_buffer  # type: ignore[method-assign]  # no Python frame per read
        self.transport: asyncio.Transport | None = None
        self.is_write_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the socket up."""
        self.transport = cast(asyncio.Transport, transport)
        set_up_socket(self.transport)

    def buffer_updated(self, nbytes: int) -> None:
        """Hand what came to the client's connection, which owns the session."""
        self._client.broker_bytes_received(self.framer, nbytes)

    def pause_writing(self) -> None:
        """The broker reads slower than the client writes: stop reading from the client."""
        self.is_write_paused = True
        self._client.update_reading()

    def resume_writing(self) -> None:
        """The broker has caught up."""
        self.is_write_paused = False
        self._client.update_reading()

    def eof_received(self) -> bool:
        """Let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Without its broker a client's connection has no meaning; the client will make a new one."""
        self.transport = None
        detail = "the broker closed the connection" if exc is None else f"{type(exc).__name__}: {exc}"
        self._client.end(CloseReason.BROKER_CLOSED, detail)


WRITE_HIGH_WATER_BYTES = 1024 * 1024
"""Bytes that may wait to be written before the other side is no longer read: one Fetch of usual size."""


def set_up_socket(transport: asyncio.Transport) -> None:
    """Send small frames at once, and bound what waits to be written."""
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
