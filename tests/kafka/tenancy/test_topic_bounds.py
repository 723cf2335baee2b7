"""How many topics and partitions a tenant may have, by whatever request it makes more of them, on a real broker."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreatePartitionsRequest, CreateTopicsRequest, MetadataRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import delete_topic, metadata_of
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway, UniqueName
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import prefix_of

MAX_TOPICS, MAX_PARTITIONS = 4, 9
NONE, VIOLATION = ErrorCode.NONE, ErrorCode.POLICY_VIOLATION
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
WAIT_S = 20.0

pytestmark = pytest.mark.timeout(120)


class Bounded:
    """A tenant of its own, with bounds, and what the broker has of it."""

    def __init__(self, gateway: GatewayProcess, tenant: str, direct: RawClient) -> None:
        self.gateway, self.tenant, self._direct = gateway, tenant, direct
        self.endpoint = gateway.broker_endpoint(tenant)
        self.client = RawClient.authenticated(self.endpoint)

    def create(self, *names: str, partitions: int = 1, **more: Any) -> list[tuple[int, str | None]]:
        topics = [
            CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
            for name in names
        ]
        request = CreateTopicsRequest(topics=topics, timeout_ms=10_000, **more)
        answers = self.client.request(request, self.client.newest(ApiKey.CREATE_TOPICS)).topics
        by_name = {one.name: (one.error_code, one.error_message) for one in answers}
        return [by_name[name] for name in names]

    def grow(self, name: str, count: int, **more: Any) -> tuple[int, str | None]:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=10_000, **more)
        (answer,) = self.client.request(request, self.client.newest(ApiKey.CREATE_PARTITIONS)).results
        return answer.error_code, answer.error_message

    def ask(self, *names: str, version: int) -> dict[str, int]:
        """Ask for topics as a producer does, so that the broker creates them; return the errors."""
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        return {one.name: one.error_code for one in self.client.request(request, version).topics}

    def at_the_broker(self) -> dict[str, int]:
        """Return what the tenant really has, with the numbers of partitions."""
        prefix = prefix_of(self.tenant)
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        topics = self._direct.request(request, self._direct.newest(ApiKey.METADATA)).topics
        return {
            one.name.removeprefix(prefix): len(one.partitions)
            for one in topics
            if one.name.startswith(prefix)
        }

    def await_at_the_broker(self, expected: dict[str, int]) -> None:
        deadline = time.monotonic() + WAIT_S
        while (found := self.at_the_broker()) != expected:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)


@pytest.fixture
def bounded(start_gateway: StartGateway, unique: UniqueName, direct: RawClient) -> Bounded:
    tenant = unique("bounded")
    limits = {"max_topics": MAX_TOPICS, "max_partitions": MAX_PARTITIONS}
    spec = TenantSpec(tenant, limits=limits, allow_topic_deletion=True)
    return Bounded(start_gateway(tenants=[spec], has_admin=True), tenant, direct)


def topics_text(count: int) -> str:
    return (
        f"Another topic is not allowed: there are {count}, and this cluster allows {MAX_TOPICS} (max_topics)"
    )


def partitions_text(more: int, count: int) -> str:
    return (
        f"{more} more partitions are not allowed: there are {count} over all topics, "
        f"and this cluster allows {MAX_PARTITIONS} (max_partitions)"
    )


def test_topics_are_created_up_to_the_bound(bounded: Bounded) -> None:
    assert bounded.create("a", "b") == [(NONE, None)] * 2
    for validate_only in (True, False):
        outcome = bounded.create("c", "d", "e", validate_only=validate_only)
        assert outcome == [(NONE, None), (NONE, None), (VIOLATION, topics_text(4))]
    time.sleep(1.1)  # Now the broker's list is believed, not what was let through a moment ago.

    assert bounded.create("e") == [(VIOLATION, topics_text(4))]
    assert bounded.create("a")[0][0] == ErrorCode.TOPIC_ALREADY_EXISTS
    assert bounded.at_the_broker() == {"a": 1, "b": 1, "c": 1, "d": 1}
    labels = {"limit": "max_topics", "tenant": bounded.tenant}
    assert value(bounded.gateway, "kafka_proxy_limits_hit_total", **labels) == 3


def test_partitions_are_created_up_to_the_bound(bounded: Bounded) -> None:
    assert bounded.create("a", partitions=6) == [(NONE, None)]
    assert bounded.create("b", partitions=4) == [(VIOLATION, partitions_text(4, 6))]
    bounded.await_at_the_broker({"a": 6})

    assert bounded.grow("a", 10) == (VIOLATION, partitions_text(4, 6))
    assert bounded.grow("a", 9, validate_only=True) == (NONE, None)
    assert bounded.grow("a", 9) == (NONE, None)
    assert bounded.create("b") == [(VIOLATION, partitions_text(1, 9))]
    assert bounded.grow("absent", 3)[0] == UNKNOWN
    bounded.await_at_the_broker({"a": 9})


def test_what_is_deleted_makes_room_at_once(bounded: Bounded) -> None:
    for _ in range(5):
        assert bounded.create("a", "b", "c", "d") == [(NONE, None)] * 4
        assert bounded.create("e") == [(VIOLATION, topics_text(4))]
        for name in "abcd":
            delete_topic(bounded.client, name)


@pytest.mark.parametrize("version", [1, 3, 4, 9, 12])
def test_names_alone_create_no_more_than_the_bound(bounded: Bounded, version: int) -> None:
    assert bounded.create("a", "b") == [(NONE, None)] * 2

    errors = bounded.ask("a", "b", "c", "d", "e", "f", version=version)

    assert set(errors) == set("abcdef")
    assert errors["a"] == errors["b"] == NONE
    assert (errors["e"], errors["f"]) == (UNKNOWN, UNKNOWN)
    bounded.await_at_the_broker({"a": 1, "b": 1, "c": 1, "d": 1})
    for number in range(20):
        bounded.ask(f"more-{number}", version=version)
    time.sleep(1.1)
    bounded.ask("last", "a", version=version)
    assert bounded.at_the_broker() == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_many_at_once_create_no_more_than_the_bound(bounded: Bounded) -> None:
    def create(number: int) -> int:
        client = RawClient.authenticated(bounded.endpoint)
        topic = CreateTopicsRequest.CreatableTopic(name=f"t-{number}", num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        (answer,) = client.request(request, client.newest(ApiKey.CREATE_TOPICS)).topics
        client.close()
        return int(answer.error_code)

    with ThreadPoolExecutor(16) as threads:
        outcomes = list(threads.map(create, range(48)))

    assert sorted(set(outcomes)) == [NONE, VIOLATION]
    assert outcomes.count(NONE) == MAX_TOPICS
    assert len(bounded.at_the_broker()) == MAX_TOPICS


def test_a_producer_creates_its_topic_and_is_told_when_it_may_not(bounded: Bounded) -> None:
    producer = Producer(bounded.endpoint.for_confluent | {"message.timeout.ms": 3_000})
    delivered: list[tuple[str, KafkaError | None]] = []
    for number in range(MAX_TOPICS + 1):
        topic = f"auto-{number}"
        producer.produce(topic, b"v", on_delivery=lambda error, one: delivered.append((one.topic(), error)))
        producer.flush(30)

    errors = dict(delivered)

    assert [errors[f"auto-{number}"] for number in range(MAX_TOPICS)] == [None] * MAX_TOPICS
    refused = errors[f"auto-{MAX_TOPICS}"]
    assert refused is not None
    assert refused.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError._MSG_TIMED_OUT)
    assert set(bounded.at_the_broker()) == {f"auto-{number}" for number in range(MAX_TOPICS)}


def test_topics_that_exist_are_served_above_the_bound(bounded: Bounded, start_gateway: StartGateway) -> None:
    assert bounded.create("a", "b", "c") == [(NONE, None)] * 3
    spec = TenantSpec(bounded.tenant, limits={"max_topics": 1, "max_partitions": 1})
    other = RawClient.authenticated(start_gateway(tenants=[spec]).broker_endpoint(bounded.tenant))

    assert [one.error_code for one in metadata_of(other, "a", "b", "c")] == [NONE] * 3
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=name) for name in "abc"],
        allow_auto_topic_creation=True,
    )
    assert [one.error_code for one in other.request(request, 9).topics] == [NONE] * 3
