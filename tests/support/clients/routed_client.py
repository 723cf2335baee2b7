"""A raw client before several brokers: it sends each request to the broker that has to answer it.

As real clients do: what is about partitions goes to the leader of the first that it names, what is about a group or a
transaction to its coordinator, a fetch session to where it was opened, and everything else to the first broker. Before
one broker it asks nothing and is a raw client like any other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Self

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FindCoordinatorRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator."""
TO_LEADER = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.DELETE_RECORDS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
    }
)
TO_ANY = frozenset({ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS, ApiKey.FIND_COORDINATOR})
_GROUP_FIELDS = ("group_id", "groups_names", "group_ids", "groups")
_TRANSACTION_FIELDS = ("v3_and_below_transactional_id", "transactional_ids", "transactional_id")
_TOPIC_LISTS = ("topics", "topic_data")
_COORDINATOR_VERSION, _NODES_VERSION, _ANY_NAME_VERSION = 3, 1, 12
_COORDINATOR_S = 20.0


class RoutedClient:
    """Connections of one client to all brokers."""

    def __init__(
        self, endpoint: Endpoint, *, client_id: str = "raw", never_receives: Iterable[bytes] = ()
    ) -> None:
        """Connect to the broker of `endpoint`; to the others when they are needed."""
        self.client_id = client_id
        self._endpoint = endpoint
        self._never_receives = tuple(never_receives)
        self._clients: dict[int, RawClient] = {}
        self._ports: dict[int, int] = {}
        self._fetch_sessions: dict[int, int] = {}
        self._share_sessions: dict[tuple[str, str], int] = {}
        with self._connect(endpoint.port) as client:
            metadata = client.request(MetadataRequest(topics=[]), _NODES_VERSION)
        self._ports = {broker.node_id: broker.port for broker in metadata.brokers}
        self.first = next(node_id for node_id, port in self._ports.items() if port == endpoint.port)
        """The broker of the endpoint."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for node_id in list(self._clients):
            self.drop(node_id)

    @property
    def nodes(self) -> list[int]:
        """The IDs of the brokers."""
        return sorted(self._ports)

    def at(self, node_id: int) -> RawClient:
        """Return the connection to one broker."""
        if node_id not in self._clients:
            self._clients[node_id] = self._connect(self._ports[node_id])
        return self._clients[node_id]

    def drop(self, node_id: int) -> None:
        """Close the connection to one broker; there is a new one when it is asked for."""
        client = self._clients.pop(node_id, None)
        if client is not None:
            client.close()

    def _connect(self, port: int) -> RawClient:
        one = self._endpoint
        endpoint = Endpoint(one.host, port, one.username, one.password, one.mechanism)
        return RawClient.authenticated(
            endpoint, client_id=self.client_id, never_receives=self._never_receives
        )

    def request(self, message: Message, version: int) -> Any:
        """Send a request to the broker that has to answer it, and return its response."""
        node_id = self.node_for(message)
        response = self.at(node_id).request(message, version)
        if getattr(response, "session_id", 0):
            self._fetch_sessions[response.session_id] = node_id
        return response

    def send(self, message: Message, version: int) -> int:
        """Send a request without waiting, and return its correlation ID on that broker's connection."""
        return self.at(self.node_for(message)).send(message, version)

    def versions(self) -> dict[int, tuple[int, int]]:
        """Return what the brokers offer."""
        return self.at(self.first).versions()

    def newest(self, api_key: ApiKey) -> int:
        """Return the newest version of an API that both sides know."""
        return self.at(self.first).newest(api_key)

    def at_most(self, api_key: ApiKey, version: int) -> int:
        """Return the newest version of an API that both sides know and that is not above `version`."""
        return self.at(self.first).at_most(api_key, version)

    def node_for(self, message: Message) -> int:
        """Return the broker that has to answer a request."""
        api_key = message.SCHEMA.api_key
        if len(self._ports) == 1 or api_key in TO_ANY:
            return self.first
        if api_key in TO_LEADER:
            return self._leader_of(message)
        for kind, fields in ((GROUP, _GROUP_FIELDS), (TRANSACTION, _TRANSACTION_FIELDS)):
            if kind == GROUP and api_key == ApiKey.ADD_OFFSETS_TO_TXN:
                continue
            key = next((one for one in (_first_key(message, field) for field in fields) if one), None)
            if key is not None:
                return self.coordinator_of(key, kind)
        return self.first

    def coordinator_of(self, key: str, kind: int = GROUP) -> int:
        """Return the coordinator of a group or a transaction."""
        deadline = time.monotonic() + _COORDINATOR_S
        while True:
            found = self.at(self.first).request(
                FindCoordinatorRequest(key=key, key_type=kind), _COORDINATOR_VERSION
            )
            if found.error_code == ErrorCode.NONE:
                return int(found.node_id)
            if found.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE:
                return self.first
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    def _leader_of(self, message: Message) -> int:
        session_id, member = getattr(message, "session_id", 0), _member(message)
        if session_id:
            return self._fetch_sessions.get(session_id, self.first)
        topics = [one for name in _TOPIC_LISTS for one in getattr(message, name, None) or ()]
        if not topics:
            return self._share_sessions.get(member, self.first)
        node_id = self.leader_of(topics[0])
        self._share_sessions[member] = node_id
        return node_id

    def leader_of(self, topic: Any) -> int:
        """Return the leader of the first partition that a struct names of a topic, by its name or its ID."""
        name = getattr(topic, "name", None) or getattr(topic, "topic", None)
        topic_id = getattr(topic, "topic_id", bytes(16))
        asked = MetadataRequest.MetadataRequestTopic(name=name)
        if topic_id != bytes(16):
            asked = MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic_id)
        request = MetadataRequest(topics=[asked], allow_auto_topic_creation=False)
        client = self.at(self.first)
        (found,) = client.request(request, client.at_most(ApiKey.METADATA, _ANY_NAME_VERSION)).topics
        wanted = _first_partition(topic)
        leader = next((one.leader_id for one in found.partitions if one.partition_index == wanted), -1)
        return leader if leader in self._ports else self.first


def _first_key(message: Message, field: str) -> str | None:
    value = getattr(message, field, None)
    if isinstance(value, list):
        value = value[0] if value else None
    if value is not None and not isinstance(value, str):
        value = getattr(value, "group_id", None)
    return value or None


def _first_partition(topic: Any) -> int:
    for name in ("partitions", "partition_data", "partition_indexes"):
        for one in getattr(topic, name, None) or ():
            if isinstance(one, int):
                return one
            for field in ("partition_index", "partition", "index"):
                if hasattr(one, field):
                    return int(getattr(one, field))
    return 0


def _member(message: Message) -> tuple[str, str]:
    """Return what a share session belongs to."""
    return str(getattr(message, "group_id", "")), str(getattr(message, "member_id", ""))
