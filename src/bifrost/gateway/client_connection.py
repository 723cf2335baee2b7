"""The client side of one connection: sockets, time limits and backpressure around a ClientSession.

What the session decides is written here; when either side cannot keep up, the other is no longer read, and TCP does the
rest. Nothing queues without bound: see `update_reading`.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import structlog

from bifrost.config.verifiers import Mechanism
from bifrost.gateway.arrival import DIRECT, Arrival
from bifrost.gateway.broker_connection import (
    BrokerConnection,
    connect,
    renew_login,
    set_reading,
    set_up_socket,
)
from bifrost.gateway.broker_login import Login
from bifrost.gateway.cluster import Broker, Cluster
from bifrost.gateway.clusters import entry_to
from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.gateway.farewell import Farewell
from bifrost.gateway.pauses import BROKER, CLIENT, SIDES
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.session.stranger import recognise_stranger
from bifrost.tenancy.brokers import BrokerAddresses
from bifrost.wire.engine import Framer
from bifrost.wire.errors import FrameTooLarge, WireError

if TYPE_CHECKING:
    from bifrost.gateway.gateway import Gateway

log = structlog.get_logger()

CLOSE_TIMEOUT_S = 5.0
"""Time a client has to read its last answer; then the connection is cut."""

REFUSAL_DELAY_S = 0.1
"""Time between the answer to a failed authentication and the end of the connection, as a broker's
`connection.failed.authentication.delay.ms`: guessing takes longer, and a client that finds the answer and the end
in one read may see the end alone (kafka-python does)."""

MAX_WAIT_MS = 86_400_000
"""Longest time until an authentication's end is looked at again: a day."""

_IN_ORDER = frozenset({CloseReason.IDLE, CloseReason.DRAINED})
"""Ends between two requests, which must cost no answer."""

_QUIET = frozenset({CloseReason.CLIENT_CLOSED, CloseReason.SHUTDOWN}) | _IN_ORDER
"""Ends that are everyday's, and logged at debug level only."""


class ClientConnection(asyncio.BufferedProtocol):
    """One client, and the broker connection that is made for it once it is authenticated and asks for something."""

    __slots__ = (
        "_address", "_arrival", "_authentications", "_broker_side", "_brokers", "_deadline", "_ended",
        "_expiry", "_framer", "_gateway", "_idle_since_ms", "_is_write_paused", "_peer", "_reads_broker",
        "_reads_client", "_seen_bytes", "_session", "_task", "_transport", "_unread_since_ns", "addresses",
        "get_buffer",
    )  # fmt: skip

    def __init__(
        self,
        gateway: "Gateway",
        brokers: Mapping[str, Broker],
        addresses: BrokerAddresses,
        mechanisms: tuple[Mechanism, ...],
        arrival: Arrival = DIRECT,
    ) -> None:
        """Stand for one of `brokers`, the one of the physical cluster that its client's tenant belongs to.

        Args:
            gateway: what it shares with all others.
            brokers: by the name of the physical cluster, at least one.
            addresses: what the client is told of where brokers are.
            mechanisms: those by which it may authenticate.
            arrival: how it came in.
        """
        self._gateway = gateway
        self._brokers, self._arrival = brokers, arrival
        self.addresses = addresses
        """Those of the listener that it came through."""
        entry = entry_to(brokers, addresses, mechanisms, arrival)
        self._session = ClientSession(gateway.shared, entry)
        self._framer = Framer(gateway.limits.max_unauthenticated_frame_bytes)
        self.get_buffer = self._framer.get_buffer  # type: ignore[method-assign]  # no Python frame per read
        self._transport: asyncio.Transport | None = None
        self._broker_side: BrokerConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._authentications = 0
        self._is_write_paused = False
        self._reads_client = self._reads_broker = True
        self._unread_since_ns = [0, 0]
        self._ended = False
        self._address = self._peer = "?"

    # -- the client's socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection and give it its time to authenticate."""
        self._transport = cast(asyncio.Transport, transport)
        set_up_socket(self._transport)
        address = self._arrival.address or self._transport.get_extra_info("peername")
        if address:
            self._address, self._peer = address[0], f"{address[0]}:{address[1]}"
        if not self._gateway.admit(self):
            self.end(CloseReason.TOO_MANY_CONNECTIONS, f"{self._gateway.limits.max_connections} are open")
            return
        try:
            self._session.begin()
        except SessionEnded as ended:
            self.end(ended.reason, ended.detail)
            return
        if self._session.is_authenticated:
            proved_by = str(self._arrival.security_protocol)
            self._gateway.shared.sasl.outcomes[self.tenant or "", proved_by, "success"] += 1
            self._let_in()
            return
        left_ms = self._gateway.limits.authentication_timeout_ms - (self._arrival.waited_ms or 0)
        self._deadline = asyncio.get_running_loop().call_later(left_ms / 1000, self._authentication_timed_out)
        if self._arrival.waited_ms is None:
            self._delay_after_failures()

    def _delay_after_failures(self) -> None:
        """Hear a client later from whose address authentication has just failed."""
        gateway = self._gateway
        delay_ms = gateway.failed_authentications.delay_ms(self._address, gateway.shared.sasl.now_ms())
        if delay_ms:
            self._session.hold_back()
            # At most one read has come by then: after that the client was no longer read.
            asyncio.get_running_loop().call_later(delay_ms / 1000, self._go_on, self._session.let_go)

    def take_turn(self) -> None:
        """Send a request on that waited for room."""
        self._go_on(self._session.take_turn)

    def _go_on(self, release: Callable[[], None]) -> None:
        """Let the session take what it held."""
        if self._ended:
            return
        try:
            release()
        except SessionEnded as ended:
            self.end(ended.reason, ended.detail)
        except WireError as error:
            self.end(*self._explain(error))
        except Exception:
            self._internal_error()
        else:
            if self._session.authentications != self._authentications:
                self._let_in()
            self._flush()
            self.update_reading()

    def buffer_updated(self, nbytes: int) -> None:
        """Feed what came to the session, frame by frame."""
        session = self._session
        try:
            frames = self._framer.buffer_updated(nbytes)
            if not frames:
                return  # A part of a large frame: nothing to decide.
            for frame in frames:
                session.receive_from_client(frame)
            if self._framer.failed is not None:
                raise self._framer.failed
        except SessionEnded as ended:
            self.end(ended.reason, ended.detail)
        except WireError as error:
            self.end(*self._explain(error))
        except Exception:
            self._internal_error()
        else:
            if session.authentications != self._authentications:
                self._let_in()
            self._flush()

    def eof_received(self) -> bool:
        """Let the transport close."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone: so is everything that was for it."""
        self._transport = None
        self.end(CloseReason.CLIENT_CLOSED, "" if exc is None else f"{type(exc).__name__}: {exc}")
        self._cancel_deadline()
        self._gateway.forget(self)

    def pause_writing(self) -> None:
        """The client reads slower than the broker writes: stop reading from the broker."""
        self._is_write_paused = True
        self.update_reading()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._is_write_paused = False
        self.update_reading()

    # -- the broker's socket

    def broker_bytes_received(self, framer: Framer, nbytes: int) -> None:
        """Feed what the broker sent to the session, frame by frame."""
        try:
            frames = framer.buffer_updated(nbytes)
            if not frames:
                return
            for frame in frames:
                self._session.receive_from_broker(frame)
            if framer.failed is not None:
                raise framer.failed
        except SessionEnded as ended:
            self.end(ended.reason, ended.detail)
        except WireError as error:
            self.end(CloseReason.BROKER_MISBEHAVED, str(error))
        except Exception:
            self._internal_error()
        else:
            self._flush()

    def broker_login_due(self) -> None:
        """Send nothing more until all requests are answered and the login at the broker is renewed (KIP-368)."""
        if not self._ended:
            self._session.hold_back()
            self._flush()
            self.update_reading()

    # -- what both have in common

    def update_reading(self) -> None:
        """Read from a side only while what it sends has somewhere to go."""
        if self._ended:
            return
        session, broker = self._session, self._broker_side
        if session.has_finished and self._task is None:
            self.end(CloseReason.DRAINED, "the gateway stops")
            return
        if session.waits_for_room:
            assert self.tenant is not None
            self._gateway.shared.lanes.loads.wait(self.tenant, self)
        # A client that does not read its answers is not read either, as by a broker.
        is_blocked = self._is_write_paused or self._task is not None or session.is_holding
        wanted = not is_blocked and (broker is None or not broker.is_write_paused)
        # What is wanted rarely changes, and to ask a transport costs more than to remember.
        if wanted is not self._reads_client and self._transport is not None:
            self._reads_client = wanted
            self._note_pause(CLIENT, wanted)
            set_reading(self._transport, wanted)
        wanted = not self._is_write_paused and not session.is_holding_responses
        if wanted is not self._reads_broker and broker is not None and broker.transport is not None:
            self._reads_broker = wanted
            self._note_pause(BROKER, wanted)
            set_reading(broker.transport, wanted)

    def _note_pause(self, side: str, has_ended: bool) -> None:
        index, now_ns = SIDES.index(side), time.monotonic_ns()
        if has_ended:
            self._gateway.pauses.add(side, now_ns - self._unread_since_ns[index])
        self._unread_since_ns[index] = now_ns

    @property
    def bytes_received(self) -> int | None:
        """How much the client has sent; None while something else is going on, so that it is not idle."""
        is_busy = self._session.in_flight or self._task is not None or self._is_write_paused
        return self._framer.received if self._session.is_authenticated and not is_busy else None

    def drain(self) -> None:
        """Read no more from the client, and end once what was sent on is answered."""
        if not self._ended:
            self._wait_no_more()
            self._session.stop()
            self.update_reading()

    def _wait_no_more(self) -> None:
        if self._session.waits_for_room and self.tenant is not None:
            self._gateway.shared.lanes.loads.forget(self.tenant, self)

    @property
    def has_ended(self) -> bool:
        """Whether nothing is left but to close the client's socket."""
        return self._ended

    def end(self, reason: CloseReason, detail: str) -> None:
        """Close both sides, once; what was answered before is still written to the client."""
        if self._ended:
            return
        self._ended = True
        for side, is_read in ((CLIENT, self._reads_client), (BROKER, self._reads_broker)):
            if not is_read:
                self._note_pause(side, True)
        self._cancel_deadline()
        if self._expiry is not None:
            self._expiry.cancel()
        if self._task is not None:
            self._task.cancel()
        self._wait_no_more()
        self._session.close()
        log_end(reason, self._peer, self.tenant, detail)
        self._gateway.count_end(reason, self.tenant)
        if self._broker_side is not None and self._broker_side.transport is not None:
            self._broker_side.transport.close()
        if self._transport is not None:
            self._transport.writelines(self._session.to_client)
            self._session.to_client.clear()
            if reason is CloseReason.AUTHENTICATION_FAILED:
                now_ms = self._gateway.shared.sasl.now_ms()
                self._gateway.failed_authentications.note(self._address, now_ms)
                set_reading(self._transport, False)
                self._deadline = asyncio.get_running_loop().call_later(REFUSAL_DELAY_S, self._close)
            elif reason in _IN_ORDER:
                timeout_s = self._gateway.limits.drain_timeout_ms / 1000
                Farewell(self._transport, self.connection_lost, timeout_s=max(timeout_s, CLOSE_TIMEOUT_S))
            else:
                self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._deadline = asyncio.get_running_loop().call_later(CLOSE_TIMEOUT_S, self._transport.abort)

    def _flush(self) -> None:
        session = self._session
        if self._ended or self._transport is None:
            return
        if session.to_client:
            self._transport.writelines(session.to_client)
            session.to_client.clear()
        broker = self._broker_side
        if session.to_broker and broker is not None and broker.transport is not None:
            broker.transport.writelines(session.to_broker)
            session.to_broker.clear()
        is_login_due = broker is not None and broker.is_login_due and not session.in_flight
        if self._task is None and (session.to_broker or session.lookup or is_login_due):
            self._task = asyncio.get_running_loop().create_task(self._catch_up())
        if not (self._reads_client and self._reads_broker) or session.is_holding or self._task is not None:
            if session.awaits_keys:
                session.awaits_keys = False
                self._gateway.call_when_keys_are_fetched(lambda: self._go_on(session.let_go))
            self.update_reading()

    async def _catch_up(self) -> None:
        """Do what the session waits for: connect to the broker, look up topic IDs; the client is not read meanwhile."""
        session = self._session
        try:
            if self._broker_side is None:
                self._broker_side = await self._connect()
            elif self._broker_side.is_login_due and not session.in_flight:
                await self._renew_login(self._broker_side)
            while session.lookup:
                await self._cluster.learn_topic_ids(session.lookup)
                session.resume()
        except LoginError as error:
            self.end(CloseReason.UPSTREAM_LOGIN_FAILED, str(error))
        except BrokerError as error:
            self.end(CloseReason.BROKER_UNREACHABLE, str(error))
        except SessionEnded as ended:
            self.end(ended.reason, ended.detail)
        except WireError as error:
            self.end(CloseReason.MALFORMED, str(error))
        except Exception:
            self._internal_error()
        finally:
            self._task = None
        self._flush()

    async def _connect(self) -> BrokerConnection:
        cluster, timeout_ms = self._cluster, self._gateway.limits.upstream_connect_timeout_ms
        connection = await connect(self, self._broker, cluster.security, self._login, timeout_ms)
        if self._ended and connection.transport is not None:
            connection.transport.close()
        return connection

    async def _renew_login(self, broker_side: BrokerConnection) -> None:
        login, timeout_ms = self._login, self._gateway.limits.upstream_connect_timeout_ms
        if login is None:
            raise LoginError(
                "the account that the connection was made with is no longer in the configuration"
            )
        await renew_login(broker_side, self._broker, login, timeout_ms)
        log.debug("logged_in_again", peer=self._peer, tenant=self.tenant)
        self._session.let_go()

    @property
    def _login(self) -> Login | None:
        """The account at the broker that stands for this client."""
        account = self._session.account
        assert account is not None
        return self._cluster.security.login_of(account.tenant, account.username)

    @property
    def _cluster(self) -> Cluster:
        """The physical cluster of the client's tenant."""
        return self._gateway.clusters[self._session.virtual_cluster.upstream]

    @property
    def _broker(self) -> Broker:
        """The broker of that cluster which the connection stands for."""
        chosen = self._brokers[self._session.virtual_cluster.upstream]
        return self._cluster.broker(chosen.node_id) or chosen

    def _let_in(self) -> None:
        """The client has authenticated, for the first time or again."""
        is_first, self._authentications = not self._authentications, self._session.authentications
        if is_first:
            self._let_in_first()
        else:
            log.debug("authenticated_again", peer=self._peer, tenant=self.tenant)
        if self._expiry is not None:
            self._expiry.cancel()
        if not self._ended:
            self._follow_lifetime()

    def _let_in_first(self) -> None:
        gateway, account = self._gateway, self._session.account
        assert account is not None
        self._cancel_deadline()
        if not gateway.tenants.admit(account.tenant, self):
            self.end(CloseReason.TENANT_CONNECTIONS, f"{account.tenant} has as many as it may")
            return
        self._framer.max_frame_bytes = gateway.tenants.max_request_bytes(account.tenant)
        log.debug(
            "authenticated", peer=self._peer, tenant=account.tenant, principal=f"User:{account.username}"
        )

    def _follow_lifetime(self) -> None:
        """Let the session see when its client should have authenticated again."""
        left_ms = self._session.lifetime_left_ms()
        if left_ms == 0:
            log.debug("authentication_expired", peer=self._peer, tenant=self.tenant)
        elif left_ms is not None:
            # A token may be good for years, which is more than a loop's timer takes.
            wait_s = min(left_ms, MAX_WAIT_MS) / 1000
            self._expiry = asyncio.get_running_loop().call_later(wait_s, self._follow_lifetime)

    def _authentication_timed_out(self) -> None:
        timeout_ms = self._gateway.limits.authentication_timeout_ms
        self.end(CloseReason.AUTHENTICATION_TIMEOUT, f"not authenticated within {timeout_ms} ms")

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _explain(self, error: WireError) -> tuple[CloseReason, str]:
        """Say what came instead of a Kafka frame."""
        stranger = recognise_stranger(self._framer.first_bytes, self._arrival.security_protocol)
        if stranger is not None and not self._session.authentications:
            return stranger
        reason = CloseReason.FRAME_TOO_LARGE if isinstance(error, FrameTooLarge) else CloseReason.MALFORMED
        return reason, str(error)

    def _internal_error(self) -> None:
        """Our bug: this connection dies with a trace, the others live."""
        log.exception("internal_error", peer=self._peer, tenant=self.tenant)
        self.end(CloseReason.INTERNAL_ERROR, "see the trace above")

    def lost_place(self) -> tuple[CloseReason, str] | None:
        """Return why the client has no place in the configuration that is in force now, None when it has."""
        account, shared = self._session.account, self._gateway.shared
        if account is None:
            return None
        if not shared.sasl.accounts.still_has(account):
            return (
                CloseReason.CREDENTIAL_REMOVED,
                f"User:{account.username} is not in the configuration any more",
            )
        if shared.virtual_clusters.of(account) is not self._session.virtual_cluster:
            return CloseReason.RECONFIGURED, f"names of tenant {account.tenant} mean something else now"
        return None

    @property
    def tenant(self) -> str | None:
        """The tenant whose client this is; None before it is authenticated."""
        return None if self._session.account is None else self._session.account.tenant


def log_end(reason: CloseReason, peer: str, tenant: str | None, detail: str) -> None:
    """Log that a connection ended; at debug level what is everyday's."""
    write = log.debug if reason in _QUIET else log.warning
    write("connection_ended", reason=str(reason), peer=peer, tenant=tenant, detail=detail)
