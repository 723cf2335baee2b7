"""The client side of one connection: sockets, time limits and backpressure around a ClientSession.

It writes what the session decides, and reads from one side no more than the other takes: see `update_reading`.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import structlog

from bifrost.filters.steps import Need
from bifrost.gateway.brokers.broker_connection import set_reading, set_up_socket
from bifrost.gateway.brokers.cluster import BrokersByCluster
from bifrost.gateway.clients import endings
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.coupling import BrokerSide, couple, frames_of
from bifrost.gateway.clients.holding import Holding
from bifrost.gateway.clients.probation import Probation
from bifrost.gateway.clients.waiting import Waiting
from bifrost.gateway.clients.way_to_broker import WayToBroker
from bifrost.gateway.loop.deadline import MAX_WAIT_MS, Deadline
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.pauses import BROKER, CLIENT, Unread
from bifrost.gateway.sockets.client_origin import DIRECT, ClientOrigin
from bifrost.gateway.sockets.closed_peer import has_peer_closed
from bifrost.gateway.sockets.half_close import HalfClose
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import OVER_BUDGET, CloseReason
from bifrost.session.first_bytes.foreign_protocol import recognise_foreign_protocol
from bifrost.session.needs import ROOM, TURN
from bifrost.session.shared_state import Entry
from bifrost.wire.errors import WireError
from bifrost.wire.framer import Framer

log = structlog.get_logger()


class ClientConnection(asyncio.BufferedProtocol):
    """One client, and the broker connection that the gateway makes for it at its first request after authentication."""

    __slots__ = (
        "_authentications", "_broker_side", "_deadline", "_expiry", "_framer", "_gateway", "_holding",
        "_is_write_paused", "_peer", "_probation", "_reads_broker", "_reads_client", "_session", "_task",
        "_transport", "_unread", "_waiting", "_way", "address", "addresses", "get_buffer", "has_ended", "origin",
    )  # fmt: skip

    def __init__(
        self, gateway: ClientContext, brokers: BrokersByCluster, entry: Entry, origin: ClientOrigin = DIRECT
    ) -> None:
        """Create the connection; it leads to the one of `brokers` that is in the tenant's physical cluster.

        `brokers` has at least one broker, by the name of its cluster; `entry` is the session's view of the same.
        """
        self._gateway, self.origin = gateway, origin
        self.addresses = entry.addresses
        """Addresses of the listener that accepted the connection."""
        self._session = ClientSession(gateway.shared, entry)
        self._way = WayToBroker(gateway, brokers, self._session, is_single=entry.is_single_address)
        self._framer = Framer(gateway.limits.max_unauthenticated_frame_bytes)
        self._probation = Probation(gateway, self._framer, self._session, origin.cost)
        self._waiting, self._unread = Waiting(gateway, self._session, self._probation), Unread(gateway.pauses)
        self._holding = Holding(gateway.tenants.rooms, self._framer, self)
        self.get_buffer = self._framer.get_buffer  # type: ignore[method-assign]  # no Python frame per read
        self._transport: asyncio.Transport | None = None
        self._broker_side: BrokerSide | None = None
        self._task: asyncio.Task[None] | None = None
        self._deadline, self._expiry = Deadline(), Deadline()
        self._authentications, self._is_write_paused = 0, False
        self._reads_client = self._reads_broker = True
        self.has_ended = False
        """Whether only closing the client's socket is left to do."""
        self.address = self._peer = "?"

    # -- the client's socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection and start its authentication timeout."""
        self._transport = cast(asyncio.Transport, transport)
        set_up_socket(self._transport)
        set_reading(self._transport, wanted=True)
        address = self.origin.address or self._transport.get_extra_info("peername")
        if address:
            self.address, self._peer = address[0], f"{address[0]}:{address[1]}"
        refusal = self._gateway.admit(self, self.address, is_newcomer=self.origin.account is None)
        if refusal is not None:
            self.end(*refusal)
            return
        with self._ending():
            self._session.begin(self._peer)
        if self.has_ended:
            return
        if self._session.is_authenticated:
            proved_by = str(self.origin.security_protocol)
            self._gateway.shared.sasl.outcomes[self.tenant or "", proved_by, "success"] += 1
            self._let_in()
            return
        left_ms = self._gateway.limits.authentication_timeout_ms - (self.origin.waited_ms or 0)
        self._deadline.set(left_ms / 1000, lambda: self._gateway.departures.add(self._end_late))
        self._probation.begin(self, self._go_on)

    def _end_late(self) -> None:
        if not self._session.is_authenticated:
            self.end(*endings.late(self._gateway.limits.authentication_timeout_ms))

    def take_turn(self) -> None:
        """Forward a request that waited for room."""
        self.meet(ROOM)

    def take_slice(self) -> bool:
        """Do the next part of a large request; return whether the connection waits for another turn."""
        self.meet(TURN)
        return TURN in self._session.needs and not self.has_ended

    def meet(self, need: Need) -> None:
        """Let the session go on with what has waited for this."""
        self._go_on(lambda: self._session.meet(need))

    def _go_on(self, release: Callable[[], None]) -> None:
        """Call `release`, which lets the session process what it held."""
        if self.has_ended:
            return
        with self._ending():
            release()
            if self._session.authentications != self._authentications:
                self._let_in()
            self.flush()
            self.update_reading()

    def buffer_updated(self, nbytes: int) -> None:
        """Feed the received bytes to the session."""
        try:  # `_ending` costs as much as reading a byte, and many clients may send one each.
            self._probation.hear(nbytes, self.address, self.client_frames)
        except Exception as error:
            self._fail(error)
        if not self._framer.see():
            self.update_reading()

    def client_frames(self, frames: list[bytes | memoryview]) -> None:
        """Feed the client's frames to the session."""
        session = self._session
        try:
            for frame in frames:
                session.receive_from_client(frame)
            if self._framer.failed is not None:
                raise self._framer.failed
        except Exception as error:
            self._fail(error)
        else:
            if session.authentications != self._authentications:
                self._let_in()
            if frames:
                self.flush()

    def eof_received(self) -> bool:
        """Let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that belongs to the client, which is gone, when there is time for it."""
        self._transport = None
        detail = "" if exc is None else f"{type(exc).__name__}: {exc}"
        self._gateway.departures.add(lambda: self._depart(detail))

    def _depart(self, detail: str) -> None:
        try:
            self.end(CloseReason.CLIENT_CLOSED, detail)
        finally:
            self._deadline.cancel()
            self._gateway.forget(self)
            self._broker_side = None  # The two refer to each other.

    def pause_writing(self) -> None:
        """Stop reading from the broker: the client reads slower than the broker writes."""
        self._is_write_paused = True
        self.update_reading()

    def resume_writing(self) -> None:
        """Read from the broker again: the client has caught up."""
        self._is_write_paused = False
        self.update_reading()

    # -- the broker's socket

    def broker_bytes_received(self, framer: Framer, nbytes: int) -> None:
        """Feed the bytes that the broker sent to the session."""
        self.broker_frames(frames_of(framer, nbytes), framer)
        if not framer.see():
            self.update_reading()

    def broker_frames(self, frames: list[bytes | memoryview], framer: Framer) -> None:
        """Feed the broker's frames to the session."""
        try:
            for frame in frames:
                self._session.receive_from_broker(frame)
            if framer.failed is not None:
                raise framer.failed
        except WireError as error:
            self.end(CloseReason.BROKER_MISBEHAVED, str(error))
        except Exception as error:
            self._fail(error)
        else:
            if frames:
                self.flush()

    def broker_login_due(self) -> None:
        """Send no more requests until all are answered and the login at the broker is renewed (KIP-368)."""
        self._go_on(self._session.hold_back)

    def update_reading(self) -> None:
        """Read from each side only while the gateway can process or forward what it sends."""
        if self.has_ended:
            return
        session, broker = self._session, self._broker_side
        if session.has_finished and self._task is None:
            self.end(CloseReason.DRAINED, "the gateway stops")
            return
        self._waiting.enrol(self)
        # Like a broker, the gateway does not read from a client that does not read its answers.
        is_blocked = self._is_write_paused or self._task is not None or session.is_holding
        is_blocked |= self._holding.blocks_client
        wanted = not is_blocked and (broker is None or not broker.is_write_paused)
        # `wanted` rarely changes, and asking a transport costs more than remembering its state.
        if wanted is not self._reads_client and self._transport is not None:
            self._reads_client = wanted
            self._unread.note(CLIENT, has_ended=wanted)
            set_reading(self._transport, wanted)
        wanted = not (self._is_write_paused or session.is_holding_responses or self._holding.blocks_broker)
        if wanted is not self._reads_broker and broker is not None and broker.transport is not None:
            self._reads_broker = wanted
            self._unread.note(BROKER, has_ended=wanted)
            set_reading(broker.transport, wanted)
        session.reads_both = self._reads_client and self._reads_broker

    @property
    def bytes_received(self) -> int | None:
        """Bytes that the client has sent; None while the connection is busy, for a client that is there."""
        is_waiting = self._waiting.is_busy or self._task is not None
        is_busy = self._session.awaits_broker or is_waiting or self._is_write_paused
        is_busy = is_busy and (self._reads_client or not has_peer_closed(self._transport))
        return self._framer.received if self._session.is_authenticated and not is_busy else None

    def look_at_frames(self, now_ms: int, timeout_ms: int) -> None:
        """End the connection if a frame takes longer than `timeout_ms`, or keeps room that others wait for."""
        self._holding.look(now_ms, timeout_ms, is_read=self._reads_client or self._is_write_paused)

    def drain(self) -> None:
        """Stop reading from the client, and end once all forwarded requests are answered."""
        if not self.has_ended:
            self._waiting.leave(self)
            self._session.stop()
            self.update_reading()

    def end(self, reason: CloseReason, detail: str) -> None:
        """Close both sides, once; answers that are ready are still written to the client."""
        if self.has_ended:
            return
        self.has_ended = True
        for side, is_read in ((CLIENT, self._reads_client), (BROKER, self._reads_broker)):
            if not is_read:
                self._unread.note(side, has_ended=True)
        self._deadline.cancel()
        self._expiry.cancel()
        if self._task is not None:
            self._task.cancel()
        try:
            self._waiting.leave(self)
            self._holding.leave()
            self._gateway.turns.work_off(self.tenant, self._session.close())
            endings.log_end(reason, self._peer, self.tenant, detail, self._way.address)
            self._gateway.count_end(reason, self.tenant, self._peer, detail, self._session.tried_mechanism)
        except Exception as error:  # The sockets are closed even if logging or counting fails.
            report("end_of_connection", error, peer=self._peer, tenant=self.tenant)
        if self._broker_side is not None and self._broker_side.transport is not None:
            self._broker_side.transport.close()
        if self._transport is None:
            return
        with endings.cutting(self._transport, self._peer):
            self._transport.writelines(self._session.to_client)
            self._session.to_client.clear()
            if reason is CloseReason.AUTHENTICATION_FAILED or reason in OVER_BUDGET:
                self._gateway.failed_authentications.note(self.address, self._gateway.shared.sasl.now_ms())
                set_reading(self._transport, False)
                self._deadline.set(endings.REFUSAL_DELAY_S, lambda: self._gateway.departures.add(self._close))
            elif reason in endings.AT_ONCE:
                self._transport.abort()
            elif reason in endings.IN_ORDER:
                timeout_s = max(self._gateway.limits.drain_timeout_ms / 1000, endings.CLOSE_TIMEOUT_S)
                HalfClose(self._transport, self.connection_lost, timeout_s, self._gateway.departures.add)
            else:
                self._close()

    def _close(self) -> None:
        if self._transport is not None:
            endings.close(self._transport, waits=self._broker_side is not None)
            self._deadline.set(endings.CLOSE_TIMEOUT_S, self._transport.abort)

    def flush(self) -> None:
        """Write what the session has for both sides, and start the work that it waits for."""
        session = self._session
        if self.has_ended or self._transport is None:
            return
        if session.to_client:
            self._transport.writelines(session.to_client)
            session.to_client.clear()
        broker = self._broker_side
        if session.to_broker and broker is not None and broker.transport is not None:
            broker.transport.writelines(session.to_broker)
            session.to_broker.clear()
        is_login_due = broker is not None and broker.is_login_due and not session.in_flight
        if self._task is None and (session.to_broker or self._waiting.to_fetch or is_login_due):
            self._task = asyncio.get_running_loop().create_task(self._catch_up())
        if not session.reads_both or session.is_holding or session.needs or self._task is not None:
            self.update_reading()

    async def _catch_up(self) -> None:
        """Do what the session waits for: connect, log in again, look up topics. The client is not read meanwhile."""
        session = self._session
        try:
            with self._ending():
                if self._broker_side is None:
                    self._broker_side = await self._way.connect(self)
                    couple(self, self._transport, self._framer, self._broker_side, session)
                    self._holding.add_broker(self._broker_side, self._transport)
                    if self.has_ended and self._broker_side.transport is not None:
                        self._broker_side.transport.close()
                elif self._broker_side.is_login_due and not session.in_flight:
                    await self._way.renew_login(self._broker_side)
                    log.debug("logged_in_again", peer=self._peer, tenant=self.tenant)
                    couple(self, self._transport, self._framer, self._broker_side, session)
                    session.let_go()
                while (need := self._waiting.to_fetch) is not None:
                    session.meet(await self._way.fetch(need))
        finally:
            self._task = None
        self._go_on(self.flush)

    def _let_in(self) -> None:
        """Take note that the client has authenticated, for the first time or again."""
        if self._authentications:
            log.debug("authenticated_again", peer=self._peer, tenant=self.tenant)
        else:
            self._let_in_first()
        self._authentications = self._session.authentications
        self._probation.forgive(self.address)
        self._expiry.cancel()
        if not self.has_ended:
            self._follow_lifetime()

    def _let_in_first(self) -> None:
        gateway, account = self._gateway, self._session.account
        assert account is not None
        self._deadline.cancel()
        if not gateway.let_in(account.tenant, self):
            self.end(CloseReason.TENANT_CONNECTIONS, f"{account.tenant} has as many as it may")
            return
        self._framer.max_frame_bytes = gateway.tenants.max_request_bytes(account.tenant)
        self._holding.let_in(account.tenant)
        log.debug("authenticated", peer=self._peer, tenant=self.tenant, principal=f"User:{account.username}")

    def _follow_lifetime(self) -> None:
        """Let the session check whether its authentication has expired, and check again when it will."""
        left_ms = self._session.lifetime_left_ms()
        if left_ms == 0:
            log.debug("authentication_expired", peer=self._peer, tenant=self.tenant)
        elif left_ms is not None:
            # A token may be valid for years, which is longer than a timer of the loop can be.
            self._expiry.set(min(left_ms, MAX_WAIT_MS) / 1000, lambda: self._go_on(self._follow_lifetime))

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """End the connection if the enclosed code raises; not for the hot path."""
        try:
            yield
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End this connection alone for an error; log the trace if the error is the gateway's own."""
        if isinstance(error, WireError):
            found = recognise_foreign_protocol(self._framer.first_bytes, self.origin.security_protocol)
            if found and not self._session.authentications:
                self.end(*found)
                return
        reason, detail = endings.end_of(error)
        if reason is CloseReason.INTERNAL_ERROR:
            report("connection", error, peer=self._peer, tenant=self.tenant)
        self.end(reason, detail)

    def lost_place(self) -> tuple[CloseReason, str] | None:
        """Return why the configuration in force has no place for the client any more; None if it has one."""
        session, shared = self._session, self._gateway.shared
        return shared.lost_place(session.account, session.virtual_cluster) if session.account else None

    @property
    def tenant(self) -> str | None:
        """The client's tenant; None before the client is authenticated."""
        return None if self._session.account is None else self._session.account.tenant
