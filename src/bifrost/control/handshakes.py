"""TLS of the API's port: what a client may do before its handshake is whole is bounded in number and in time.

    accepted ──▶ Handshake ──whole──▶ ControlConnection
                   └── takes too long, or is the oldest one when there are too many: ended

Uvicorn learns of a connection when its handshake is whole. asyncio alone would wait for a minute, and for any number.
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

MAX_HANDSHAKES = 128
"""Handshakes at one time: more than admins begin together. A further one ends the oldest, so that clients that stop in
the middle of theirs keep no admin out."""

HANDSHAKE_S = 10.0
"""A handshake takes some milliseconds; so long it may take over a slow line."""


class Handshakes:
    """Makes the connections of a server, as the class of its protocol would."""

    def __init__(self, context: ssl.SSLContext, connection: Callable[..., asyncio.Protocol]) -> None:
        """Have no connection yet.

        Args:
            context: the server's certificate, and what it asks of clients.
            connection: makes what serves a connection whose handshake is whole.
        """
        self.context, self._connection = context, connection
        self.waiting: dict[Handshake, None] = {}
        """The handshakes that are under way, the oldest first."""

    def __call__(self, **arguments: Any) -> asyncio.Protocol:
        """Return the protocol of a connection that was accepted."""
        return Handshake(self, partial(self._connection, **arguments))


class Handshake(asyncio.Protocol):
    """A connection whose handshake is not whole yet."""

    def __init__(self, handshakes: Handshakes, connection: Callable[[], asyncio.Protocol]) -> None:
        """Begin when the connection is there."""
        self._all, self._connection = handshakes, connection
        self._early: list[bytes] = []
        """What came with the last bytes of the handshake."""
        self._is_ended = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the handshake, in the place of the oldest one if there are too many."""
        transport.pause_reading()  # The first bytes are TLS.
        waiting = self._all.waiting
        self._transport = transport
        waiting[self] = None
        if len(waiting) > MAX_HANDSHAKES:
            next(iter(waiting)).end()
        self.task = asyncio.get_running_loop().create_task(self._shake_hands())

    def data_received(self, data: bytes) -> None:
        """Keep what the connection gets when it is made."""
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make no connection any more."""
        self._is_ended = True
        self._all.waiting.pop(self, None)

    def end(self) -> None:
        """End the connection."""
        self._all.waiting.pop(self, None)
        self._transport.abort()

    async def _shake_hands(self) -> None:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                self._transport,
                self,
                self._all.context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_S,
            )
        except OSError:  # TLS errors and the end of the time are some as well. The transport is closed.
            return
        finally:
            self._all.waiting.pop(self, None)
        if encrypted is None or self._is_ended:
            return
        connection = self._connection()
        encrypted.set_protocol(connection)
        connection.connection_made(encrypted)
        for data in self._early:
            connection.data_received(data)
