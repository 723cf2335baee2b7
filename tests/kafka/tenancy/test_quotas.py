"""Quotas that the operator gives: clients are held at the rate and told to wait, and no other tenant waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, DeleteTopicsRequest, HeartbeatRequest
from support.clients.endpoint import Endpoint
from support.clients.pinging import pinging
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.clients.record_batches import build_batch
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import FreshTopic, StartGateway, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.gateways.reloadable_gateway import Reloadable
from support.java.java_clients import JavaClients

RATE = 300_000
"""Bytes a second: far below what a busy machine can do."""
WARM_UP_S, WINDOW_S = 3.0, 10.0
WITHIN = 0.05
RECORD = b"x" * 10_000
TOPIC = "events"


def with_quotas(**of_tenants: Any) -> Callable[[dict[str, Any]], None]:
    def adjust(configuration: dict[str, Any]) -> None:
        for tenant in configuration["tenants"]:
            tenant["quotas"] = of_tenants.get(tenant["name"], {})

    return adjust


def throttled_s(gateway: GatewayProcess, tenant: str, quota: str) -> float:
    return value(gateway, "kafka_proxy_quota_throttle_seconds_total", tenant=tenant, quota=quota)


def rate_over(done: list[tuple[float, int]]) -> float:
    """Return the bytes per second of what was done at these times, after the time to warm up."""
    began_s = done[0][0] + WARM_UP_S
    first = next(number for number, (at_s, _) in enumerate(done) if at_s >= began_s)
    last = next(number for number, (at_s, _) in enumerate(done) if at_s >= done[first][0] + WINDOW_S)
    return sum(size for _, size in done[first + 1 : last + 1]) / (done[last][0] - done[first][0])


def produced(endpoint: Endpoint, told_s: list[float]) -> list[tuple[float, int]]:
    """Produce as fast as the gateway lets librdkafka; return when how many bytes were acknowledged."""
    done: list[tuple[float, int]] = []

    def delivered(error: object, message: Any) -> None:
        assert error is None, error
        done.append((time.monotonic(), len(message.value())))

    producer = confluent_kafka.Producer(
        endpoint.for_confluent
        | {
            "batch.size": 50_000,
            "linger.ms": 5,
            "queue.buffering.max.messages": 50,
            "throttle_cb": lambda event: told_s.append(event.throttle_time),
        }
    )
    until = time.monotonic() + WARM_UP_S + WINDOW_S + 2
    while time.monotonic() < until:
        try:
            producer.produce(TOPIC, RECORD, on_delivery=delivered)
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
    assert producer.flush(30) == 0
    return done


def consumed(endpoint: Endpoint, told_s: list[float]) -> list[tuple[float, int]]:
    """Consume likewise."""
    consumer = confluent_kafka.Consumer(
        endpoint.for_confluent
        | {
            "group.id": "limited",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 60_000,
            "queued.max.messages.kbytes": 64,
            "throttle_cb": lambda event: told_s.append(event.throttle_time),
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    done: list[tuple[float, int]] = []
    until = time.monotonic() + WARM_UP_S + WINDOW_S + 5
    while time.monotonic() < until:
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            done.append((time.monotonic(), len(message.value())))
    consumer.close()
    return done


def test_a_producer_is_held_at_its_rate_and_no_other_tenant_waits(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", TOPIC)
    gateway = start_gateway(has_admin=True, adjust=with_quotas(acme={"producer_byte_rate": RATE}))
    told_s: list[float] = []

    with pinging(gateway, "globex") as taken:
        done = produced(gateway.endpoint("acme"), told_s)

    assert rate_over(done) == pytest.approx(RATE, rel=WITHIN)
    assert max(told_s) > 0, "the client was told"
    assert throttled_s(gateway, "acme", "producer_byte_rate") > 1
    assert len(taken) > 200, "the other tenant went on"
    assert throttled_s(gateway, "globex", "producer_byte_rate") == 0


def test_a_producer_of_refused_records_is_held_at_its_rate_as_well(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", TOPIC)

    def adjust(configuration: dict[str, Any]) -> None:
        with_quotas(acme={"producer_byte_rate": RATE})(configuration)
        for tenant in configuration["tenants"]:
            tenant["filters"] = [{"name": "ProducePolicy", "config": {"required_headers": ["not-there"]}}]

    gateway = start_gateway(has_admin=True, adjust=adjust)
    request = produce_request(TOPIC, build_batch([RECORD * 20]))
    told_ms: list[int] = []
    began_s = time.monotonic()
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        for _ in range(5):
            answer = client.request(request, PRODUCE_BY_NAME)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_RECORD
            told_ms.append(answer.throttle_time_ms)
    took_s = time.monotonic() - began_s

    # Each of the 200 KB takes 0.67 s, but for the first and what the budget holds, 0.25 s.
    assert took_s > 4 * len(RECORD * 20) / RATE - 0.4
    assert 300 < max(told_ms) < 1_000
    assert throttled_s(gateway, "acme", "producer_byte_rate") > 1
    assert throttled_s(gateway, "globex", "producer_byte_rate") == 0


def test_a_consumer_is_held_at_its_rate(start_gateway: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", TOPIC)
    gateway = start_gateway(has_admin=True, adjust=with_quotas(acme={"consumer_byte_rate": RATE}))
    endpoint, told_s = gateway.endpoint("acme"), []
    producer = confluent_kafka.Producer(endpoint.for_confluent)
    for _ in range(int(RATE * (WARM_UP_S + WINDOW_S + 10) / len(RECORD))):
        producer.produce(TOPIC, RECORD)
        producer.poll(0)
    assert producer.flush(30) == 0

    done = consumed(endpoint, told_s)

    assert rate_over(done) == pytest.approx(RATE, rel=WITHIN)
    assert max(told_s) > 0
    assert throttled_s(gateway, "acme", "consumer_byte_rate") > 1


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module")
def test_a_java_producer_is_held_at_the_rate_of_each_user(
    java: JavaClients, start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", TOPIC)
    quotas = {"producer_byte_rate": 10 * RATE, "each_user": {"producer_byte_rate": RATE}}
    gateway = start_gateway(has_admin=True, adjust=with_quotas(acme=quotas))
    producer = java.producer(gateway.endpoint("acme"), batch_size="50000", max_request_size="60000")
    values = ["x" * 10_000] * 120
    java("send", producer, TOPIC, values, 0)

    began = time.monotonic()
    for _ in range(3):
        java("send", producer, TOPIC, values, 0)
    took_s = time.monotonic() - began

    assert 3 * 120 * 10_000 / took_s == pytest.approx(RATE, rel=WITHIN)
    assert java("metric", producer, "produce-throttle-time-max") > 0
    java("close", producer)


def test_requests_and_their_time_have_quotas(start_gateway: StartGateway) -> None:
    gateway = start_gateway(
        has_admin=True,
        adjust=with_quotas(
            acme={"each_client_id": {"request_rate": 20}}, globex={"request_percentage": 0.01}
        ),
    )
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

    def seconds(tenant: str, client_id: str, count: int) -> float:
        with RawClient.authenticated(gateway.broker_endpoint(tenant), client_id=client_id) as client:
            began = time.monotonic()
            for _ in range(count):
                client.request(heartbeat, 4)
            return time.monotonic() - began

    assert seconds("acme", "one", 25) > 0.7
    assert seconds("acme", "other", 4) < 0.7, "each client ID has its own"
    assert seconds("globex", "one", 30) > 0.5
    assert throttled_s(gateway, "acme", "request_rate") > 0
    assert throttled_s(gateway, "globex", "request_percentage") > 0


def test_connections_of_a_namespace_are_served_at_a_rate(start_gateway: StartGateway) -> None:
    gateway = start_gateway(has_admin=True, adjust=with_quotas(acme={"connection_creation_rate": 2}))
    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")

    began = time.monotonic()
    for _ in range(6):
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
            client.request(heartbeat, 4)

    # Two at once, as a burst, and one that makes the first debt.
    assert time.monotonic() - began > 1.0
    labels = {"limit": "connection_creation_rate", "tenant": "acme"}
    assert value(gateway, "kafka_proxy_limits_hit_total", **labels) > 0


def test_a_reload_changes_quotas_of_open_connections(
    kafka: EmbeddedKafka, tmp_path: Path, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", TOPIC)

    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["watch_files_ms"] = 0  # It reads the file only when told to.

    with (
        Reloadable(tmp_path, kafka.bootstrap, has_admin=True, adjust=adjust) as gateway,
        RawClient.authenticated(gateway.broker_endpoint("acme")) as client,
    ):

        def throttle_ms() -> int:
            response = client.request(produce_request(TOPIC, build_batch([b"x" * 50_000])), PRODUCE_BY_NAME)
            assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE, response
            return int(response.throttle_time_ms)

        assert [throttle_ms() for _ in range(3)] == [0, 0, 0]
        gateway.apply(with_quotas(acme={"producer_byte_rate": 50_000}))
        assert throttle_ms() > 500
        gateway.apply(with_quotas())
        throttle_ms()  # It waits for what it owed before.
        assert throttle_ms() == 0


def test_partitions_are_created_and_deleted_at_a_rate(
    start_gateway: StartGateway, unique: UniqueName
) -> None:
    gateway = start_gateway(has_admin=True, adjust=with_quotas(initech={"controller_mutation_rate": 1}))
    first, second = unique("first"), unique("second")

    def create(client: RawClient, name: str, partitions: int) -> tuple[int, int]:
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        response = client.request(request, client.at_most(ApiKey.CREATE_TOPICS, 7))
        return response.topics[0].error_code, response.throttle_time_ms

    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        error_code, throttle_ms = create(client, first, 13)
        assert error_code == ErrorCode.NONE
        assert 0 < throttle_ms <= 3000
        error_code, throttle_ms = create(client, second, 1)
        assert error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        time.sleep(throttle_ms / 1000 + 0.1)
        assert create(client, second, 1)[0] == ErrorCode.NONE
        topics = [DeleteTopicsRequest.DeleteTopicState(name=one) for one in (first, second)]
        deleted = client.request(DeleteTopicsRequest(topics=topics, timeout_ms=30_000), 6)

    assert [one.error_code for one in deleted.responses if one.name == second] == [
        ErrorCode.THROTTLING_QUOTA_EXCEEDED
    ]
    assert throttled_s(gateway, "initech", "controller_mutation_rate") > 0
