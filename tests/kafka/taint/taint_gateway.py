"""The gateway's own topics and names, of which no tenant may be told anything, and requests without a credential."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from taint_batches import unpacked_batches
from taint_search import Secret, address_secrets, id_secrets
from taint_side import Side

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.namespaces.alias_table import Access
from bifrost.tenancy.virtual_partitions.tagged_batches import CLAIM, TAG
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeClusterRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, records_of, topic_id_of
from support.clients.record_batches import read_batches
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import HOST
from support.moved_topics import WITHIN_S, MovedTopics
from support.physical_names import MARK

BEHIND = "127.0.0.2"
"""Where the gateway listens; it says that it is where the tap is."""
THIRD = "third"
"""The tenant with whom both share a topic; it has no client."""


@dataclass
class OwnTopics:
    """The topics of the gateway's state and journal."""

    state: str = field(default_factory=lambda: f"__state-{time.time_ns()}")
    journal: str = JOURNAL_TOPIC

    @property
    def sections(self) -> dict[str, Any]:
        """The sections of `proxy` by which the gateway has them."""
        return {"state": {"topic": self.state}, "journal": {"partitions": 1, "interval_ms": 500}}

    def await_ids(self, broker: Endpoint) -> dict[str, bytes]:
        """Return their IDs by name, once they are there."""
        ends = time.monotonic() + WITHIN_S
        with RoutedClient(broker) as client:
            while not all(metadata_of(client, one)[0].partitions for one in (self.state, self.journal)):
                assert time.monotonic() < ends
                time.sleep(0.1)
            return {one: topic_id_of(client, one) for one in (self.state, self.journal)}


def share_topics(shares: MovedTopics, sides: Iterable[Side]) -> None:
    """Let each tenant share a topic with the third, under a name that the other must never be told."""
    for side in sides:
        place = f"{THIRD}/{side.named('alias')}"
        shares.share(f"{side.name}/{side.own_topics[0]}", place, Access.READ_WRITE)


def records_told(broker: Endpoint, topic: str) -> bytes:
    """Return all records of a topic of the gateway's, as they are stored and unpacked."""
    with RoutedClient(broker) as client:
        (found,) = metadata_of(client, topic)
        parts = [part for one in found.partitions for part in _parts(client, topic, one.partition_index)]
    return b"".join((*parts, *(records for one in parts for _, records in unpacked_batches(one))))


def _parts(client: RoutedClient, topic: str, partition: int) -> Iterator[bytes]:
    """Yield the batches of a partition, a Fetch of them at a time; the last of each may be cut off."""
    offset = 0
    while part := records_of(client, topic, partition, offset):
        yield part
        offset = max(batch.base_offset + batch.last_offset_delta + 1 for batch in read_batches(part))


def upstream_secrets(kafka: EmbeddedKafka, gateway_topics: Mapping[str, bytes]) -> list[Secret]:
    """What no client may be told of the upstream.

    Args:
        kafka: the upstream.
        gateway_topics: the IDs of the gateway's own topics by name; attackers say the names.
    """
    fixed = [Secret("a physical prefix", MARK.encode()), Secret("the cluster ID", kafka.cluster_id.encode())]
    fixed += [Secret("where the gateway listens", BEHIND.encode())]
    fixed += [Secret("a mark of a virtual partition", one) for one in (TAG, CLAIM)]
    addresses = [address_secrets(HOST, kafka.broker_port(node_id)) for node_id in kafka.node_ids]
    ids = [id_secrets(f"ID of {name}", topic_id) for name, topic_id in gateway_topics.items()]
    return [*fixed, *chain.from_iterable(addresses + ids)]


def ask_unauthenticated(endpoint: Endpoint) -> None:
    """Ask without a credential, and with one that no tenant has."""
    with RawClient(endpoint, client_id="unknown") as client:
        client.versions()
        refused = client.try_to_authenticate("unknown", "no password")
        assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    for message, version in ((MetadataRequest(topics=None), 12), (DescribeClusterRequest(), 0)):
        with RawClient(endpoint, client_id="unknown") as client:
            client.send(message, version)
            assert client.receives_end()
