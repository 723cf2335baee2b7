"""A client's connection with both its sockets played by the test, in a gateway without any."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from types import SimpleNamespace
from typing import Any

from bifrost.authentication.failed_authentications import FailedAuthentications
from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.values import Address
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.turns import Turns
from bifrost.gateway.admission.address_turns import AddressTurns
from bifrost.gateway.admission.password_checks import PasswordChecks
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.brokers.broker_security import BrokerSecurity
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.brokers.clusters import entry_to
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.newcomers import Newcomers
from bifrost.gateway.clients.open_tenants import OpenTenants
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.later import timer
from bifrost.gateway.loop.paced_calls import PacedCalls
from bifrost.gateway.loop.pauses import Pauses
from bifrost.gateway.sockets.client_origin import DIRECT, ClientOrigin
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.namespace import Namespace
from support.stage import messages
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import PORTS, UPSTREAM, Stage, authenticate, handshake, plain_token

HEARTBEAT = messages.HeartbeatRequest(group_id="g")


async def without_tls() -> None:
    """Return no context, as `BrokerSecurity.tls_context` does for PLAINTEXT."""


class FakeCluster:
    """Knows one broker, and the topics it is told."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.topics: dict[bytes, str] = {}
        self.asked: list[frozenset[bytes]] = []
        self.is_down = False
        self.lost: list[int] = []
        upstream = Upstream(bootstrap=[Address("kafka-1.internal", 9092)])
        self.security = BrokerSecurity(upstream, (), timeout_ms=1000, now_ms=lambda: stage.now_ms)
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def broker(self, node_id: int) -> Broker:
        return Broker(node_id, f"kafka-{node_id}.internal", 9092, self.stage.versions)

    def note_lost(self, node_id: int) -> None:
        self.lost.append(node_id)

    @property
    def look_ups(self) -> "FakeCluster":
        return self

    async def look_up(self, namespace: Namespace, topic_ids: Iterable[bytes], hits: object) -> None:
        self.asked.append(frozenset(topic_ids))
        await self.may_answer.wait()
        if self.is_down:
            raise BrokerError("kafka-1.internal:9092: connection refused")
        for topic_id in topic_ids:
            if topic_id in self.topics:
                self.stage.topic_ids.learn(topic_id, self.topics[topic_id].encode())


class FakeGateway:
    """As much of a gateway as a connection asks for."""

    def __init__(self, stage: Stage, **limits: int) -> None:
        self.shared = stage.shared
        self.limits = Limits(**limits)
        self.cluster = FakeCluster(stage)
        self.clusters = {UPSTREAM: self.cluster}
        self.connections: set[ClientConnection] = set()
        self.state: Any = None
        self.tenants = OpenTenants(stage.shared.lanes.in_flight_limits)
        self.tenants.limit(self.limits, LimitsOfTenants.of(()))
        self.newcomers = Newcomers()
        self.newcomers.most = self.newcomers.most_of_address = self.limits.max_connections
        self.ends: Counter[CloseReason] = Counter()
        self.waiting_for_keys: list[Callable[[], object]] = []
        self.client_authenticators = SimpleNamespace(call_when_keys_are_fetched=self.waiting_for_keys.append)
        self.pauses = Pauses()
        self.departures = PacedCalls("end_of_connection", lambda _call: None, lambda: 0)
        self.handshakes = PacedCalls("tls_handshake", lambda _call: None, lambda: 0)
        self.arrivals = PacedCalls("arrival", lambda _call: None, lambda: 0)
        self.broker_connections: Counter[str] = Counter()
        self.connects = PacedCalls("connect", lambda _call: None, lambda: 0)
        self.turns = Turns(lambda _call: None, monotonic_ns)
        self.failed_authentications = FailedAuthentications(self.limits.max_authentication_delay_ms)
        now_ms = stage.shared.sasl.now_ms
        self.address_turns = AddressTurns(self.failed_authentications, now_ms, timer)
        self.password_checks = PasswordChecks(self.failed_authentications, now_ms)

    def admit(
        self, connection: ClientConnection, address: str | None, *, is_newcomer: bool = True
    ) -> tuple[CloseReason, str] | None:
        if len(self.connections) >= self.limits.max_connections:
            return CloseReason.TOO_MANY_CONNECTIONS, "too many are open"
        refusal = self.newcomers.admit(connection, address) if is_newcomer else None
        if refusal is None:
            self.connections.add(connection)
        return refusal

    def let_in(self, tenant: str, connection: ClientConnection) -> bool:
        is_let_in = self.tenants.admit(tenant, connection)
        if is_let_in:
            self.newcomers.forget(connection)
        return is_let_in

    def forget(self, connection: ClientConnection) -> None:
        self.newcomers.forget(connection)
        self.connections.discard(connection)
        self.tenants.forget(connection.tenant, connection)

    def count_end(self, reason: CloseReason, tenant: str | None, *_: str | None) -> None:
        self.ends[reason] += 1


class Line:
    """A client's connection with both its sockets played by the test."""

    def __init__(
        self,
        gateway: Any,
        mechanisms: tuple[Mechanism, ...] = (Mechanism.PLAIN,),
        origin: ClientOrigin = DIRECT,
    ) -> None:
        self.gateway = gateway
        self.client = FakeTransport()
        self.broker: FakeTransport | None = None
        brokers = {UPSTREAM: gateway.cluster.broker(1)}
        entry = entry_to(brokers, PORTS, mechanisms, origin)
        self.connection = ClientConnection(gateway, brokers, entry, origin)
        self.connection.connection_made(self.client)
        self._correlation_id = 0

    def send(self, message: Any, version: int) -> None:
        """Let the client send a request."""
        self._correlation_id += 1
        receive(self.connection, framed(request_frame(message, version, self._correlation_id)))

    def authenticate(self, tenant: str = "acme") -> None:
        """Let the client prove who it is."""
        self.send(handshake(), 1)
        self.send(authenticate(plain_token(tenant)), 2)
        assert len(self.client.take_frames()) == 2

    def answer(self, *frames: bytes) -> None:
        """Let the broker send frames."""
        receive(self.broker_side, framed(*frames))

    def answer_heartbeat(self) -> None:
        """Let the broker answer the oldest heartbeat."""
        [frame] = self.broker_side.transport.take_frames()[:1]
        correlation_id = int.from_bytes(frame[4:8], "big")
        self.answer(response_frame(messages.HeartbeatResponse(), 4, correlation_id))

    @property
    def broker_side(self) -> BrokerConnection:
        side = self.connection._broker_side
        assert side is not None
        return side


def played(scenario: Callable[[FakeGateway], Awaitable[None]], **limits: int) -> FakeGateway:
    """Play a scenario in an event loop of its own; give the gateway as it was left."""
    gateway = FakeGateway(Stage(max_reauth_ms=limits.get("max_reauth_ms", 0)), **limits)
    asyncio.run(scenario(gateway))
    return gateway


async def settled() -> None:
    """Let everything happen that waits for nothing but its turn."""
    for _ in range(5):
        await asyncio.sleep(0)


def authenticated(gateway: FakeGateway) -> Line:
    line = Line(gateway)
    line.authenticate()
    return line


async def connected(gateway: FakeGateway) -> Line:
    """A line whose broker side is there; one heartbeat has no answer yet."""
    line = authenticated(gateway)
    line.send(HEARTBEAT, 4)
    await settled()
    assert len(line.broker_side.transport.take_frames()) == 1
    return line
