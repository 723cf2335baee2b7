"""A broker stops for a while without being lost: it holds only its own parts, and what waits for it is bounded."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateTopicsRequest, ProduceRequest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, create_topic
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.gateways.admin_port import value
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import physical_name

TOPIC = "stalled"
VERSION = 9
STALLED = 2
STALL_S = 3.0
"""Shorter than the 6 s after which a controller misses a broker (bifrost.embedded.properties)."""
LONG_STALL_S = 5.0
REQUEST_TIMEOUT_MS = 3_000
"""Of a client that gives up a request while the broker is stopped."""
IN_FLIGHT = 10
MIB = 1 << 20
LIMITS = {"max_in_flight_requests": IN_FLIGHT, "max_buffered_bytes": 4 * MIB}


@pytest.fixture(scope="module")
def gateway(
    kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """Start a gateway with small bounds, and a topic of which each broker leads one partition."""
    directory = tmp_path_factory.mktemp("stalled")
    with GatewayProcess(
        directory,
        kafka_cluster.bootstrap,
        brokers=3,
        is_single_address=True,
        has_admin=True,
        limits=LIMITS,
    ) as process:
        with RoutedClient(Endpoint(HOST, kafka_cluster.broker_port(1))) as direct:
            placed = CreateTopicsRequest.CreatableReplicaAssignment
            places = [placed(partition_index=one, broker_ids=[one + 1]) for one in range(3)]
            create_topic(direct, physical_name("initech", TOPIC), 3, assignments=places)
        with RawClient.authenticated(process.endpoint("initech")) as client:
            await_topic(client, TOPIC, 3)
            assert_stored(client.request(produce_to(0, 1, 2), VERSION), 0, 1, 2)
        yield process


def produce_to(*partitions: int, timeout_ms: int = 30_000, size: int = 10) -> ProduceRequest:
    """Return a Produce request with a batch for each of some partitions."""
    data = [
        ProduceRequest.PartitionProduceData(index=one, records=build_batch([bytes(size)]))
        for one in partitions
    ]
    topic = ProduceRequest.TopicProduceData(name=TOPIC, partition_data=data)
    return ProduceRequest(acks=1, timeout_ms=timeout_ms, topic_data=[topic])


def codes_of(response: object) -> dict[int, int]:
    (topic,) = response.responses  # type: ignore[attr-defined]
    return {one.index: one.error_code for one in topic.partition_responses}


def assert_stored(response: object, *partitions: int) -> None:
    assert codes_of(response) == dict.fromkeys(partitions, ErrorCode.NONE)


@contextmanager
def stalled(kafka: EmbeddedKafka) -> Iterator[None]:
    """Stop a broker's process, as a long pause of its JVM does."""
    assert len(kafka.pids) == len(kafka.node_ids)
    pid = kafka.pids[kafka.node_ids.index(STALLED)]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def hits(gateway: GatewayProcess, limit: str) -> float:
    return value(gateway, "kafka_proxy_limits_hit_total", limit=limit, tenant="initech")


def test_a_stalled_broker_holds_nothing_of_the_others(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    with (
        RawClient.authenticated(gateway.endpoint("initech")) as waiting,
        RawClient.authenticated(gateway.endpoint("initech")) as other,
        stalled(kafka_cluster),
    ):
        waiting.send(produce_to(0, 1, 2), VERSION)
        began = time.monotonic()
        for _ in range(20):
            assert_stored(other.request(produce_to(0, 2), VERSION), 0, 2)

        assert time.monotonic() - began < STALL_S


def test_its_parts_have_a_retriable_error_when_the_request_s_time_is_up(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    before = hits(gateway, "broker_answer")
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        with stalled(kafka_cluster):
            began = time.monotonic()
            codes = codes_of(client.request(produce_to(0, 1, 2, timeout_ms=2_000), VERSION))
            took = time.monotonic() - began
        # Afterwards the broker serves again, or its partition has a leader again if it was missed.
        await_topic(client, TOPIC, 3)

    assert codes == {0: ErrorCode.NONE, 1: ErrorCode.REQUEST_TIMED_OUT, 2: ErrorCode.NONE}
    assert 1.7 < took < 2.0, "a little less than the request's own timeout"
    assert hits(gateway, "broker_answer") == before + 1


def test_a_client_with_that_timeout_writes_to_the_other_brokers_once(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    """kafka-python sends its `request_timeout_ms` as the timeout, and then drops the connection, as Java does."""
    endpoint, name = gateway.endpoint("initech"), "written-once"
    with RoutedClient(Endpoint(HOST, kafka_cluster.broker_port(1))) as direct:
        placed = CreateTopicsRequest.CreatableReplicaAssignment
        places = [placed(partition_index=one, broker_ids=[one + 1]) for one in range(3)]
        create_topic(direct, physical_name("initech", name), 3, assignments=places)
    options = {"acks": 1, "enable_idempotence": False, "retries": 100, "linger_ms": 50}
    patience = {"request_timeout_ms": REQUEST_TIMEOUT_MS, "delivery_timeout_ms": 60_000}
    with closing(KafkaProducer(**endpoint.for_python, **options, **patience)) as producer:
        for one in range(3):
            producer.send(name, b"first", partition=one).get(30)

        def write(number: int) -> list[Any]:
            return [producer.send(name, b"%d" % number, partition=one) for one in range(3)]

        with stalled(kafka_cluster):
            began = time.monotonic()
            sent = [write(0)]
            for partition in (0, 2):
                sent[0][partition].get(REQUEST_TIMEOUT_MS / 1000)
            assert not sent[0][1].is_done
            while time.monotonic() < began + LONG_STALL_S:
                time.sleep(0.2)
                sent.append(write(len(sent)))
        for one in sent:
            for future in one:
                future.get(60)
    wanted = [b"first", *(b"%d" % number for number in range(len(sent)))]
    for partition in range(3):
        values = read_all(endpoint, name, partition)
        if partition != STALLED - 1:
            assert sorted(values) == sorted(wanted), "nothing was written twice"
        assert set(values) == set(wanted)


def read_all(endpoint: Endpoint, topic: str, partition: int) -> list[bytes]:
    """Return the values of a partition's records."""
    options = {"consumer_timeout_ms": 2_000, "auto_offset_reset": "earliest"}
    with closing(KafkaConsumer(**endpoint.for_python, **options)) as consumer:
        consumer.assign([TopicPartition(topic, partition)])
        return [one.value for one in consumer]


def test_requests_that_wait_for_it_are_bounded_in_number_and_keep_their_order(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    count = 3 * IN_FLIGHT
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        with stalled(kafka_cluster):
            sent = [client.send(produce_to(1), VERSION) for _ in range(count)]
            time.sleep(STALL_S / 2)
            assert value(gateway, "kafka_proxy_in_flight_requests", tenant="initech") == IN_FLIGHT
        answers = [client.receive(0, VERSION, one) for one in sent]

    offsets = [one.responses[0].partition_responses[0].base_offset for one in answers]
    for one in answers:
        assert_stored(one, 1)
    assert offsets == list(range(offsets[0], offsets[0] + count))


def test_requests_that_wait_for_it_are_bounded_in_bytes(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    before, count = hits(gateway, "max_buffered_bytes"), IN_FLIGHT - 1
    sent: list[int] = []
    large = produce_to(1, size=900_000)  # Made before, which takes a while.
    with RawClient.authenticated(gateway.endpoint("initech")) as client:

        def send() -> None:
            for _ in range(count):
                sent.append(client.send(large, VERSION))

        sender = threading.Thread(target=send, daemon=True)
        with stalled(kafka_cluster):
            sender.start()
            ends = time.monotonic() + STALL_S
            while hits(gateway, "max_buffered_bytes") <= before:
                assert time.monotonic() < ends
                time.sleep(0.05)
        sender.join(30.0)
        answers = [client.receive(0, VERSION, one) for one in sent]

    assert len(answers) == count
    for one in answers:
        assert_stored(one, 1)
