"""The end of a client's connection that costs it none of its last answers.

Whoever closes a socket with unread bytes in it makes the kernel send a reset (RFC 1122, 4.2.2.13), and a reset throws
away what the client has received and not read. A client that pipelines has nearly always sent something more. So only
the writing side is closed at first; what still comes is thrown away until the client closes as well, within a bound.
TLS ends a connection in such a way by itself: there the transport is only closed.
"""

import asyncio
from collections.abc import Callable

LINGER_S = 2.0
"""Time for a client to close its side once all was written to it: all of Kafka's clients do so at once."""

_SCRATCH = bytearray(64 * 1024)
"""What nobody reads is received here, whoever sent it."""


class HalfClose(asyncio.BufferedProtocol):
    """What a connection is once everything is answered."""

    __slots__ = ("_left_s", "_lost", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        lost: Callable[[Exception | None], None],
        *,
        timeout_s: float,
    ) -> None:
        """Take the transport over, and close it in order.

        Args:
            transport: nothing more is to be written to it.
            lost: told when the connection is over.
            timeout_s: for the client to receive what was written; then the connection is cut.
        """
        self._transport, self._lost, self._left_s = transport, lost, timeout_s
        transport.set_protocol(self)
        if not transport.can_write_eof():
            transport.close()
        elif not transport.is_closing():
            transport.write_eof()
            if not transport.is_reading():
                transport.resume_reading()
        asyncio.get_running_loop().call_later(min(LINGER_S, timeout_s), self._look)

    def get_buffer(self, sizehint: int) -> bytearray:
        """Receive into what is never read."""
        return _SCRATCH

    def buffer_updated(self, nbytes: int) -> None:
        """Throw it away."""

    def eof_received(self) -> bool:
        """Let the transport close: the client has closed as well."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whose connection it was."""
        self._left_s = 0.0
        lost, self._lost = self._lost, _nobody
        lost(exc)

    def _look(self) -> None:
        """Close for a client that does not, once it has everything; cut one that does not read."""
        if self._lost is _nobody:
            return
        self._left_s -= LINGER_S
        if self._left_s <= 0:
            self._transport.abort()
            return
        if not self._transport.get_write_buffer_size():
            self._transport.close()
        asyncio.get_running_loop().call_later(LINGER_S, self._look)


def _nobody(exc: Exception | None) -> None:
    """Be told, and do nothing."""
