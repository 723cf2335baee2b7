"""A bug of ours in what the event loop calls of a client's connection or its broker side ends this client, at once.

Both sides are sockets, which the gateway's own transport reads and writes. A client that is not ended would wait for
ever: its connection is busy, as an answer is awaited.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.brokers.clusters import entry_to
from bifrost.gateway.clients import client_connection, endings, way_to_broker
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.way_to_broker import WayToBroker
from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.sockets import half_close
from bifrost.gateway.sockets.half_close import HalfClose
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import CloseReason
from support.gateways.in_process import raise_bug
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import framed
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import PORTS, UPSTREAM, authenticate, handshake, plain_token

from .line import HEARTBEAT, FakeGateway, played

SOCKET_BYTES, HIGH_BYTES = 4_096, 8_192
LARGE = bytes(200_000)
"""More than both ends' sockets take and may wait to be written."""
WAIT_S = 5
FETCH, PRODUCE = 12, 9


class SocketLine:
    """A client that is let in, and its broker, with the test at the other ends of their sockets."""

    def __init__(self, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gateway, self.number = gateway, 0
        self.errors: Counter[str] = Counter()
        InternalErrors(self.errors).install(asyncio.get_running_loop())
        monkeypatch.setattr(way_to_broker, "connect", self._connect)
        # A pair of sockets has no option of TCP.
        monkeypatch.setattr(client_connection, "set_up_socket", lambda _transport: None)
        brokers = {UPSTREAM: gateway.cluster.broker(1)}
        entry = entry_to(brokers, PORTS, gateway.cluster.stage.mechanisms)
        self.connection = ClientConnection(gateway, brokers, entry)  # type: ignore[arg-type]
        transport, self.client = _ends(self.connection)
        self.connection.connection_made(transport)
        transport.set_write_buffer_limits(high=HIGH_BYTES)
        self.broker: socket.socket | None = None

    async def _connect(self, client: Any, *_: Any) -> BrokerConnection:
        made = BrokerConnection(client)
        made.transport, self.broker = _ends(made)
        made.transport.set_write_buffer_limits(high=HIGH_BYTES)
        return made

    async def begin(self) -> None:
        """Let the client in, and connect it to its broker; one heartbeat is not answered yet."""
        await self.send(handshake(), 1)
        await self.send(authenticate(plain_token("acme")), 2)
        await self.send(HEARTBEAT, 4)
        while self.broker is None:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.001)
        await asyncio.get_running_loop().sock_recv(self.broker, 1 << 16)

    async def send(self, message: Any, version: int) -> None:
        self.number += 1
        frame = framed(request_frame(message, version, self.number))
        await asyncio.get_running_loop().sock_sendall(self.client, frame)

    def answer(self, message: Any, version: int, number: int) -> "asyncio.Task[None]":
        """Let the broker answer; the bytes go as far as they are read."""
        assert self.broker is not None
        frame = framed(response_frame(message, version, number))
        loop = asyncio.get_running_loop()
        return loop.create_task(loop.sock_sendall(self.broker, frame))

    async def is_ended(self) -> None:
        """Wait until both sides are closed, and nothing is left of the client."""
        async with asyncio.timeout(WAIT_S):
            for one in (self.client, self.broker):
                assert one is not None
                await _until_end(one)
                one.close()
            while self.gateway.connections:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.001)
        assert self.errors.total() >= 1
        assert self.connection.has_ended


def _ends(protocol: Any) -> tuple[SocketTransport, socket.socket]:
    """Return a transport for this protocol, and the socket of the other end."""
    ours, theirs = socket.socketpair()
    for one in (ours, theirs):
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
    transport = SocketTransport(asyncio.get_running_loop(), ours, protocol, ("192.0.2.1", 50_000))
    transport.resume_reading()
    return transport, theirs


async def _until_end(one: socket.socket) -> None:
    try:
        while await asyncio.get_running_loop().sock_recv(one, 1 << 16):
            pass
    except ConnectionError:
        pass


Scenario = Callable[[SocketLine], Awaitable[None]]


def play(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> FakeGateway:
    async def run(gateway: FakeGateway) -> None:
        line = SocketLine(gateway, monkeypatch)
        await line.begin()
        await scenario(line)
        await line.is_ended()

    return played(run)


async def fetch_much(line: SocketLine) -> "asyncio.Task[None]":
    """Let the broker answer more than the client reads."""
    data = {"partition_index": 0, "high_watermark": 1, "records": LARGE}
    topics = [{"topic": physical_name("acme", "orders"), "partitions": [data]}]
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    request = messages.FetchRequest(topics=[{"topic": "orders", "partitions": [asked]}])
    line.answer(messages.HeartbeatResponse(), 4, line.number)
    await line.send(request, FETCH)
    assert line.broker is not None
    await asyncio.get_running_loop().sock_recv(line.broker, 1 << 16)
    return line.answer(messages.FetchResponse(responses=topics), FETCH, line.number)


def produce_much(line: SocketLine) -> "asyncio.Task[None]":
    """Let the client send more than the broker reads."""
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": LARGE}]}]
    request = messages.ProduceRequest(acks=1, timeout_ms=1000, topic_data=data)
    return asyncio.get_running_loop().create_task(line.send(request, PRODUCE))


def test_a_bug_where_a_client_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(ClientConnection, "pause_writing", raise_bug)
        await fetch_much(line)

    assert play(scenario, monkeypatch).ends.total() == 1


def test_a_bug_where_a_client_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(ClientConnection, "resume_writing", raise_bug)
        await fetch_much(line)
        async with asyncio.timeout(WAIT_S):
            while not line.connection._is_write_paused:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.001)
        assert not line.connection.has_ended

    assert play(scenario, monkeypatch).ends.total() == 1


def test_a_bug_where_a_broker_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(BrokerConnection, "pause_writing", raise_bug)
        sending = produce_much(line)
        await asyncio.wait([sending], timeout=WAIT_S)

    assert play(scenario, monkeypatch).ends.total() == 1


def test_a_bug_where_a_broker_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(BrokerConnection, "resume_writing", raise_bug)
        produce_much(line)
        side = line.connection._broker_side
        assert isinstance(side, BrokerConnection)
        async with asyncio.timeout(WAIT_S):
            while not side.is_write_paused:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.001)
        assert not line.connection.has_ended
        assert line.broker is not None
        await _until_end(line.broker)

    assert play(scenario, monkeypatch).ends.total() == 1


def test_a_bug_where_a_broker_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(BrokerConnection, "_lose", raise_bug)
        assert line.broker is not None
        line.broker.shutdown(socket.SHUT_RDWR)

    assert play(scenario, monkeypatch).ends == {CloseReason.INTERNAL_ERROR: 1}


@pytest.mark.parametrize("name", ["buffer_updated", "_login_bytes_received", "_lose"])
def test_a_bug_where_a_login_is_answered(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    class Login:
        async def log_in(self, ask: Any, *_: Any) -> None:
            await ask(framed(b"a token"))

    async def renew_login(_way: Any, side: BrokerConnection) -> None:
        await side.log_in(Login(), line_of[0].gateway.cluster.broker(1), 1e9)  # type: ignore[arg-type]

    line_of: list[SocketLine] = []

    async def scenario(line: SocketLine) -> None:
        line_of.append(line)
        monkeypatch.setattr(WayToBroker, "renew_login", renew_login)
        monkeypatch.setattr(BrokerConnection, name, raise_bug)
        side = line.connection._broker_side
        assert isinstance(side, BrokerConnection)
        assert line.broker is not None
        line.answer(messages.HeartbeatResponse(), 4, line.number)
        side._login_ends()
        await asyncio.get_running_loop().sock_recv(line.broker, 1 << 16)
        line.broker.send(framed(b"an answer"))
        if name == "_lose":
            line.broker.shutdown(socket.SHUT_RDWR)

    assert play(scenario, monkeypatch).ends == {CloseReason.INTERNAL_ERROR: 1}


@pytest.mark.parametrize(
    ("owner", "name", "reason"),
    [
        (HalfClose, "_look_at_client", CloseReason.IDLE),
        (HalfClose, "__init__", CloseReason.IDLE),
        (endings, "close", CloseReason.SHUTDOWN),
        (ClientConnection, "pause_writing", CloseReason.SHUTDOWN),
    ],
)
def test_a_bug_where_a_connection_ends_in_order(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, reason: CloseReason
) -> None:
    """The client does not read, so the end in order would wait for it."""
    monkeypatch.setattr(half_close, "LINGER_S", 0.02)

    async def scenario(line: SocketLine) -> None:
        monkeypatch.setattr(owner, name, raise_bug)
        line.connection._session.to_client.append(LARGE)
        line.connection.end(reason, "enough")
        # Nothing of the answer is read meanwhile: `is_ended` reads.
        async with asyncio.timeout(WAIT_S):
            while line.gateway.connections:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.001)

    assert play(scenario, monkeypatch).ends == {reason: 1}
