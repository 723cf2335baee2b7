"""Virtual partitions while a gateway and a broker are killed under load: acknowledged records are there once, in order.

The clients are librdkafka, with and without idempotence, Kafka's own of two versions, kafka-python and aiokafka. A
producer without idempotence writes a record again when a broker's answer is lost; its records are all there.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients.steady_load import (
    AioLoad,
    ConfluentLoad,
    JavaLoad,
    PlainLoad,
    PythonLoad,
    SteadyLoad,
    await_growth,
)
from support.gateways.gateway_process import INITECH, GatewayProcess
from support.java.java_clients import JavaClients, lacks_sasl
from support.virtual_topics import stored

WAIT_S = 120.0
"""A broker is missed after 6 s, and a busy machine takes its time."""
RULES = [
    {"topics": ["load-java-*", "load-confluent", "load-plain"], "virtual": 12, "physical": 4},
    {"topics": ["load-*"], "virtual": 7, "physical": 3},
]
KILLED_BROKERS = 1


class JavaEverywhere(JavaLoad):
    """Kafka's own clients, writing to one partition after the other."""

    def load(self) -> None:
        with JavaClients(self.version) as java:
            producer = java.producer(self.endpoint, enable_idempotence="true", acks="all")
            options = {"enable_auto_commit": "true", "auto_commit_interval_ms": "500"}
            consumer = java.consumer(self.endpoint, self.group, **options)
            java("subscribe", consumer, self.topic)
            for writes in self.rounds():
                if writes:
                    values = self.next_values()
                    partition = self._numbers // len(values) % size_of(self.topic)
                    assert len(java("send", producer, self.topic, values, partition)) == len(values)
                    self.acknowledged += values
                self.read.update(record[3] for record in java("poll", consumer, 20))
            java("commit", consumer)
            java("close", producer, consumer)


def size_of(topic: str) -> int:
    return 12 if "java" in topic or topic in ("load-confluent", "load-plain") else 7


def with_virtual_partitions(config: dict[str, Any]) -> None:
    config["tenants"][0]["virtual_partitions"] = RULES


def gateway(directory: Path, kafka: EmbeddedKafka) -> GatewayProcess:
    directory.mkdir()
    options: dict[str, Any] = {"tenants": [INITECH], "adjust": with_virtual_partitions}
    return GatewayProcess(directory, kafka.bootstrap, brokers=3, **options)


def all_loads(endpoint: Endpoint) -> list[SteadyLoad]:
    versions = [version for version in ("2.8.2", "4.3.1") if not lacks_sasl(version)]
    others = (ConfluentLoad, PlainLoad, PythonLoad, AioLoad)
    return [*(JavaEverywhere(endpoint, one) for one in versions), *(load(endpoint) for load in others)]


def make_topics(endpoint: Endpoint, loads: list[SteadyLoad]) -> None:
    admin = AdminClient(endpoint.for_confluent)
    config = {"min.insync.replicas": "2"}
    topics = [NewTopic(one.topic, size_of(one.topic), 3, config=config) for one in loads]
    for made in admin.create_topics(topics).values():
        made.result(WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while not {one.topic for one in loads} <= set(admin.list_topics(timeout=WAIT_S).topics):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def numbers_of(values: list[str]) -> list[int]:
    return [int(value.rpartition(" ")[2]) for value in values]


@pytest.mark.timeout(600)
def test_acknowledged_records_are_there_once_whatever_is_killed(
    kafka_cluster: EmbeddedKafka, tmp_path: Path
) -> None:
    running = gateway(tmp_path / "gateway-0", kafka_cluster)
    running.start()
    loads = all_loads(running.endpoint("initech"))
    make_topics(running.endpoint("initech"), loads)
    loss = BrokerLoss(kafka_cluster, elects_first=False)
    for load in loads:
        load.start()
    try:
        await_growth(loads, by=100, timeout_s=WAIT_S)
        running.kill()
        successor = gateway(tmp_path / "gateway-1", kafka_cluster)
        successor.start_second(running)
        running = successor
        await_growth(loads, by=100, timeout_s=WAIT_S)
        for node_id in kafka_cluster.node_ids[:KILLED_BROKERS]:
            with loss.without(node_id):
                await_growth(loads, by=100, timeout_s=WAIT_S)
            await_growth(loads, by=100, timeout_s=WAIT_S)
        for load in loads:
            load.stop()
        for load in loads:
            load.join(WAIT_S)
            assert load.failure is None, f"{load.name} gave up: {load.failure!r}"
            assert not load.is_alive()
        for load in loads:
            check(running.endpoint("initech"), load)
    finally:
        for load in loads:
            load.stop()
        running.kill()


def check(endpoint: Endpoint, load: SteadyLoad) -> None:
    by_partition = stored(endpoint, load.topic, size_of(load.topic))
    counts = Counter(value for values in by_partition.values() for value in values)
    assert set(load.acknowledged) <= counts.keys(), load.name
    assert load.read <= counts.keys(), load.name
    assert len(by_partition) > 1, load.name
    if isinstance(load, PlainLoad):
        return
    assert set(counts.values()) == {1}, load.name
    for values in by_partition.values():
        assert numbers_of(values) == sorted(numbers_of(values)), load.name
