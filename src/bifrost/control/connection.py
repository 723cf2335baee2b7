"""A connection of the API's port: uvicorn's, with the client's certificate, and an end for one that is idle."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from bifrost.control.gate import CERTIFICATE

MAX_CONNECTIONS = 1_024
"""Connections at one time: far more than admins have; a further one is closed at once."""

IDLE_S = 15.0
"""A connection without a whole request for so long, or up to twice as long, is closed, whatever bytes it sends."""

MAX_HEAD_BYTES = 16 * 1024
"""Largest first line and headers of a request: a token of 4 KiB and what HTTP clients add."""


class ControlConnection(H11Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the certificate that OpenSSL has accepted, and begin to watch."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        encrypted = transport.get_extra_info("ssl_object")
        if encrypted is not None:
            self.app = _with_certificate(self.app, encrypted)
        self._seen: object = None
        self._watch: asyncio.TimerHandle = self.loop.call_later(IDLE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no longer."""
        watch = getattr(self, "_watch", None)
        if watch is not None:
            watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection if the same request, or none, was there when it was looked at last, and is answered."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._seen is (self.cycle or self):
            self.transport.abort()
            return
        self._seen = (self.cycle or self) if is_idle else None
        self._watch = self.loop.call_later(IDLE_S, self._look)


def _with_certificate(app: Any, encrypted: ssl.SSLObject) -> Callable[..., Awaitable[None]]:
    certificate = encrypted.getpeercert(binary_form=True)

    async def serve(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        scope.setdefault("extensions", {})[CERTIFICATE] = certificate
        await app(scope, receive, send)

    return serve
