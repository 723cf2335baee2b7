"""The bytes of a TLS connection in compiled code: see socket_stream.pyx."""

import asyncio
import socket as sockets
import ssl

from bifrost.wire.engine import Room

SHUTDOWN_TIMEOUT_S: float
"""Time the other side has to confirm the end of TLS; nothing is lost without."""

class SocketStream(asyncio.Transport):
    """A transport over a socket, encrypted once `encrypt` has been called.

    It is closed in order: after `close` what was written is sent, then TLS's close_notify and the end of TCP's
    direction, and what still comes is thrown away until the other side closes as well, or SHUTDOWN_TIMEOUT_S is over.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, socket: sockets.socket, protocol: asyncio.BufferedProtocol
    ) -> None:
        """Read nothing yet.

        Args:
            loop: what calls.
            socket: connected and not blocking; this closes it.
            protocol: what is read into, and told of the end.
        """

    def count_in(self, backlogs: Room) -> None:
        """Count what waits to be written in `backlogs`, of many transports together.

        When that is full the protocol is told to pause as soon as anything has to wait.
        """

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """As given."""

    @property
    def socket(self) -> ssl.SSLSocket:
        """The socket; before it is encrypted a plain one."""

    @property
    def is_encrypted(self) -> bool:
        """Whether `encrypt` was called."""

    def encrypt(self, socket: ssl.SSLSocket) -> None:
        """Go on with a socket that took the place of the one before, and has its number."""

    def lose(self, error: Exception | None) -> None:
        """Close the socket at once, and tell the protocol soon; nothing happens if it is closed already."""
