"""Reads and writes the bytes of a connection in compiled code: see socket_stream.pyx."""

import asyncio
import socket as sockets
import ssl
from collections.abc import Callable

from bifrost.forwarding.room import Room

SHUTDOWN_TIMEOUT_S: float
"""Time for the other side to confirm the end of TLS; without its confirmation no data is lost."""

class SocketStream(asyncio.Transport):
    """A transport over a socket, encrypted once `encrypt` has been called.

    It is closed in order: `close` sends what was written, then TLS's close_notify and TCP's FIN, and discards what
    still arrives until the other side closes as well, or SHUTDOWN_TIMEOUT_S is over.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, socket: sockets.socket, protocol: asyncio.BufferedProtocol
    ) -> None:
        """Create the transport; it reads nothing yet.

        Args:
            loop: the event loop.
            socket: connected and not blocking; the transport closes it.
            protocol: receives the bytes, and is told of the end.
        """

    def count_in(self, backlogs: Room) -> None:
        """Count the bytes that wait to be written in `backlogs`, which many transports share.

        While `backlogs` is full, the protocol is told to pause as soon as any byte has to wait.
        """

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop."""

    @property
    def socket(self) -> ssl.SSLSocket:
        """The socket; a plain one before `encrypt`."""

    @property
    def is_encrypted(self) -> bool:
        """Whether `encrypt` was called."""

    def encrypt(self, socket: ssl.SSLSocket) -> None:
        """Use the TLS socket that wraps the previous socket and has its file descriptor.

        Raises:
            ConnectionResetError: the connection was gone before, so there is no TLS in it.
        """

    def call_when_ready(self, waiter: Callable[[], object] | None, is_to_write: bool = False) -> None:
        """Call `waiter` whenever the socket can be read, or written, instead of reading it; None: no longer.

        It is for what comes before the protocol reads, and ends with the connection.
        """

    def lose(self, error: Exception | None) -> None:
        """Close the socket at once, and tell the protocol soon; do nothing if it is closed already."""
