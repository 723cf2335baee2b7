"""One tenant's attacker: every API at every version, naming the other tenant's things. The answers are on the tap."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from taint_side import Side

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, SERVED, served_versions
from bifrost.wire.message import Message
from bifrost.wire.messages import InitProducerIdRequest
from bifrost.wire.schema import Field, FieldType, request_schema
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import create_topic, produce
from support.clients.routed_client import RoutedClient
from support.forgery.forged_requests import Loot, Own, forgeries
from support.forgery.probe import Prober
from support.forgery.victim import Victim, join_classic
from support.gateways.sample import sample

ATTACKER = "raw"
"""The client ID of a prober's connections."""
NOT_SENT = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
"""A second authentication would end the connection."""
EACH = 3
"""Requests of one API and version in one round; the next round takes others."""


@dataclass
class Sent:
    """What has been sent."""

    requests: int = 0
    rounds: int = 0
    versions: int = 0
    """Pairs of an API and a version in the first round."""


def make_own(side: Side, endpoint: Endpoint, partitions: int = 1) -> Own:
    """Make what the forged requests name beside the forged: the sender's own, topics of so many partitions."""
    with RoutedClient(endpoint, client_id=side.named("own")) as client:
        ids = {topic: create_topic(client, topic, partitions) for topic in ("orders", "billing")}
        for topic in ids:
            produce(client, topic, [b"the sender's own"])
        request = InitProducerIdRequest(transactional_id="own-transaction", transaction_timeout_ms=10_000)
        assert client.request(request, 4).error_code == ErrorCode.NONE
        joined = join_classic(client, "own-live", "orders", "own-instance")
    return Own("orders", ids["orders"], "billing", "own-live", joined.member_id)


def make_loot(
    victim: Victim,
    other: Side,
    *,
    cluster_id: str,
    internal_topic_id: bytes,
    gateway_topics: Mapping[str, bytes],
    paths: Sequence[str] = (),
) -> Loot:
    """Give an attacker what it names of the other and the gateway; the IDs also of a topic whose name it never says.

    Args:
        victim: whose things they are.
        other: the same tenant, or the same user's namespace, with its other topics.
        cluster_id: that of the physical cluster.
        internal_topic_id: that of __consumer_offsets.
        gateway_topics: the IDs of the gateway's own topics, by name.
        paths: what more stands in front of the victim's names, such as the path of its namespace.
    """
    loot = Loot(
        victim,
        cluster_id=cluster_id,
        internal_topic_id=internal_topic_id,
        hidden_topics=gateway_topics,
        paths=paths,
    )
    loot.topic_ids = (*other.topic_ids.values(), *loot.topic_ids)
    return loot


def attacked_names(loot: Loot) -> list[bytes]:
    """Every name that an attacker says, virtual and physical."""
    pairs = [*loot.topics, *loot.groups, *loot.transactions, *loot.instances]
    return [str(pair.foreign).encode() for pair in pairs]


def attacked_ids(loot: Loot) -> list[bytes]:
    """What an attacker says of which no answer to another request may speak."""
    texts = [str(pair.foreign).encode() for pair in (*loot.members, *loot.cluster_ids)]
    return [*loot.topic_ids, *texts]


def attack(
    endpoint: Endpoint,
    own: Own,
    loot: Loot,
    sent: Sent,
    least_rounds: int,
    stop: threading.Event,
    versions_of: Callable[[ApiKey], Sequence[int] | None] = served_versions,
) -> int:
    """Send every API at every version, or at some, in so many rounds at least, and go on until told to stop."""
    prober = Prober(endpoint)
    try:
        for number in itertools.count(sent.rounds):
            for api_key in sorted((set(SERVED) | REFUSED) - NOT_SENT):
                for version in versions_of(api_key) or ():
                    if stop.is_set() and sent.rounds >= least_rounds:
                        return 0
                    for message in _requests(api_key, version, own, loot, number):
                        prober.ask(message, version)
                        sent.requests += 1
                    sent.versions += not sent.rounds
            sent.rounds += 1
    finally:
        prober.close()
    return 0


def _requests(api_key: ApiKey, version: int, own: Own, loot: Loot, turn: int) -> Iterator[Message]:
    forged = list(forgeries(api_key, version, own, loot))
    if not forged:
        yield sample(request_schema(api_key).name, version, _neutral)
        return
    # The last is one that forges everything at once.
    start = turn * EACH
    for place in range(start, start + EACH):
        yield forged[place * 7 % len(forged)].foreign
    yield forged[-1 - turn % min(8, len(forged))].foreign


def _neutral(_entity: Entity, field: Field) -> object:
    return {FieldType.STRING: "text", FieldType.UUID: bytes(16)}.get(field.type, b"bytes")
