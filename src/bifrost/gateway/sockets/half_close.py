"""Ends a client's connection so that the client does not lose its last answers.

When a process closes a socket with unread bytes in it, the kernel sends a reset (RFC 1122, 4.2.2.13), and a reset
discards what the client has received and not read. A client that pipelines has nearly always sent something more. So
only the writing side is closed at first; what still arrives is discarded until the client closes as well, within a
time limit. `SocketStream` ends TLS connections in this way itself: there the transport is only closed.
"""

import asyncio
from collections.abc import Callable

from bifrost.gateway.loop.loop_guard import report

LINGER_S = 2.0
"""Time for a client to close its side once everything was written to it: all of Kafka's clients do so at once."""

_SCRATCH = bytearray(64 * 1024)
"""Discarded bytes of all connections are received here."""


class HalfClose(asyncio.BufferedProtocol):
    """The protocol of a client's connection once everything is answered."""

    __slots__ = ("_left_s", "_lost", "_pace", "_transport")

    def __init__(
        self,
        transport: asyncio.Transport,
        lost: Callable[[Exception | None], None],
        timeout_s: float,
        pace: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """Take the transport over, and close it in order.

        Args:
            transport: the client's transport, to which nothing more will be written.
            lost: called when the connection is over.
            timeout_s: time for the client to receive what was written; then the connection is cut.
            pace: calls what it is given in this turn of the event loop or a later one, for a thousand connections may
                have ended at once; None: at once.
        """
        self._pace = pace
        self._transport, self._lost, self._left_s = transport, lost, timeout_s
        transport.set_protocol(self)
        if not transport.can_write_eof():
            transport.close()
        elif not transport.is_closing():
            transport.write_eof()
            if not transport.is_reading():
                transport.resume_reading()
        self._look_later(min(LINGER_S, timeout_s))

    def get_buffer(self, sizehint: int) -> bytearray:
        """Return memory that is never read."""
        return _SCRATCH

    def buffer_updated(self, nbytes: int) -> None:
        """Discard the received bytes."""

    def eof_received(self) -> bool:
        """Let the transport close: the client has closed as well."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the former owner of the connection."""
        self._left_s = 0.0
        lost, self._lost = self._lost, _ignore_loss
        lost(exc)

    def _look(self) -> None:
        """Close the connection if the client has received everything and does not close; cut it if it does not read."""
        try:
            if self._lost is not _ignore_loss:
                self._look_at_client()
        except Exception as error:  # No other timer would end the connection.
            report("half_close", error)
            self._transport.abort()

    def _look_at_client(self) -> None:
        self._left_s -= LINGER_S
        if self._left_s <= 0:
            self._transport.abort()
            return
        if not self._transport.get_write_buffer_size():
            self._transport.close()
        self._look_later(LINGER_S)

    def _look_later(self, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._pace is None:
            loop.call_later(delay_s, self._look)
        else:
            loop.call_later(delay_s, self._pace, self._look)


def _ignore_loss(exc: Exception | None) -> None:
    """Ignore the end of the connection."""
