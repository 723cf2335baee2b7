"""A connection of the API's port: uvicorn's, with the client's certificate, and an end for one that is idle.

When all places are taken, a new connection takes that of the oldest one that no admin has used: so clients without a
token cannot keep admins out.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from bifrost.control.gate import ASKER, CERTIFICATE

MAX_CONNECTIONS = 1_024
"""Connections at one time: far more than admins have; a further one makes another one close."""

IDLE_S = 15.0
"""A connection without a whole request for so long, or up to twice as long, is closed, whatever bytes it sends."""

MAX_HEAD_BYTES = 16 * 1024
"""Largest first line and headers of a request: a token of 4 KiB and what HTTP clients add."""


_STRANGERS: WeakKeyDictionary[ServerState, "dict[ControlConnection, None]"] = WeakKeyDictionary()
"""The connections of a server that no admin has used yet, the oldest first."""


class ControlConnection(H11Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the certificate that OpenSSL has accepted, and begin to watch."""
        super().connection_made(transport)
        self._strangers = _STRANGERS.setdefault(self.server_state, {})
        self._strangers[self] = None
        if len(self.connections) > MAX_CONNECTIONS and self._make_room() is self:
            return
        self.app = self._noting(self.app)
        encrypted = transport.get_extra_info("ssl_object")
        if encrypted is not None:
            self.app = _with_certificate(self.app, encrypted)
        self._seen: object = None
        self._watch: asyncio.TimerHandle = self.loop.call_later(IDLE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no longer."""
        self._strangers.pop(self, None)
        watch = getattr(self, "_watch", None)
        if watch is not None:
            watch.cancel()
        super().connection_lost(exc)

    def _make_room(self) -> "ControlConnection":
        """End the oldest connection that no admin has used, perhaps this one; return it."""
        for one in tuple(self._strangers):
            del self._strangers[one]
            if one is self or one.cycle is None or ASKER not in one.cycle.scope.get("state", {}):
                break
        one.transport.abort()
        return one

    def _noting(self, app: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """Return the application, which notes that an admin uses the connection."""

        async def serve(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            await app(scope, receive, send)
            if ASKER in scope.get("state", {}):
                self._strangers.pop(self, None)

        return serve

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
