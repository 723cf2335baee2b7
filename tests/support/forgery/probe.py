"""What a request comes to, in all that its sender can see: the answer's bytes, and whether the connection lives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bifrost.wire import headers
from bifrost.wire.codec import encode
from bifrost.wire.message import Message
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response, request_frame
from support.clients.routed_client import RoutedClient

_PROBE_VERSION = 1
Swaps = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Outcome:
    """The answer without its length and correlation ID, None when there was none; and what came of the connection."""

    answer: bytes | None
    is_alive: bool

    def swapped(self, swaps: Swaps) -> Outcome:
        """The same with other names."""
        answer = self.answer
        if answer is not None:
            for foreign, control in swaps:
                answer = answer.replace(foreign, control)
        return Outcome(answer, self.is_alive)


class Prober:
    """Sends requests, and connects anew when the other side has closed the connection."""

    def __init__(self, endpoint: Endpoint, *, never_receives: Iterable[bytes] = ()) -> None:
        """Connect when first needed; `never_receives` must stand in no answer."""
        self._endpoint = endpoint
        self._never_receives = tuple(never_receives)
        self._connections: RoutedClient | None = None

    def close(self) -> None:
        """Close the connections."""
        if self._connections is not None:
            self._connections.close()
            self._connections = None

    @property
    def connections(self) -> RoutedClient:
        """One connection to each broker."""
        if self._connections is None:
            self._connections = RoutedClient(self._endpoint, never_receives=self._never_receives)
        return self._connections

    def client(self) -> RawClient:
        """Return the connection to the broker of the endpoint."""
        return self.connections.at(self.connections.first)

    def ask(self, message: Message, version: int) -> Outcome:
        """Send a request to the broker that has to answer it, and behind it one that is always answered."""
        node_id = self.connections.node_for(message)
        client = self.connections.at(node_id)
        correlation_id = client.next_correlation_id()
        return self.ask_bytes(request_frame(message, version, correlation_id, client.client_id), node_id)

    def ask_bytes(self, frame: bytes, node_id: int | None = None) -> Outcome:
        """Send a request as it is, with its length, and behind it one that the broker always answers."""
        node_id = self.connections.first if node_id is None else node_id
        client = self.connections.at(node_id)
        probe_id = client.next_correlation_id()
        answer = None
        try:
            client.send_bytes(frame + request_frame(MetadataRequest(topics=[]), _PROBE_VERSION, probe_id))
            received = client.receive_frame()
            while int.from_bytes(received[:4], "big", signed=True) != probe_id:
                assert answer is None, "two answers to one request"
                answer = received[4:]
                received = client.receive_frame()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.connections.drop(node_id)
            return Outcome(answer, is_alive=False)
        return Outcome(answer, is_alive=True)


MADE_UP: Mapping[str, frozenset[str]] = {
    "CreateTopicsResponse": frozenset({"topic_id"}),
    "InitProducerIdResponse": frozenset({"producer_id", "producer_epoch"}),
    "JoinGroupResponse": frozenset({"member_id"}),
    "ConsumerGroupHeartbeatResponse": frozenset({"member_id"}),
    "ProduceResponse": frozenset({"base_offset"}),
    "DescribeTransactionsResponse": frozenset({"producer_id"}),
    "FetchResponse": frozenset({"session_id"}),
}
"""Fields in which Kafka gives another value each time, whatever was asked."""
_PLACES = frozenset(
    {
        "controller_id",
        "eligible_leader_replicas",
        "isr_nodes",
        "leader_epoch",
        "leader_id",
        "offline_replicas",
        "replica_nodes",
    }
)
PLACED: Mapping[str, frozenset[str]] = {
    "FindCoordinatorResponse": frozenset({"node_id", "host", "port"}),
    "MetadataResponse": _PLACES,
    "DescribeTopicPartitionsResponse": _PLACES,
    "DescribeClusterResponse": _PLACES,
}
"""Fields that, with several brokers, depend on the name that was asked for: topics of one's own that requests create
have their replicas anywhere."""


def without_made_up(api_key: int, version: int, outcome: Outcome) -> Outcome:
    """Return an outcome in which what Kafka makes up is nothing: what is left must be equal in bytes."""
    schema = response_schema(api_key)
    names = MADE_UP.get(schema.name, frozenset())
    if brokers_under_test() > 1:
        names |= PLACED.get(schema.name, frozenset())
    if not names or outcome.answer is None:
        return outcome
    frame = bytes(4) + outcome.answer
    response = decode_response(api_key, version, frame)
    _blank(response, names)
    head = headers.response_header(0, schema.response_header_version(version) >= 1)
    return Outcome(encode(compile_layout(schema.name, version), response, head), outcome.is_alive)


def _blank(struct: Any, names: frozenset[str]) -> None:
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.name in names:
            # "None was given" stays told apart from "one was given".
            least = 1 if field.name == "session_id" else 0
            setattr(struct, field.name, _blanked(value, least))
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, "FIELDS"):
                    _blank(item, names)
        elif hasattr(value, "FIELDS"):
            _blank(value, names)


def _blanked(value: Any, least: int) -> Any:
    if isinstance(value, list):
        return []
    if isinstance(value, str):
        return value and "made up"
    if isinstance(value, bytes):
        return bytes(16) if value == bytes(16) else b"\1" * 16
    return value if value is None else min(value, least)
