"""A client at a single address, with its socket and those of two brokers played by the test.

Session, connection, router and links are the real ones. What the brokers read and send, and when they can be reached,
the test says.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.api_versions import OfferedVersions, offered_versions
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.brokers.cluster import FRESH_MS
from bifrost.gateway.brokers.cluster_routes import ClusterRoutes
from bifrost.gateway.brokers.clusters import entry_to
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.recent_run import RecentRun
from bifrost.gateway.routing import broker_link
from bifrost.gateway.routing.broker_link import BrokerLink
from bifrost.gateway.routing.router import Router
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.routes.keyed_parts import GROUP
from bifrost.session.shared_state import Route
from bifrost.tenancy.brokers import NO_NODE
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import FakeTransport, framed, receive
from support.stage.playbook import read_request, read_response, request_frame, response_frame
from support.stage.stage import PORTS, UPSTREAM, Stage, authenticate, broker_versions, handshake, plain_token

from ..clients.line import FakeCluster, FakeGateway

NODES = (1, 2)
PARTITIONS = 4
PRODUCE, LIST_OFFSETS, HEARTBEAT, FETCH, LIST_GROUPS = 9, 7, 4, 12, 4
"""The versions of the requests that are sent."""
GROUP_NAME = "group"
SOCKET_BYTES = 4_096
"""So much the sockets of brokers take before something has to wait; the kernel makes it a little more."""
HIGH_BYTES = 8_192
"""So much waits to be written to a broker before its connection is told so."""


def leader(partition: int) -> int:
    return NODES[partition % len(NODES)]


class Asked:
    """What a broker was asked, or how the client was answered."""

    def __init__(self, number: int, sent: tuple[tuple[int, bytes], ...], version: int, key: int) -> None:
        self.number, self.sent, self.version, self.key = number, sent, version, key


class PlayedBroker:
    """The other end of a router's connections to one broker."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.may_connect, self.may_log_in = asyncio.Event(), asyncio.Event()
        self.is_away = False
        self.throttle_ms = 0
        """How long its answers to Produce tell the client to wait."""
        self.groups: list[str] = []
        """Those that it coordinates, by their physical names."""
        self.socket: socket.socket | None = None
        self.connections = 0
        self.seen: list[tuple[int, int]] = []
        """Partition and record, in the order in which they came; the partitions of `billing` count from PARTITIONS."""
        self.refused: list[tuple[int, int]] = []
        """Likewise what came though another broker leads the partition: such records are not stored."""
        self.pending: list[Asked] = []
        """What was read and is not answered yet."""
        self._bytes = b""

    def take(self, end: socket.socket) -> None:
        self.socket, self._bytes = end, b""
        self.pending.clear()
        self.connections += 1

    def read(self, most: int = 1 << 20) -> None:
        """Read what has come."""
        if self.socket is None:
            return
        try:
            self._bytes += self.socket.recv(most)
        except BlockingIOError:
            return
        except ConnectionResetError:
            self.socket = None
            return
        while len(self._bytes) >= 4 and len(self._bytes) >= 4 + (
            size := int.from_bytes(self._bytes[:4], "big")
        ):
            frame, self._bytes = self._bytes[4 : 4 + size], self._bytes[4 + size :]
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        asked, message, _ = read_request(frame)
        sent: list[tuple[int, bytes]] = []
        is_awaited = True
        if asked.api_key == ApiKey.PRODUCE:
            is_awaited = message.acks != 0
            for topic in message.topic_data:
                for one in topic.partition_data:
                    place = one.index + (PARTITIONS if topic.name.endswith("billing") else 0)
                    sent.append((place, topic.name.encode()))
                    stored = self.seen if leader(one.index) == self.node_id else self.refused
                    stored.append((place, int.from_bytes(one.records[:4], "big")))
        elif asked.api_key == ApiKey.LIST_OFFSETS:
            sent = [
                (one.partition_index, topic.name.encode())
                for topic in message.topics
                for one in topic.partitions
            ]
        if is_awaited:
            self.pending.append(Asked(asked.correlation_id, tuple(sent), asked.api_version, asked.api_key))

    def answer(self, most: int = 1 << 20, error_code: int = 0) -> int:
        """Answer the oldest requests in one piece; return how many."""
        if self.socket is None:
            return 0
        now, self.pending = self.pending[:most], self.pending[most:]
        if now:
            self.socket.sendall(framed(*(self._answer(one, error_code) for one in now)))
        return len(now)

    def _answer(self, asked: Asked, code: int) -> bytes:
        topics: dict[bytes, list[int]] = {}
        for place, name in asked.sent:
            topics.setdefault(name, []).append(place % PARTITIONS)
        listed: Any
        if asked.key == ApiKey.PRODUCE:
            listed = [
                {
                    "name": name.decode(),
                    "partition_responses": [
                        {"index": one, "error_code": self._code(one, code), "base_offset": asked.number}
                        for one in indexes
                    ],
                }
                for name, indexes in topics.items()
            ]
            message = messages.ProduceResponse(responses=listed, throttle_time_ms=self.throttle_ms)
        elif asked.key == ApiKey.LIST_OFFSETS:
            listed = [
                {
                    "name": name.decode(),
                    "partitions": [
                        {"partition_index": one, "error_code": code, "offset": asked.number}
                        for one in indexes
                    ],
                }
                for name, indexes in topics.items()
            ]
            message = messages.ListOffsetsResponse(topics=listed)
        elif asked.key == ApiKey.LIST_GROUPS:
            message = messages.ListGroupsResponse(groups=[{"group_id": one} for one in self.groups])
        else:
            message = messages.HeartbeatResponse(error_code=code)
        return response_frame(message, asked.version, asked.number)

    def _code(self, partition: int, code: int) -> int:
        return code if leader(partition) == self.node_id else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def close(self) -> None:
        """Close the connection."""
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class LookUpBroker:
    """Leads every topic that the look-ups ask for, as `leader` says."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.asked = 0

    async def connect(self) -> tuple[Any, OfferedVersions, int]:
        return self, offered_versions(broker_versions()), 12

    async def close(self) -> None:
        """Nothing is open."""

    async def request(self, message: Any, _version: int) -> Any:
        self.asked += 1
        await self.may_answer.wait()
        return messages.MetadataResponse(topics=[led(one.name) for one in message.topics])


def led(name: str) -> dict[str, Any]:
    """A topic with its leaders."""
    partitions = [{"partition_index": one, "leader_id": leader(one)} for one in range(PARTITIONS)]
    return {"name": name, "partitions": partitions}


class RoutedCluster(FakeCluster):
    """A cluster of two brokers, and what is known of who leads what."""

    name = UPSTREAM
    controller_id = NODES[0]
    node_ids = frozenset(NODES)
    unreachable: frozenset[int] = frozenset()

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.asked_about = LookUpBroker()
        self.routes = ClusterRoutes(self.asked_about.connect, lambda: monotonic_ns() // 1_000_000)
        security: Any = SimpleNamespace(login_of=lambda _tenant, _user: "a login")
        self.security = security
        self.known_ms = 0
        """The time by which the list of brokers is recent or not."""
        self.refreshes = 0
        self.may_refresh = asyncio.Event()
        self.may_refresh.set()
        self.fresh = RecentRun("refresh", self.refresh, FRESH_MS, lambda: self.known_ms)

    async def refresh(self) -> None:
        """Find what `node_ids` has."""
        self.refreshes += 1
        await self.may_refresh.wait()


class RoutedLine:
    """A client that is let in, at a single address before two brokers."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, max_in_flight: int = 100, tenant: str = "acme"
    ) -> None:
        stage = Stage(max_in_flight_requests=max_in_flight)
        self.gateway = FakeGateway(stage)
        self.cluster = RoutedCluster(stage)
        self.gateway.cluster, self.gateway.clusters = self.cluster, {UPSTREAM: self.cluster}
        self.brokers = {one: PlayedBroker(one) for one in NODES}
        self._tenant = tenant
        self.sent_numbers = 0
        self.answers: list[tuple[int, bytes]] = []
        """Correlation ID and frame of each answer."""
        self.unread: list[bytes] = []
        """What the client has sent and the gateway does not read yet."""
        monkeypatch.setattr(broker_link, "connect", self._connect)
        monkeypatch.setattr(broker_link, "renew_login", self._renew_login)
        self.client = FakeTransport()
        self.connection = self.connected(self.client)
        self.learn("orders")
        self.cluster.routes._coordinators.put((GROUP, physical_name(tenant, GROUP_NAME)), NODES[0])

    def connected(self, client: FakeTransport) -> ClientConnection:
        """Let a client come, and in."""
        brokers = {UPSTREAM: self.cluster.broker(1)}
        entry = entry_to(brokers, PORTS, self.gateway.cluster.stage.mechanisms)
        entry = replace(entry, routes={UPSTREAM: Route(NO_NODE, entry.offered)}, is_single_address=True)
        made = ClientConnection(self.gateway, brokers, entry)  # type: ignore[arg-type]
        client.protocol = made
        made.connection_made(client)  # type: ignore[arg-type]
        receive(made, framed(request_frame(handshake(), 1, 0)))
        receive(made, framed(request_frame(authenticate(plain_token(self._tenant)), 2, 0)))
        assert len(client.take_frames()) == 2
        return made

    async def _connect(self, client: Any, broker: Any, *_: Any) -> BrokerConnection:
        played = self.brokers[broker.node_id]
        await played.may_connect.wait()
        if played.is_away:
            raise BrokerError("connection refused")
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        made = BrokerConnection(client)
        made.transport = SocketTransport(asyncio.get_running_loop(), ours, made)
        made.transport.set_write_buffer_limits(high=HIGH_BYTES)
        played.take(theirs)
        return made

    async def _renew_login(self, connection: BrokerConnection, broker: Any, *_: Any) -> None:
        transport = connection.transport
        assert transport is not None
        transport.set_protocol(connection)
        await self.brokers[broker.node_id].may_log_in.wait()
        if connection.transport is None:
            raise BrokerError("the broker closed the connection")
        connection.is_login_due = False

    # -- what the test does

    def learn(self, topic: str) -> None:
        """Let it be known who leads the partitions of a topic."""
        self.cluster.routes.learn(messages.MetadataResponse(topics=[led(self.physical(topic))]))

    def forget(self, topic: str) -> None:
        self.cluster.routes.forget_leaders([self.physical(topic).encode()], by_id=False)

    def physical(self, topic: str) -> str:
        return physical_name(self._tenant, topic)

    @property
    def router(self) -> Router:
        side = self.connection._broker_side
        assert isinstance(side, Router)
        return side

    def link(self, node_id: int) -> BrokerLink:
        """The link for requests to a broker."""
        return self.router.link(node_id)

    def let_connect(self) -> None:
        for one in self.brokers.values():
            one.may_connect.set()

    def produce(
        self, *partitions: int, topic: str = "orders", acks: int = 1, size: int = 0, number: int | None = None
    ) -> bytes:
        """A Produce whose records are its number."""
        number = self.next_number() if number is None else number
        records = number.to_bytes(4, "big") + bytes(size)
        data = [{"index": one, "records": records} for one in partitions]
        message = messages.ProduceRequest(
            acks=acks, timeout_ms=1000, topic_data=[{"name": topic, "partition_data": data}]
        )
        return request_frame(message, PRODUCE, number)

    def list_offsets(self, *partitions: int, number: int | None = None) -> bytes:
        number = self.next_number() if number is None else number
        asked = [{"partition_index": one, "timestamp": -1} for one in partitions]
        message = messages.ListOffsetsRequest(replica_id=-1, topics=[{"name": "orders", "partitions": asked}])
        return request_frame(message, LIST_OFFSETS, number)

    def heartbeat(self, number: int | None = None) -> bytes:
        number = self.next_number() if number is None else number
        return request_frame(messages.HeartbeatRequest(group_id=GROUP_NAME), HEARTBEAT, number)

    def list_groups(self, number: int | None = None) -> bytes:
        number = self.next_number() if number is None else number
        return request_frame(messages.ListGroupsRequest(), LIST_GROUPS, number)

    def empty_fetch(self, number: int | None = None) -> bytes:
        """A Fetch of nothing, which the router answers at once."""
        number = self.next_number() if number is None else number
        return request_frame(messages.FetchRequest(topics=[]), FETCH, number)

    def next_number(self) -> int:
        self.sent_numbers += 1
        return self.sent_numbers

    def send(self, *frames: bytes) -> None:
        """Let the client send frames in one piece, once the gateway reads it."""
        self.unread.append(framed(*frames))
        self.pump()

    def pump(self) -> None:
        """Let the gateway read what the client has sent, as long as it does."""
        while self.unread and self.client.is_reading() and not self.client.is_closed:
            receive(self.client.protocol, self.unread.pop(0))

    def take_answers(self) -> list[int]:
        """Return the correlation IDs of the answers that have come since the last call."""
        new = [(int.from_bytes(one[:4], "big"), one) for one in self.client.take_frames()]
        self.answers += new
        return [number for number, _ in new]

    def answer_to(self, number: int, api_key: ApiKey = ApiKey.PRODUCE, version: int = PRODUCE) -> Any:
        """The answer to a request, by its correlation ID."""
        return read_response(next(one for found, one in self.answers if found == number), api_key, version)

    def codes(self, number: int) -> list[int]:
        """The error codes of an answer to a Produce."""
        return [
            one.error_code for topic in self.answer_to(number).responses for one in topic.partition_responses
        ]

    def listed_codes(self, number: int) -> list[int]:
        """Those of an answer to a ListOffsets."""
        answer = self.answer_to(number, ApiKey.LIST_OFFSETS, LIST_OFFSETS)
        return [one.error_code for topic in answer.topics for one in topic.partitions]

    async def turns(self, count: int = 10) -> None:
        """Let the loop go on, and the client's bytes come in."""
        for _ in range(count):
            await asyncio.sleep(0)
            self.pump()

    async def finish(self, until: Callable[[], bool], turns: int = 3_000) -> None:
        """Let all brokers be reached, log in, read and answer, until all is done."""
        self.cluster.asked_about.may_answer.set()
        for one in self.brokers.values():
            one.may_connect.set()
            one.may_log_in.set()
        for _ in range(turns):
            if until():
                return
            for one in self.brokers.values():
                one.read()
                one.answer()
            await self.turns(1)
        raise AssertionError("it has no end")


Scenario = Callable[[RoutedLine], Awaitable[None]]


def played(scenario: Scenario, monkeypatch: pytest.MonkeyPatch, max_in_flight: int = 1000) -> RoutedLine:
    """Play a scenario in an event loop of its own, beginning with a line to both brokers."""

    async def play() -> RoutedLine:
        line = RoutedLine(monkeypatch, max_in_flight)
        line.let_connect()
        line.send(line.produce(0), line.produce(1))
        await line.turns(20)
        for one in line.brokers.values():
            one.read()
            assert one.answer() == 1
        await line.turns()
        assert line.take_answers() == [1, 2]
        await scenario(line)
        return line

    return asyncio.run(play())
