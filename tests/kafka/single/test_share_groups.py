"""Members of share groups (KIP-932) at a single address before three brokers, as Kafka's own Java client has them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from support.brokers.broker_loss import BrokerLoss
from support.brokers.moved_leaders import move_leaders
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.java.sharers import poll_until, read_again, read_from_the_start, sharers
from support.physical_names import physical_name

PARTITIONS = 6
RECORDS = 25
"""Of each partition."""
WAIT_S = 60.0

pytestmark = [
    pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module"),
    pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1),
    pytest.mark.timeout(300),
]


@pytest.fixture
def topic(java: JavaClients, endpoint: Endpoint, unique: UniqueName) -> str:
    """A topic with records in each partition, whose leaders are three brokers."""
    name = unique("shared")
    with RawClient.authenticated(endpoint) as client:
        create_topic(client, name, PARTITIONS)
    write(java, endpoint, name, "first")
    return name


@pytest.fixture
def group(java: JavaClients, endpoint: Endpoint, unique: UniqueName) -> str:
    return read_from_the_start(java, endpoint, unique("sharers"))


def values(kind: str) -> list[str]:
    return [f"{kind} {partition} {number}" for partition in range(PARTITIONS) for number in range(RECORDS)]


def write(java: JavaClients, endpoint: Endpoint, topic: str, kind: str) -> None:
    producer = java.producer(endpoint)
    for partition in range(PARTITIONS):
        own = [f"{kind} {partition} {number}" for number in range(RECORDS)]
        java("send", producer, topic, own, partition)
    java("close", producer)


@pytest.mark.parametrize("count", [1, 2])
def test_everything_is_read_and_acknowledged_once(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str, count: int
) -> None:
    read: Counter[str] = Counter()
    members = sharers(java, endpoint, topic, group, count)

    def poll() -> None:
        for one in members:
            read.update(value for *_, value in java("poll", one))

    poll_until(lambda: len(read) == PARTITIONS * RECORDS, poll)
    write(java, endpoint, topic, "second")
    poll_until(lambda: len(read) == 2 * PARTITIONS * RECORDS, poll)
    poll()  # It acknowledges what the last one has brought.
    java("close", *members)
    again = read_again(java, endpoint, topic, group)

    assert read == Counter(values("first") + values("second"))
    assert again == [], "what was acknowledged is delivered again"


def test_what_is_released_comes_again_and_what_is_rejected_does_not(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str
) -> None:
    released, rejected = values("first")[::10], values("first")[1::10]
    answers = dict.fromkeys(released, "RELEASE") | dict.fromkeys(rejected, "REJECT")
    (member,) = sharers(java, endpoint, topic, group, 1, share_acknowledgement_mode="explicit")
    found: list[list[Any]] = []

    poll_until(
        lambda: len(found) >= PARTITIONS * RECORDS + len(released),
        lambda: found.extend(java("poll_shared", member, answers)),
    )
    more = java("poll_shared", member, {}, 1000)
    java("close", member)

    assert [one for one in found if one[4] is not None] == []
    assert more == []
    deliveries = Counter(value for _, _, value, _, _ in found)
    assert deliveries == Counter(values("first") + released)
    assert sorted(value for _, _, value, count, _ in found if count == 2) == sorted(released)


@pytest.mark.needs_api(ApiKey.SHARE_FETCH, 2)
def test_no_more_records_come_than_were_asked_for(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str
) -> None:
    options = {"share_acquire_mode": "record_limit", "max_poll_records": "4"}
    (member,) = sharers(java, endpoint, topic, group, 1, share_acknowledgement_mode="explicit", **options)
    batches: list[list[list[Any]]] = []

    poll_until(
        lambda: sum(map(len, batches)) >= PARTITIONS * RECORDS,
        lambda: batches.append(java("poll_shared", member, {})),
    )
    java("close", member)

    assert max(map(len, batches)) == 4
    found = [one for batch in batches for one in batch]
    assert [one for one in found if one[4] is not None] == []
    assert Counter(value for _, _, value, _, _ in found) == Counter(values("first"))


def test_partitions_are_read_from_their_new_leaders(
    java: JavaClients, kafka_cluster: EmbeddedKafka, endpoint: Endpoint, topic: str, group: str
) -> None:
    accepted: Counter[str] = Counter()
    members = sharers(java, endpoint, topic, group, 2, share_acknowledgement_mode="explicit")

    def poll() -> None:
        for one in members:
            found = java("poll_shared", one, {})
            accepted.update(value for _, _, value, _, thrown in found if thrown is None)

    poll_until(lambda: len(accepted) == PARTITIONS * RECORDS, poll)
    for kind in ("second", "third"):
        before = len(accepted)
        move_leaders(kafka_cluster, physical_name("initech", topic))
        write(java, endpoint, topic, kind)
        poll_until(lambda wanted=before + PARTITIONS * RECORDS: len(accepted) == wanted, poll)
    java("close", *members)

    assert accepted == Counter(values("first") + values("second") + values("third"))


def test_what_was_acknowledged_does_not_come_again_when_a_broker_is_lost(
    java: JavaClients, kafka_cluster: EmbeddedKafka, endpoint: Endpoint, topic: str, group: str
) -> None:
    accepted: Counter[str] = Counter()
    members = sharers(java, endpoint, topic, group, 2, share_acknowledgement_mode="explicit")
    loss = BrokerLoss(kafka_cluster, elects_first=False)

    def poll() -> None:
        for one in members:
            found = java("poll_shared", one, {})
            accepted.update(value for _, _, value, _, thrown in found if thrown is None)

    poll_until(lambda: len(accepted) == PARTITIONS * RECORDS, poll)
    with loss.without(2):
        write(java, endpoint, topic, "second")
        poll_until(lambda: len(accepted) == 2 * PARTITIONS * RECORDS, poll)
    write(java, endpoint, topic, "third")
    poll_until(lambda: len(accepted) == 3 * PARTITIONS * RECORDS, poll)
    java("close", *members)

    assert accepted == Counter(values("first") + values("second") + values("third"))
