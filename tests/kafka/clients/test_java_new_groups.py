"""What only the newest Java clients do: patterns that the broker evaluates (KIP-848) and share groups (KIP-932)."""

from __future__ import annotations

import time

import pytest

from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.java.java_clients import JavaClients, JavaError

WAIT_S = 30.0

pytestmark = pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module")


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("pattern", [r"^sensor-[0-9]+$", r"(sensor-\d+|other)", r"sensor-[^x]"])
def test_brokers_pattern_matches_own_topics_only(
    pattern: str,
    java: JavaClients,
    globex: Endpoint,
    initech: Endpoint,
    fresh_topic: FreshTopic,
    unique: UniqueName,
) -> None:
    for endpoint in (globex, initech):
        producer = java.producer(endpoint)
        for topic in ("sensor-1", "sensor-2", "sensor-x"):
            fresh_topic(str(endpoint.username), topic)
            java("send", producer, topic, [f"{endpoint.username} {topic}"])
        java("close", producer)
    consumer = java.consumer(globex, unique("readers"), group_protocol="consumer")

    java("subscribe_to_brokers_pattern", consumer, pattern)
    records = java.poll_until(consumer, 2)
    assigned = java("assignment", consumer)
    java("close", consumer)

    assert sorted(str(value) for *_, value in records) == ["globex sensor-1", "globex sensor-2"]
    assert assigned == [["sensor-1", 0], ["sensor-2", 0]]


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
def test_brokers_pattern_that_is_none_is_refused(
    java: JavaClients, globex: Endpoint, unique: UniqueName
) -> None:
    consumer = java.consumer(globex, unique("readers"), group_protocol="consumer")

    java("subscribe_to_brokers_pattern", consumer, "sensor-(")

    with pytest.raises(JavaError, match="InvalidRegularExpression"):
        java.poll_until(consumer, 1)
    java("close", consumer)


@pytest.mark.needs_api(ApiKey.SHARE_GROUP_HEARTBEAT, 1)
def test_share_groups_of_two_tenants_read_their_own_records(
    java: JavaClients, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("shared")
    read: dict[str | None, list[object]] = {"acme": [], "globex": []}
    for endpoint in (acme, globex):
        fresh_topic(str(endpoint.username), "orders")
        producer, admin = java.producer(endpoint), java.admin(endpoint)
        java("send", producer, "orders", [f"{endpoint.username} {number}" for number in range(20)])
        java("read_groups_from_the_start", admin, group)
        java("close", producer, admin)
    consumers = {endpoint.username: java.share_consumer(endpoint, group) for endpoint in (acme, globex)}
    for consumer in consumers.values():
        java("subscribe", consumer, "orders")
    deadline = time.monotonic() + WAIT_S
    while any(len(values) < 20 for values in read.values()):
        assert time.monotonic() < deadline, read
        for name, consumer in consumers.items():
            read[name] += [value for *_, value in java("poll", consumer)]
    java("close", *consumers.values())

    assert read == {name: [f"{name} {number}" for number in range(20)] for name in ("acme", "globex")}
