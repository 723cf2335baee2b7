"""TLS towards clients: a context that follows its files, and a handshake that ends in words.

asyncio's own way (`create_server(ssl=...)`) tells nobody why a handshake failed, neither the operator nor the client:
it closes before OpenSSL's alert is sent, and a client takes that for a network fault and tries again. Here the failure
is held back until the alert is out.
"""

import asyncio
import contextvars
import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import structlog

from bifrost.config.server_context import FILE_KEYS, ServerContextError, build_server_context
from bifrost.config.server_tls import ServerTls
from bifrost.session.close_reason import CloseReason
from bifrost.session.tls_failure import explain_tls_failure

log = structlog.get_logger()

LOOK_EVERY_MS = 3_000
"""Time after which a new connection has the files looked at again: a few calls of stat."""

SHUTDOWN_TIMEOUT_S = 5.0
"""Time a client has to answer the end of TLS."""


class ServerContexts:
    """The SSL context of one listener set, made anew when its files change."""

    def __init__(self, name: str, tls: ServerTls, now_ms: Callable[[], int]) -> None:
        """Make the first one.

        Args:
            name: of the listener set, for the log.
            tls: its section.
            now_ms: a monotonic clock.
        Raises:
            ServerContextError: a file is not what it was when the configuration was loaded.
        """
        self._name = name
        self._tls = tls
        self._now_ms = now_ms
        self._seen = self._look()
        self._looked_ms = now_ms()
        self._context = self._build()

    def current(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        if self._now_ms() - self._looked_ms >= LOOK_EVERY_MS:
            self.refresh()
        return self._context

    def refresh(self) -> None:
        """Make a new context if a file has changed; one that cannot be made leaves the old one, with a warning."""
        self._looked_ms = self._now_ms()
        found = self._look()
        if found == self._seen:
            return
        # Noted first: what changes while it is read is found the next time.
        self._seen = found
        try:
            self._context = self._build()
        except ServerContextError as error:
            log.warning(
                "certificate_not_renewed", listener=self._name, key=f"tls.{error.key}", error=str(error)
            )
        else:
            log.info("certificate_renewed", listener=self._name, certificate_file=self._tls.certificate_file)

    def _build(self) -> ssl.SSLContext:
        context = build_server_context(self._tls)
        context.sslobject_class = Handshake
        context.sni_callback = _note_server_name
        return context

    def _look(self) -> tuple[object, ...]:
        paths = (getattr(self._tls, key) for key in FILE_KEYS)
        return tuple(None if path is None else _stamp(path) for path in paths)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError as error:
        return error.errno
    return found.st_ino, found.st_size, found.st_mtime_ns


_listening: contextvars.ContextVar["Callable[[Handshake], None]"] = contextvars.ContextVar("listening")
"""Who is to be told of a failure, while the first bytes of a handshake are given to it."""


class Handshake(ssl.SSLObject):
    """The TLS of one connection."""

    server_name: str | None = None
    """The host that the client wanted to reach (SNI)."""

    failure: ssl.SSLError | None = None
    _on_failure: "Callable[[Handshake], None] | None" = None

    def do_handshake(self) -> None:
        """Go on with the handshake; a failure is noted, so that whoever drives it sends the alert there is for it."""
        self._on_failure = self._on_failure or _listening.get(None)
        if self.failure is None:
            try:
                super().do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                if self._on_failure is None:
                    raise
                self.failure = error
                # Soon, for the alert is sent when this has returned.
                asyncio.get_running_loop().call_soon(self._on_failure, self)
            else:
                return
        raise ssl.SSLWantReadError


def _note_server_name(handshake: Any, name: str | None, _context: ssl.SSLContext) -> None:
    handshake.server_name = name


class TlsFailure(Exception):
    """No TLS came about; the text is for the log."""

    def __init__(self, reason: CloseReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Encrypted:
    """A connection with TLS."""

    transport: asyncio.Transport
    server_name: str | None
    """The host that the client wanted to reach (SNI); None if it did not say."""

    certificate: bytes | None
    """The client's, in DER; None without one."""


async def shake_hands(
    transport: asyncio.Transport,
    protocol: asyncio.BufferedProtocol,
    context: ssl.SSLContext,
    received: bytes,
    timeout_s: float,
) -> Encrypted:
    """Speak TLS over a transport that is paused; so is the one that is returned.

    Args:
        transport: without TLS. If this fails it is `protocol`'s again, to be closed when the alert had time to arrive.
        protocol: what is told if the connection is lost, until another one is set on the transport returned.
        context: one of ServerContexts.
        received: what the client has said already, at least one byte.
        timeout_s: after this the handshake has failed.
    Raises:
        TlsFailure: the client has been told why, as far as TLS has words for it.
        OSError: the client is gone, or the time is over.
    """
    loop = asyncio.get_running_loop()
    failed: asyncio.Future[Handshake] = loop.create_future()
    starting = loop.create_task(_start_tls(transport, protocol, context, timeout_s))
    racing: set[asyncio.Future[Any]] = {starting, failed}
    try:
        await asyncio.sleep(0)
        # By now the transport has its new protocol, and the calls are under way that start it and read on.
        loop.call_soon(_begin, transport, received, failed)
        await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
        if failed.done():
            transport.set_protocol(protocol)
            # Not now: it would cut the connection before the alert arrives. However it ends, nobody asks.
            starting.add_done_callback(lambda task: task.cancelled() or task.exception())
            loop.call_later(SHUTDOWN_TIMEOUT_S, starting.cancel)
            error = failed.result().failure
            assert error is not None
            raise TlsFailure(*explain_tls_failure(error.reason, getattr(error, "verify_message", None)))
        encrypted = await starting
    except BaseException:
        if not failed.done():
            starting.cancel()
        raise
    handshake = None if encrypted is None else encrypted.get_extra_info("ssl_object")
    if encrypted is None or handshake is None:
        raise ConnectionResetError("the client is gone")
    if handshake.session_reused and _has_expired(handshake):
        # TLSv1.2 may go on with a session of before, in which nobody looks at the certificate again.
        encrypted.close()
        raise TlsFailure(CloseReason.CLIENT_CERTIFICATE_REFUSED, "the client's certificate has expired since")
    return Encrypted(encrypted, handshake.server_name, handshake.getpeercert(binary_form=True))


def _has_expired(handshake: ssl.SSLObject) -> bool:
    end = (handshake.getpeercert() or {}).get("notAfter")
    return end is not None and ssl.cert_time_to_seconds(str(end)) < time.time()


async def _start_tls(
    transport: asyncio.Transport,
    protocol: asyncio.BufferedProtocol,
    context: ssl.SSLContext,
    timeout_s: float,
) -> asyncio.Transport | None:
    encrypted = await asyncio.get_running_loop().start_tls(
        transport,
        protocol,
        context,
        server_side=True,
        ssl_handshake_timeout=timeout_s,
        ssl_shutdown_timeout=SHUTDOWN_TIMEOUT_S,
    )
    if encrypted is not None:
        # In the same turn of the loop: what came with the end of the handshake is not for `protocol`.
        encrypted.pause_reading()
    return encrypted


def _begin(transport: asyncio.Transport, received: bytes, failed: "asyncio.Future[Handshake]") -> None:
    """Give what was read before TLS began to what reads it now, and stay with the handshake that this is."""
    if transport.is_closing():
        return
    # asyncio's is a BufferedProtocol; uvloop's only behaves as one.
    reader = cast(asyncio.BufferedProtocol, transport.get_protocol())
    token = _listening.set(lambda handshake: None if failed.done() else failed.set_result(handshake))
    try:
        feed(reader, received)
    finally:
        _listening.reset(token)


def feed(reader: asyncio.BufferedProtocol, received: bytes) -> None:
    """Give a protocol what came before it was there, as a transport would."""
    while received:
        room = memoryview(reader.get_buffer(len(received)))
        size = min(len(room), len(received))
        room[:size] = received[:size]
        received = received[size:]
        reader.buffer_updated(size)
