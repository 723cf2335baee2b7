"""What happens before the first frame of a client: a load balancer's PROXY header, TLS, and its certificate's check.

      PROXY header ──▶ first bytes of TLS ──▶ delay, turn ──▶ TLS handshake ──▶ ClientConnection
       (if the listener set has it)            (by the client's address: failed_authentications.py)

It reads no more than it needs, so that what follows stays in the socket. All of it happens within the time that a
client has to authenticate, and the connection counts as open meanwhile.
"""

import asyncio
import ssl
import time
from functools import partial
from typing import TYPE_CHECKING, cast

from bifrost.authentication.accounts import AuthenticationFailed
from bifrost.authentication.address_costs import NO_COST, Cost
from bifrost.config.fields.listener_sets import ProxyProtocol
from bifrost.config.security_protocol import SecurityProtocol
from bifrost.gateway.admission.address_turns import ENTRY
from bifrost.gateway.brokers.broker_connection import set_reading
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.endings import AT_ONCE, CLOSE_TIMEOUT_S, REFUSAL_DELAY_S, close, late, log_end
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.server_tls import TlsFailure, feed, shake_hands
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import NOT_LET_IN, CloseReason, SessionEnded
from bifrost.session.first_bytes.foreign_protocol import TLS_RECORD_BYTES, recognise_plaintext
from bifrost.session.first_bytes.proxy_header import (
    HEAD_BYTES,
    MAX_REST_BYTES,
    TEXT_START,
    BadProxyHeader,
    ProxyHead,
    is_other,
    read_head,
    read_source,
)

if TYPE_CHECKING:
    from bifrost.gateway.clients.ingress import Enter, Ingress

EXPECTED_TLS = Cost(cpu_ns=2_000_000)
"""What a TLS handshake is charged for when it begins; when it ends this is replaced by what it took. Otherwise hundreds
could begin before the first is charged."""


_CUT = AT_ONCE | {CloseReason.CLIENT_CLOSED, CloseReason.SHUTDOWN, CloseReason.AUTHENTICATION_TIMEOUT}
"""Ends that do not wait until the client has read what was sent."""


class ClientHandshake(asyncio.BufferedProtocol):
    """One client's connection until its ClientConnection exists."""

    def __init__(self, gateway: ClientContext, ingress: "Ingress", enter: "Enter") -> None:
        """Await a client of `ingress`; `enter` makes its ClientConnection."""
        self._gateway = gateway
        self._ingress = ingress
        self._enter = enter
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray(HEAD_BYTES + MAX_REST_BYTES)
        self._filled = 0
        self._is_in_header = ingress.proxy_protocol is not ProxyProtocol.OFF
        self._head: ProxyHead | None = None
        self._source: tuple[str, int] | None = None
        self._came_s = 0.0
        self._address = self._peer = "?"
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._cost = NO_COST
        """What the address was charged for this connection."""
        self._ended = False

    tenant = None
    """The client's tenant: not known yet."""

    # -- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection and start its authentication timeout."""
        self._transport = cast(asyncio.Transport, transport)
        self._came_s = time.monotonic()
        self._note_address(self._transport.get_extra_info("peername"))
        refusal = self._gateway.admit(self, None if self._is_in_header else self._address)
        if refusal is not None:
            self.end(*refusal)
            return
        timeout_ms = self._gateway.limits.authentication_timeout_ms
        departures = self._gateway.departures
        self._timer = asyncio.get_running_loop().call_later(timeout_ms / 1000, departures.add, self._end_late)
        if self._ingress.contexts is None:
            set_reading(self._transport, wanted=True)
        else:  # What TLS has to read stays in the socket.
            cast(SocketTransport, self._transport).peek(self._wanted(), self._look)

    def _look(self, received: bytes) -> None:
        """Look at the bytes in the socket: take out a PROXY header, and leave TLS there."""
        taken, wanted = self._transport, self._wanted()
        assert isinstance(taken, SocketTransport)
        self._filled = len(received)
        self._buffer[: self._filled] = received
        self._read_on()
        if self._ended or self._task is not None:
            return
        if len(received) < wanted:
            taken.abort()
        else:
            taken.peek(self._wanted(), self._look)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return room for the bytes that are needed next, and no more."""
        if self._ended or self._task is not None:
            return memoryview(self._buffer)  # What still arrives is ignored.
        return memoryview(self._buffer)[self._filled : self._wanted()]

    def buffer_updated(self, nbytes: int) -> None:
        """Go on reading the header, or the beginning of TLS."""
        if self._ended or self._task is not None:
            return
        self._filled += nbytes
        self._read_on()

    def _read_on(self) -> None:
        try:
            if self._is_in_header:
                self._read_header()
            if not self._is_in_header and self._filled >= self._wanted():
                self._knock()
        except BadProxyHeader as error:
            self.end(CloseReason.BAD_PROXY_HEADER, str(error))
        except Exception as error:
            self._fail(error)

    def eof_received(self) -> bool:
        """Let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """End, as the client is gone."""
        self._transport = None
        try:
            self.end(CloseReason.CLIENT_CLOSED, "" if exc is None else f"{type(exc).__name__}: {exc}")
        finally:
            self._gateway.forget(self)

    # -- the way in

    def _wanted(self) -> int:
        """Return how many bytes the buffer must hold before the next step."""
        if self._is_in_header:
            return HEAD_BYTES if self._head is None else HEAD_BYTES + self._head.rest_bytes
        return TLS_RECORD_BYTES if self._ingress.contexts is not None else 0

    def _read_header(self) -> None:
        received = bytes(self._buffer[: self._filled])
        if self._head is None and is_other(received):
            is_text = TEXT_START.startswith(received[: len(TEXT_START)])
            if is_text and len(received) < len(TEXT_START):
                return
            if is_text or self._ingress.proxy_protocol is ProxyProtocol.REQUIRED:
                read_head(received)  # Raises an error that names what was received.
            self._is_in_header = False  # The bytes are the client's own.
            return
        if self._head is None and self._filled == HEAD_BYTES:
            self._head = read_head(received)
        if self._head is not None and self._filled == HEAD_BYTES + self._head.rest_bytes:
            self._source = read_source(self._head, received[HEAD_BYTES:])
            self._note_address(self._source)
            if self._ingress.contexts is not None:  # It was only looked at.
                cast(SocketTransport, self._transport).skip(self._filled)
            self._is_in_header = False
            self._filled = 0

    def _knock(self) -> None:
        """Let the client in, after a delay if authentication has failed lately at its address."""
        assert self._transport is not None
        refusal = self._gateway.newcomers.locate(self, self._address)
        if refusal is not None:
            self.end(*refusal)
            return
        received = bytes(self._buffer[: self._filled])
        if self._ingress.contexts is not None:
            foreign = recognise_plaintext(received, self._ingress.security_protocol)
            if foreign is not None:
                self.end(*foreign)
                return
        self._transport.pause_reading()
        gateway = self._gateway
        delay_ms = gateway.failed_authentications.delay_ms(self._address, gateway.shared.sasl.now_ms())
        self._task = asyncio.get_running_loop().create_task(self._go_in(received, delay_ms))

    async def _go_in(self, received: bytes, delay_ms: int) -> None:
        try:
            if delay_ms:
                await asyncio.sleep(delay_ms / 1000)
            await self._turn()
            await self._gateway.arrivals.turn()
            if self._transport is None or self._ended:
                return
            if self._ingress.contexts is None:
                self._hand_over(self._transport, received, self._origin(None, None))
            else:
                context = await self._ingress.contexts.current()
                if self._transport is not None and not self._ended:
                    await self._encrypt(self._transport, context)
        except TlsFailure as failure:
            self.end(failure.reason, str(failure))
        except SessionEnded as end:
            self.end(end.reason, end.detail)
        except AuthenticationFailed as failure:
            self.end(CloseReason.AUTHENTICATION_FAILED, failure.detail)
        except OSError as error:
            self.end(CloseReason.CLIENT_CLOSED, f"during the TLS handshake: {error or type(error).__name__}")
        except Exception as error:
            self._fail(error)

    async def _turn(self) -> None:
        """Return when the connection may go on, and is charged: at once, unless its address is in debt."""
        goes_on = asyncio.get_running_loop().create_future()

        def go_on() -> None:
            self._charge(ENTRY if self._ingress.contexts is None else ENTRY + EXPECTED_TLS)
            if not goes_on.done():  # It may have been cancelled.
                goes_on.set_result(None)

        turns = self._gateway.address_turns
        try:
            turns.enter(self._address, self, go_on)
            await goes_on
        finally:
            turns.leave(self._address, self)

    def _charge(self, cost: Cost) -> None:
        self._cost += cost
        now_ms = self._gateway.shared.sasl.now_ms()
        self._gateway.failed_authentications.charge(self._address, cost, now_ms)

    def _fail(self, error: Exception) -> None:
        """End this connection alone for an error of the gateway's own."""
        report("doorway", error, peer=self._peer)
        self.end(CloseReason.INTERNAL_ERROR, "see the trace above")

    async def _encrypt(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        assert isinstance(transport, SocketTransport)
        try:
            told = await shake_hands(transport, context, self._gateway.handshakes.add)
        finally:
            self._charge(Cost(requests=1, cpu_ns=transport.handshake_cpu_ns) + -EXPECTED_TLS)
        self._hand_over(transport, b"", self._origin(told.certificate, told.server_name))

    def _origin(self, certificate: bytes | None, server_name: str | None) -> ClientOrigin:
        waited_ms = int((time.monotonic() - self._came_s) * 1000)
        return self._ingress.origin(certificate, self._source, server_name, waited_ms, self._cost)

    def _hand_over(self, transport: asyncio.Transport, received: bytes, origin: ClientOrigin) -> None:
        """Replace this handshake by the client's ClientConnection."""
        connection = self._enter(origin)
        if self._timer is not None:
            self._timer.cancel()
        self._ended = True
        self._gateway.forget(self)
        transport.set_protocol(connection)
        try:
            connection.connection_made(transport)
            if not transport.is_closing():
                feed(connection, received)
        except Exception:
            transport.abort()  # The connection counts itself out; `_go_in` reports.
            raise

    # -- the end

    def end(self, reason: CloseReason, detail: str) -> None:
        """Close the connection, once."""
        if self._ended:
            return
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        try:
            self._tell(reason, detail)
        finally:
            self._close(reason)

    def _tell(self, reason: CloseReason, detail: str) -> None:
        log_end(reason, self._peer, None, detail)
        self._gateway.count_end(reason, None, self._peer, detail)
        if reason in NOT_LET_IN:
            sasl = self._gateway.shared.sasl
            self._gateway.failed_authentications.note(self._address, sasl.now_ms())
            # With SASL_SSL as well: the certificate was not accepted.
            sasl.outcomes["", str(SecurityProtocol.SSL), "failure"] += 1

    def _close(self, reason: CloseReason) -> None:
        transport = self._transport
        if transport is None:
            return
        loop = asyncio.get_running_loop()
        if reason in _CUT:
            transport.abort()
        else:
            # A thousand may have been refused at once.
            departures = self._gateway.departures
            waits = self._ingress.contexts is not None
            loop.call_later(REFUSAL_DELAY_S, departures.add, partial(close, transport, waits=waits))
            loop.call_later(REFUSAL_DELAY_S + CLOSE_TIMEOUT_S, departures.add, transport.abort)

    def _end_late(self) -> None:
        self.end(*late(self._gateway.limits.authentication_timeout_ms))

    def _note_address(self, address: tuple[str, int] | None) -> None:
        if address:
            self._address, self._peer = address[0], f"{address[0]}:{address[1]}"
