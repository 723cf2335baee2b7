"""The way in with both its sides played by the test. TLS itself and real balancers: tests/kafka/operations."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.verifiers import Mechanism
from bifrost.gateway.brokers.clusters import entry_to
from bifrost.gateway.clients import client_handshake as module
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.client_handshake import ClientHandshake
from bifrost.gateway.clients.ingress import Ingress
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.session.close_reason import NOT_LET_IN, CloseReason
from support.gateways.proxy_relay import LOCAL, proxy_header
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.stage import PORTS, UPSTREAM, Stage, handshake

from .line import FakeGateway, Line, request_frame, settled

HEADER = proxy_header("203.0.113.9", 5555)
RANGE = {
    "advertised_host": "gw",
    "bootstrap_port": 9092,
    "broker_port_range": {"start": 9093, "end": 9095},
}


class NewClient:
    """A client before its connection has a protocol: its handshake, its transport, and what came of it."""

    def __init__(self, gateway: FakeGateway, **keys: Any) -> None:
        self.gateway = gateway
        self.entered: list[ClientOrigin] = []
        listener_set = ListenerSet.model_validate({"name": "one", "port_range": RANGE} | keys)
        self.transport = ProtocolTransport()
        made = Ingress(listener_set, gateway, None).open(self._enter)  # type: ignore[arg-type]
        assert isinstance(made, ClientHandshake)
        self.handshake = made
        self.transport.protocol = made
        made.connection_made(self.transport)  # type: ignore[arg-type]

    def _enter(self, origin: ClientOrigin) -> ClientConnection:
        self.entered.append(origin)
        brokers = {UPSTREAM: self.gateway.cluster.broker(1)}
        entry = entry_to(brokers, PORTS, (Mechanism.PLAIN,), origin)
        return ClientConnection(self.gateway, brokers, entry, origin)  # type: ignore[arg-type]

    def send(self, data: bytes) -> None:
        """Let the client say something, read as far as the protocol of the moment wants it."""
        while data and self.transport.reading and not self.transport.is_closed:
            protocol = self.transport.protocol
            buffer = protocol.get_buffer(-1)
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            protocol.buffer_updated(size)
        self.unread = data


class ProtocolTransport(FakeTransport):
    """A transport whose protocol can be exchanged."""

    protocol: Any = None

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol


def played(scenario: Callable[[FakeGateway], Awaitable[None]], **limits: int) -> FakeGateway:
    gateway = FakeGateway(Stage(), **limits)
    asyncio.run(scenario(gateway))
    return gateway


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_the_client_is_who_the_header_says_and_what_follows_is_its_own(pieces: int) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        data = HEADER
        while data:
            client.send(data[:pieces])
            data = data[pieces:]
        await settled()

        [origin] = client.entered
        assert origin.address == ("203.0.113.9", 5555)
        assert origin.waited_ms is not None
        client.send(framed(request_frame(handshake(), 1, 3)))
        [answer] = client.transport.take_frames()
        assert answer[:4] == b"\0\0\0\3"

    assert not played(scenario).ends


def test_no_byte_behind_the_header_is_read_too_early() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        request = framed(request_frame(handshake(), 1, 3))
        client.send(HEADER + request)

        assert client.unread == request
        assert not client.transport.reading
        await settled()
        assert client.transport.reading

    played(scenario)


@pytest.mark.parametrize("first", [1, 4, 14])
def test_where_it_is_allowed_a_client_may_come_without_a_header(first: int) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="allowed")
        request = framed(request_frame(handshake(), 1, 3))
        client.send(request[:first])
        await settled()
        client.send(request[first:])

        assert client.entered[0].address is None
        assert len(client.transport.take_frames()) == 1

    played(scenario)


def test_a_balancers_own_check_has_the_balancers_address() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        client.send(proxy_header("203.0.113.9", 5555, command=LOCAL))
        await settled()

        assert client.entered[0].address is None

    played(scenario)


@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("required", b"\0"),
        ("required", b"P"),
        ("required", HEADER[:12] + b"\x31" + HEADER[13:]),
        ("allowed", b"PROXY "),
    ],
)
def test_what_is_no_header_is_closed(mode: str, sent: bytes, logged: list[dict[str, Any]]) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol=mode)
        client.send(sent)
        if sent == b"P":
            assert not logged
            client.send(b"ROXY ")
        assert logged[0]["reason"] == "bad_proxy_header"
        await asyncio.sleep(0.02)
        assert client.transport.is_closed
        assert not client.entered

    module_delay = module.REFUSAL_DELAY_S
    module.REFUSAL_DELAY_S = 0.01  # type: ignore[misc]
    try:
        gateway = played(scenario)
    finally:
        module.REFUSAL_DELAY_S = module_delay  # type: ignore[misc]
    assert gateway.ends == {CloseReason.BAD_PROXY_HEADER: 1}


def test_an_address_where_authentication_failed_waits_in_front() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        gateway.failed_authentications.note("203.0.113.9", gateway.shared.sasl.now_ms())
        client = NewClient(gateway, proxy_protocol="required")
        client.send(HEADER)
        await settled()
        assert not client.entered
        await asyncio.sleep(0.15)
        assert len(client.entered) == 1

    played(scenario)


def test_a_handshake_counts_and_gives_its_place_to_the_connection() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        one = NewClient(gateway, proxy_protocol="required")
        two = NewClient(gateway, proxy_protocol="required")
        assert len(gateway.connections) == 1
        assert two.transport.is_closed or gateway.ends[CloseReason.TOO_MANY_CONNECTIONS] == 1
        one.send(HEADER)
        await settled()
        assert [type(connection) for connection in gateway.connections] == [ClientConnection]

    played(scenario, max_connections=1)


def test_all_of_it_is_within_the_time_to_authenticate() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        object.__setattr__(gateway.limits, "authentication_timeout_ms", 100)
        slow = NewClient(gateway, proxy_protocol="required")
        slow.send(HEADER[:5])
        await asyncio.sleep(0.15)
        assert slow.transport.is_aborted
        assert not client.transport.is_closed
        client.handshake.end(CloseReason.SHUTDOWN, "")

    gateway = played(scenario)
    assert gateway.ends[CloseReason.AUTHENTICATION_TIMEOUT] == 1


def test_a_client_that_goes_away_leaves_nothing() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        client.send(HEADER[:5])
        client.handshake.connection_lost(None)
        await settled()
        assert not gateway.connections

    assert played(scenario).ends == {CloseReason.CLIENT_CLOSED: 1}


def test_a_known_client_needs_no_time_to_authenticate() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required", security_protocol="PLAINTEXT", tenant="acme")
        client.send(HEADER)
        await settled()
        assert gateway.shared.sasl.outcomes == {("acme", "PLAINTEXT", "success"): 1}
        [connection] = gateway.connections
        assert connection.tenant == "acme"

    played(scenario)


def test_without_anything_before_it_a_connection_is_as_ever() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        receive(line.connection, b"\r\n\r\n\0\r\nQUIT\n")
        assert gateway.ends == {CloseReason.BAD_PROXY_HEADER: 1}

    played(scenario)


@pytest.mark.parametrize("reason", sorted(NOT_LET_IN))
def test_a_certificate_that_is_not_believed_is_a_failed_authentication(reason: CloseReason) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        client.send(HEADER[:5])
        client.handshake.end(reason, "no tenant has the principal")
        client.handshake.end(reason, "once is enough")
        assert gateway.shared.sasl.outcomes == {("", "SSL", "failure"): 1}
        assert gateway.failed_authentications.delay_ms("192.0.2.1", gateway.shared.sasl.now_ms())

    assert played(scenario).ends == {reason: 1}


@pytest.mark.parametrize("where", ["read_head", "enter", "connection_made"])
def test_a_bug_on_the_way_in_ends_one_connection_and_frees_its_place(
    where: str, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        if where == "read_head":
            monkeypatch.setattr(module, "read_head", lambda *_: 1 / 0)
        elif where == "enter":
            client.handshake._enter = lambda _origin: 1 / 0  # type: ignore[assignment, return-value]
        else:
            monkeypatch.setattr(ClientConnection, "connection_made", lambda *_: 1 / 0)

        receive(client.handshake, HEADER)
        await settled()
        await asyncio.sleep(0.15)

        assert client.transport.is_closed
        client.transport.protocol.connection_lost(None)
        assert gateway.connections == set()

    played(scenario)
    assert [one["place"] for one in logged if one["event"] == "internal_error"] == ["doorway"]


def test_no_client_is_let_in_while_no_broker_is_known() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        client = NewClient(gateway, proxy_protocol="required")
        client.handshake._enter = lambda origin: entry_to({}, PORTS, (), origin)  # type: ignore[assignment, return-value]
        receive(client.handshake, HEADER)
        await settled()
        await asyncio.sleep(0.15)
        assert client.transport.is_closed

    assert played(scenario).ends == {CloseReason.BROKER_UNREACHABLE: 1}
