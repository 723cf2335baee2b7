"""The broker side of one client's connection: a socket and its framer; the session decides about the frames.

    connected ──log_in──▶ logging in ──▶ open ──is_login_due, log_in──▶ logging in ──▶ open …

Without an account at the brokers it is open at once. While it logs in, all received bytes belong to the login, and
no bytes of the client are sent.
"""

import asyncio
import contextlib
import socket
import ssl
from collections import Counter
from typing import TYPE_CHECKING, cast

from bifrost.gateway.brokers.broker_events import BrokerEvents
from bifrost.gateway.brokers.broker_login import MAX_LOGIN_FRAME_BYTES, Login, connect_failure
from bifrost.gateway.brokers.broker_tls import tls_failure
from bifrost.gateway.errors import OtherMechanism
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import CloseReason
from bifrost.wire.errors import WireError
from bifrost.wire.framer import Framer

if TYPE_CHECKING:
    from bifrost.gateway.brokers.broker_security import BrokerSecurity
    from bifrost.gateway.brokers.cluster import Broker

MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""Bounds the gateway's memory; a broker bounds its answers itself (fetch.max.bytes, by default 55 MiB, and a batch)."""


class BrokerConnection(asyncio.BufferedProtocol):
    """Carries one client's frames to one broker and back."""

    __slots__ = (
        "_answer", "_client", "_counted", "_is_logging_in", "_renewal", "framer", "get_buffer", "is_login_due",
        "is_write_paused", "transport",
    )  # fmt: skip

    def __init__(self, client: BrokerEvents) -> None:
        """Create the broker side of `client`; it ends when the client's connection ends."""
        self._client = client
        self.framer = Framer(MAX_RESPONSE_BYTES)
        self.get_buffer = self.framer.get_buffer  # type: ignore[method-assign]  # no Python frame per read
        self.transport: asyncio.Transport | None = None
        self.is_write_paused = False
        self.is_login_due = False
        """Whether the login must be renewed before more is sent."""
        self._is_logging_in = False
        self._answer: asyncio.Future[bytes] | None = None
        self._renewal: asyncio.TimerHandle | None = None
        self._counted: tuple[Counter[str], str] | None = None

    def count_in(self, counts: Counter[str], name: str) -> None:
        """Count as open under a name as long as there is a connection."""
        if self.transport is not None:
            self._counted = counts, name
            counts[name] += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set up the socket."""
        self.transport = cast(asyncio.Transport, transport)
        set_up_socket(self.transport)

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the received bytes to the client's connection, which owns the session, or to a login."""
        if self._is_logging_in:
            self._login_bytes_received(nbytes)
        else:
            self._client.broker_bytes_received(self.framer, nbytes)

    def pause_writing(self) -> None:
        """Stop reading from the client: the broker reads slower than the client writes."""
        self.is_write_paused = True
        self._client.update_reading()

    def resume_writing(self) -> None:
        """Read from the client again: the broker has caught up."""
        self.is_write_paused = False
        self._client.update_reading()

    def eof_received(self) -> bool:
        """Let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """End the client's connection, which cannot go on without its broker; the client will make a new one."""
        self.transport = None
        try:
            self._lose(exc)
        except Exception as error:  # Untold, the client would wait for ever.
            report("broker_connection", error)
            self._client.end(CloseReason.INTERNAL_ERROR, type(error).__name__)

    def _lose(self, exc: Exception | None) -> None:
        if self._counted is not None:
            counts, name = self._counted
            counts[name] -= 1
            self._counted = None
        if self._renewal is not None:
            self._renewal.cancel()
        if self._is_logging_in:
            self._settle(exc or EOFError("the broker closed the connection"))
            return
        detail = "the broker closed the connection"
        if exc is not None:
            words = tls_failure(exc) if isinstance(exc, ssl.SSLError) else exc
            detail = f"{type(exc).__name__}: {words}"
        self._client.end(CloseReason.BROKER_CLOSED, detail)

    async def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        """Make the TLS handshake; nothing has been sent or received yet.

        Raises:
            ssl.SSLError: the handshake failed.
            OSError: the connection failed.
        """
        if self.transport is None:
            raise ConnectionResetError("the broker closed the connection")
        encrypted = SocketTransport.take(self.transport, self)
        self.connection_made(encrypted)
        await encrypted.shake_hands(context, server_hostname=host)
        encrypted.resume_reading()

    # -- login

    async def log_in(self, login: Login, broker: "Broker", deadline: float) -> None:
        """Log in, or renew the login; no request of the client may await an answer.

        Args:
            login: the account.
            broker: the broker of this connection.
            deadline: time by which the login must be done, by the event loop's clock.
        Raises:
            LoginError: the broker did not let the gateway in.
            EOFError, OSError, WireError: the connection failed.
        """
        self._is_logging_in = True
        if self.transport is not None:
            self.transport.set_protocol(self)
        self.framer.max_frame_bytes = MAX_LOGIN_FRAME_BYTES
        versions = broker.offered.broker_response
        renew_after_ms = await login.log_in(self._ask, broker.host, _address(broker), deadline, versions)
        if self.framer.buffered:
            raise WireError("the broker sent more than the login asked for", 0)
        if self.transport is None:
            raise EOFError("the broker closed the connection")
        self._is_logging_in = self.is_login_due = False
        self.framer.max_frame_bytes = MAX_RESPONSE_BYTES
        if renew_after_ms is not None:
            loop = asyncio.get_running_loop()
            self._renewal = loop.call_later(renew_after_ms / 1000, self._login_ends)

    def _login_ends(self) -> None:
        self.is_login_due = True
        self._client.broker_login_due()

    async def _ask(self, request: bytes) -> bytes:
        """Send a request of a login; return the frame of its response."""
        if self.transport is None:
            raise EOFError("the broker closed the connection")
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.writelines([request])
        try:
            return await self._answer
        finally:
            self._answer = None

    def _login_bytes_received(self, nbytes: int) -> None:
        try:
            frames = self.framer.buffer_updated(nbytes)
            if self.framer.failed is not None:
                raise self.framer.failed
        except WireError as error:
            self._settle(error)
            return
        if len(frames) == 1 and self._answer is not None and not self._answer.done():
            self._answer.set_result(bytes(frames[0]))
        elif frames:
            self._settle(WireError("the broker sent what the login did not ask for", 0))

    def _settle(self, error: Exception) -> None:
        """End the login with an error; the connection cannot be used any more."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        if self.transport is not None:
            self.transport.abort()
            self.transport = None


async def connect(
    client: BrokerEvents,
    broker: "Broker",
    security: "BrokerSecurity",
    login: Login | None,
    timeout_ms: int,
) -> BrokerConnection:
    """Connect a client to its broker, and log in.

    Raises:
        LoginError: the broker did not let the gateway in.
        BrokerError: there is no connection within the time limit.
    """
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    context = await security.tls_context()
    try:
        async with login.pace.attempt(deadline) if login is not None else contextlib.nullcontext():
            try:
                return await _open(client, broker, context, login, deadline)
            except OtherMechanism:
                return await _open(client, broker, context, login, deadline)
    except (OSError, EOFError, WireError) as error:
        raise connect_failure(error, _address(broker), timeout_ms) from error


async def _open(
    client: BrokerEvents,
    broker: "Broker",
    context: ssl.SSLContext | None,
    login: Login | None,
    deadline: float,
) -> BrokerConnection:
    made: BrokerConnection | None = None
    try:
        async with asyncio.timeout_at(deadline):
            transport, made = await asyncio.get_running_loop().create_connection(
                lambda: BrokerConnection(client), broker.host, broker.port
            )
            if made.transport is None:  # An error of the gateway's own, or it is lost already.
                transport.abort()
                raise ConnectionResetError("the connection was closed as soon as it was made")
            if context is not None:
                await made.encrypt(context, broker.host)
        if login is not None:
            await made.log_in(login, broker, deadline)
        return made
    except BaseException:
        if made is not None and made.transport is not None:
            made.transport.abort()
        raise


async def renew_login(connection: BrokerConnection, broker: "Broker", login: Login, timeout_ms: int) -> None:
    """Renew the login of a connection on which nothing awaits an answer.

    Raises:
        LoginError: the broker did not let the gateway in again.
        BrokerError: it did not answer within the time limit, or the connection failed.
    """
    deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
    try:
        await connection.log_in(login, broker, deadline)
    except (OSError, EOFError, WireError) as error:
        raise connect_failure(error, _address(broker), timeout_ms) from error


def _address(broker: "Broker") -> str:
    return f"broker {broker.node_id} at {broker.host}:{broker.port}"


WRITE_HIGH_WATER_BYTES = 1024 * 1024
"""Bytes that may wait to be written before the other side is no longer read: one Fetch of usual size."""


def set_up_socket(transport: asyncio.Transport) -> None:
    """Send small frames at once, and bound the bytes that wait to be written."""
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)


def set_reading(transport: asyncio.Transport, wanted: bool) -> None:
    """Start or stop reading from a socket; do nothing if it is already so."""
    if transport.is_closing() or transport.is_reading() == wanted:
        return
    if wanted:
        transport.resume_reading()
    else:
        transport.pause_reading()
