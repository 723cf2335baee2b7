"""TLS towards clients: a context that is renewed with its files, and a handshake whose failure is explained."""

import asyncio
import math
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import structlog

from bifrost.config.fields.server_tls import ServerTls
from bifrost.config.files.server_context import (
    FILE_KEYS,
    ServerContextError,
    build_server_context,
    crl_expiry,
)
from bifrost.gateway.loop.shared_run import SharedRun
from bifrost.gateway.sockets.socket_transport import Pace, SocketTransport, at_once
from bifrost.session.close_reason import CloseReason
from bifrost.session.first_bytes.tls_failure import explain_tls_failure

log = structlog.get_logger()

LOOK_EVERY_MS = 3_000
"""Time after which a new connection causes another look at the files: a few calls of stat."""


class ServerContexts:
    """The SSL context of one listener set, renewed when its files change.

    To read the files takes milliseconds, so it is done in a thread; connections that come meanwhile wait for the new
    context, and the event loop goes on.
    """

    def __init__(
        self,
        name: str,
        tls: ServerTls,
        now_ms: Callable[[], int],
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Make the first context. May run in any thread.

        Args:
            name: name of the listener set, for the log.
            tls: the listener set's section `tls`.
            now_ms: a monotonic clock.
            wall_s: the time, in seconds since the epoch.
        Raises:
            ServerContextError: a file has become unusable since the configuration was loaded.
        """
        self._name = name
        self._tls = tls
        self._now_ms, self._wall_s = now_ms, wall_s
        self._seen = self._look()
        self._looked_ms = now_ms()
        self._context, self._valid_until_s = self._build()
        """The context, and from when on it has to be made anew because a list of revoked certificates has expired."""
        self._is_of_the_files = True
        """Whether the context was made of the files as they were when last seen; not if they could not be used."""
        self._refreshed = SharedRun(self.refresh)

    async def current(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        while self._refreshed.is_running or self._is_due():
            await self._refreshed.wait()
        return self._context

    def _is_due(self) -> bool:
        """Whether the files have to be looked at: it is time to, or a list of revoked certificates has expired."""
        return self._now_ms() - self._looked_ms >= LOOK_EVERY_MS or self._wall_s() >= self._valid_until_s

    def has(self, name: str, tls: ServerTls) -> bool:
        """Whether the context is what these settings and their files, as they are now, would make."""
        is_valid = self._is_of_the_files and self._wall_s() < self._valid_until_s
        return is_valid and (name, tls) == (self._name, self._tls) and self._look() == self._seen

    async def refresh(self) -> None:
        """Make a new context if a file has changed or a list has expired; if that fails, warn and keep the old one."""
        self._looked_ms = self._now_ms()
        found, has_expired = self._look(), self._wall_s() >= self._valid_until_s
        is_other = found != self._seen
        if not is_other and not has_expired:
            return
        # Noted first, so that a change during the reading is found the next time.
        self._seen, self._is_of_the_files = found, False
        if has_expired:
            self._valid_until_s = math.inf
            # A session of TLSv1.2 that this context remembers would be resumed without another look at the list.
            self._context.minimum_version = ssl.TLSVersion.TLSv1_3
        try:
            self._context, self._valid_until_s = await asyncio.to_thread(self._build)
        except ServerContextError as error:
            log.warning(
                "certificate_not_renewed", listener=self._name, key=f"tls.{error.key}", error=str(error)
            )
            return
        self._is_of_the_files = True
        if is_other:
            log.info("certificate_renewed", listener=self._name, certificate_file=self._tls.certificate_file)

    def _build(self) -> tuple[ssl.SSLContext, float]:
        """Return a context, and the time from which it has to be made anew because a list of it expires."""
        context = build_server_context(self._tls)
        context.sslsocket_class = ServerSocket
        context.sni_callback = _note_server_name
        expiry = crl_expiry(self._tls)
        if expiry is None:
            return context, math.inf
        if expiry.timestamp() > self._wall_s():
            return context, expiry.timestamp()
        log.warning(
            "client_crl_expired",
            listener=self._name,
            client_crl_file=self._tls.client_crl_file,
            next_update=expiry.isoformat(),
            detail="clients with certificates of its CA are refused until the file has a newer list",
        )
        return context, math.inf

    def _look(self) -> tuple[object, ...]:
        paths = (getattr(self._tls, key) for key in FILE_KEYS)
        return tuple(None if path is None else _stamp(path) for path in paths)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_size, found.st_mtime_ns


class ServerSocket(ssl.SSLSocket):
    """The TLS socket of one connection."""

    server_name: str | None = None
    """The host name in the client's TLS hello (SNI)."""


def _note_server_name(handshake: Any, name: str | None, _context: ssl.SSLContext) -> None:
    handshake.server_name = name


class TlsFailure(Exception):
    """The TLS handshake failed; the text is for the log."""

    def __init__(self, reason: CloseReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Encrypted:
    """What a handshake told about a client."""

    server_name: str | None
    """The host name in the client's TLS hello (SNI); None if it sent none."""

    certificate: bytes | None
    """The client's certificate, in DER; None without one."""


async def shake_hands(transport: SocketTransport, context: ssl.SSLContext, pace: Pace = at_once) -> Encrypted:
    """Make the TLS handshake with a client.

    Args:
        transport: a transport without TLS, from which nothing of the handshake was read.
        context: a context of ServerContexts.
        pace: calls each step of it, now or later.
    Raises:
        TlsFailure: the handshake failed; the client has been sent the alert that TLS has for it.
        OSError: the client is gone.
    """
    try:
        handshake = cast(ServerSocket, await transport.shake_hands(context, server_side=True, pace=pace))
    except ssl.SSLError as error:
        raise TlsFailure(*explain_tls_failure(error.reason, getattr(error, "verify_message", None))) from None
    if handshake.session_reused and _has_expired(handshake):
        # TLSv1.2 may resume an earlier session, in which the certificate is not checked again.
        raise TlsFailure(CloseReason.CLIENT_CERTIFICATE_REFUSED, "the client's certificate has expired since")
    return Encrypted(handshake.server_name, handshake.getpeercert(binary_form=True))


def _has_expired(handshake: ssl.SSLSocket) -> bool:
    end = (handshake.getpeercert() or {}).get("notAfter")
    return end is not None and ssl.cert_time_to_seconds(str(end)) < time.time()


def feed(reader: asyncio.BufferedProtocol, received: bytes) -> None:
    """Give a protocol the bytes that arrived before it existed, as a transport would."""
    while received:
        room = memoryview(reader.get_buffer(len(received)))
        size = min(len(room), len(received))
        room[:size] = received[:size]
        received = received[size:]
        reader.buffer_updated(size)
