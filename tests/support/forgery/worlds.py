"""Two worlds that should look the same: a broker reached directly, and a tenant's cluster behind the gateway.

A scenario is played in both, with the same names; what each world answers is made comparable by replacing what
must differ (topic IDs, ports, the cluster ID, numbers that Kafka makes up) by what it stands for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message, Struct
from bifrost.wire.messages import DescribeConfigsRequest
from bifrost.wire.schema import FieldType
from support.brokers.placed_topics import assignments_of
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import create_topic, metadata_of, produce, topic_id_of
from support.clients.record_batches import Batch, is_old_format, read_batches
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import IS_SINGLE_ADDRESS

PREFIX = "eq-"
"""Every name in a scenario begins so."""
CLOSED = "the connection was closed"
_MEMBER_ID = re.compile(r"\b(?P<client>raw|static-\d+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MADE_UP_NUMBERS = {"producer_id": 0, "session_id": 1}
"""Fields whose values Kafka makes up, from the least value that it does; those below mean "none"."""
_SETTLE_S = 20.0
_NOT_YET = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""The last transaction is still being completed; the broker asks the controller for producer IDs."""
PLACED = frozenset(
    {
        "eligible_leader_replicas",
        "isr_nodes",
        "leader_epoch",
        "leader_id",
        "offline_replicas",
        "replica_nodes",
    }
)
"""Fields of a partition that say which brokers have it, or what came of it."""


class ConnectionClosedError(Exception):
    """The other side closed the connection instead of answering; that is an answer too, and the scenario ends."""


class World:
    """One of the two, with what was made in it."""

    def __init__(self, endpoint: Endpoint, *, advertised_ports: Sequence[int], cluster_id: str) -> None:
        """Connect.

        Args:
            endpoint: where its only broker is reached, or the first of several.
            advertised_ports: at which its answers should say that the brokers are, by their IDs.
            cluster_id: the one its answers should give.
        """
        self.endpoint = endpoint
        self.is_tenant = endpoint.username is not None
        self._ports = {port: f"PORT {number}" for number, port in enumerate(advertised_ports, 1)}
        self._cluster_id = cluster_id
        self.admin = RoutedClient(endpoint)
        self.brokers = len(self.admin.nodes)
        self._placed: set[str] = set()
        self._client: RoutedClient | None = None
        self._ids: dict[bytes, str] = {}
        self._numbers: dict[tuple[str, int], str] = {}
        self._names: dict[str, str] = {}
        self.answers: list[Any] = []
        self.prefix = PREFIX
        """Topics and groups of other names are left out of the comparison."""

    def close(self) -> None:
        """Close its connections."""
        self.forget()
        self.admin.close()

    def reconnect(self) -> None:
        """Connect anew: brokers were lost or are back."""
        self.forget()
        self.admin.close()
        self.admin = RoutedClient(self.endpoint)

    def forget(self) -> None:
        """Start a new scenario, on a new connection."""
        self.answers = []
        self.prefix = PREFIX
        self._numbers = {}
        self._names = {}
        if self._client is not None:
            self._client.close()
            self._client = None

    # -- what scenarios use

    def ask(self, message: Message, version: int) -> Any:
        """Send a request; its answer counts in the comparison, and is returned as it came."""
        try:
            response = self._connected().request(message, version)
        except EOFError:
            self.answers.append(CLOSED)
            raise ConnectionClosedError from None
        self.answers.append(response)
        return response

    def ask_when_settled(self, message: Message, version: int) -> Any:
        """Like `ask`, but the answers that the last transaction is still being completed do not count."""
        deadline = time.monotonic() + _SETTLE_S
        while True:
            response = self.ask(message, version)
            if response.error_code not in _NOT_YET:
                return response
            self.answers.pop()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def tell(self, message: Message, version: int) -> None:
        """Send a request that has no answer."""
        self._connected().send(message, version)

    def _connected(self) -> RoutedClient:
        if self._client is None:
            self._client = RoutedClient(self.endpoint)
        return self._client

    def offers(self, api_key: ApiKey, version: int) -> bool:
        """Whether this world's ApiVersions has the version."""
        low, high = self.admin.versions().get(api_key, (0, -1))
        return low <= version <= high

    def has_topic(self, name: str) -> bool:
        """Whether there is such a topic."""
        return metadata_of(self.admin, name)[0].error_code == ErrorCode.NONE

    def has_config(self, kind: int, resource: str, name: str) -> bool:
        """Whether this world's broker knows such a config."""
        wanted = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=resource, configuration_keys=[name]
        )
        (result,) = self.admin.request(DescribeConfigsRequest(resources=[wanted]), 4).results
        return [one.name for one in result.configs] == [name]

    def topic(
        self,
        name: str,
        partitions: int = 1,
        records: Sequence[bytes] = (),
        configs: Mapping[str, str] | None = None,
    ) -> bytes:
        """Make a topic, unless an earlier scenario did, and return its ID. The records go to partition 0."""
        if self.brokers > 1:
            self._placed.add(name)
        if not self.has_topic(name):
            placed = assignments_of(name, partitions, self.brokers) if self.brokers > 1 else ()
            create_topic(self.admin, name, partitions, configs, placed)
            if records:
                produce(self.admin, name, records)
        return self.id_of(name)

    def id_of(self, name: str) -> bytes:
        """Return the ID of a topic, and recognise it in answers from now on."""
        topic_id = topic_id_of(self.admin, name)
        self._ids[topic_id] = name
        return topic_id

    def made_up(self, name: str, stands_for: str) -> None:
        """Say what a name stands for that Kafka made up for this scenario."""
        self._names[name] = stands_for

    # -- comparison

    def comparable(self) -> list[Any]:
        """Return the scenario's answers as plain values that should be equal in both worlds."""
        return [one if isinstance(one, str) else self._struct(one) for one in self.answers]

    def _struct(self, struct: Struct) -> dict[str, Any]:
        values = {
            field.name: self._value(field.name, field.type, getattr(struct, field.name))
            for field in struct.FIELDS
        }
        if IS_SINGLE_ADDRESS:
            _show_one_address(values)
        return self._without_places(values) if self.brokers > 1 else values

    def _without_places(self, values: dict[str, Any]) -> dict[str, Any]:
        """Leave out what Kafka draws where there are several brokers: a topic's places, unless the test chose them."""
        if "controller_id" in values:
            # Brokers name any of themselves as the controller (KRaft), another one each time.
            values["controller_id"] = "left out"
        name, partitions = values.get("name") or values.get("topic_id"), values.get("partitions")
        if isinstance(partitions, list) and "name" in values and name not in self._placed:
            for partition in (one for one in partitions if isinstance(one, dict)):
                partition.update(dict.fromkeys(PLACED & partition.keys(), "left out"))
        return values

    def _value(self, name: str, kind: FieldType, value: Any) -> Any:
        if isinstance(value, list):
            items = [self._value(name, kind, item) for item in value]
            # The order of such a list is that of a hash table, of names that differ.
            return sorted((item for item in items if _is_about(item, self.prefix)), key=repr)
        if isinstance(value, Struct):
            return self._struct(value)
        if kind is FieldType.UUID:
            return self._ids.get(value, value)
        if kind is FieldType.RECORDS:
            if value is None or is_old_format(value):
                return value and bytes(value)
            return [self._batch(batch) for batch in read_batches(bytes(value))]
        if kind is FieldType.BYTES:
            return None if value is None else bytes(value)
        if isinstance(value, str):
            if name == "cluster_id":
                return "CLUSTER" if value == self._cluster_id else value
            return self._names.get(value) or _MEMBER_ID.sub(r"\g<client>-MEMBER", value)
        if name == "port":
            return self._ports.get(value, value)
        if name in _MADE_UP_NUMBERS and value >= _MADE_UP_NUMBERS[name]:
            known = f"{name} number {len(self._numbers)}"
            return self._numbers.setdefault((name, value), known)
        return value

    def _batch(self, batch: Batch) -> dict[str, Any]:
        fields = vars(batch) | {"producer_id": self._value("producer_id", FieldType.INT64, batch.producer_id)}
        if batch.producer_id >= 0:
            # It covers the producer ID.
            del fields["crc"]
        if batch.is_control:
            # It was written when the transaction ended, by the clock.
            del fields["base_timestamp_ms"], fields["max_timestamp_ms"]
        return fields


def _show_one_address(values: dict[str, Any]) -> None:
    """Leave out what a single address does not have: the racks of its brokers."""
    if "rack" in values:
        values["rack"] = "left out"


def _is_about(item: Any, prefix: str) -> bool:
    """Whether an element of a list is not about another topic or group."""
    if not isinstance(item, dict):
        return True
    for name in ("topic", "topic_name", "group_id", "group", "resource_name", "transactional_id"):
        if isinstance(item.get(name), str) and item[name]:
            return bool(item[name].startswith(prefix))
    is_topic = isinstance(item.get("name"), str) and any("partition" in key for key in item)
    return not is_topic or not item["name"] or bool(item["name"].startswith(prefix))


def differences(direct: Any, tenant: Any, path: str = "") -> list[str]:
    """Return one line for each place where two answers differ."""
    if isinstance(direct, dict) and isinstance(tenant, dict) and direct.keys() == tenant.keys():
        return [line for key in direct for line in differences(direct[key], tenant[key], f"{path}.{key}")]
    if isinstance(direct, list) and isinstance(tenant, list) and len(direct) == len(tenant):
        pairs = enumerate(zip(direct, tenant, strict=True))
        return [line for place, pair in pairs for line in differences(*pair, f"{path}[{place}]")]
    return [] if direct == tenant else [f"{path}: direct {direct!r}, through the gateway {tenant!r}"]
