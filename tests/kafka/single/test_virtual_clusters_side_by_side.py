"""Virtual clusters at ports that follow each other, before three brokers: each port stands for all of them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.gateways.virtual_clusters import VirtualClusters

PREFIXES = ("s1-", "s2-")
PARTITIONS, WAIT_S = 6, 40.0


def at_one_address(_prefix: str, spec: dict[str, Any]) -> None:
    del spec["listener"]["brokerIdBase"]
    spec["listener"]["singleAddress"] = True


def written_and_read(endpoint: Endpoint, topic: str) -> set[str]:
    """Write a record to each partition, whose leaders are all brokers, in a transaction; return what a group reads."""
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, PARTITIONS, 3)])[topic].result(WAIT_S)
    producer = Producer(endpoint.for_confluent | {"transactional.id": f"{topic}-tx"})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce(topic, f"{endpoint.port}, {partition}", partition=partition)
    producer.commit_transaction(WAIT_S)
    consumer = Consumer(
        endpoint.for_confluent | {"group.id": f"{topic}-group", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: set[str] = set()
    deadline = time.monotonic() + WAIT_S
    while len(found) < PARTITIONS:
        assert time.monotonic() < deadline, found
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.add(message.value().decode())
    consumer.close()
    return found


def test_each_port_stands_for_all_brokers(kafka_cluster: EmbeddedKafka, tmp_path: Path) -> None:
    with VirtualClusters(
        tmp_path, kafka_cluster.bootstrap, PREFIXES, side_by_side=True, change=at_one_address
    ) as gateway:
        one, two = (gateway.of(prefix) for prefix in PREFIXES)
        assert two.port == one.port + 1

        for endpoint in (one, two):
            written = {f"{endpoint.port}, {partition}" for partition in range(PARTITIONS)}
            assert written_and_read(endpoint, "orders") == written
            [broker] = AdminClient(endpoint.for_confluent).list_topics(timeout=WAIT_S).brokers.values()
            assert broker.port == endpoint.port


def test_without_it_the_log_and_check_say_what_to_set(kafka_cluster: EmbeddedKafka, tmp_path: Path) -> None:
    gateway = VirtualClusters(tmp_path, kafka_cluster.bootstrap, PREFIXES, side_by_side=True)
    gateway.provoked.add("broker_without_port")
    with gateway:
        told = gateway.await_event(0, event="broker_without_port")
        command = [sys.executable, "-m", "bifrost.cli.main", "check", "--connect", "--config"]
        checked = subprocess.run(
            [*command, str(gateway.folder)], capture_output=True, text=True, timeout=100, check=False
        )

    assert "(single_address, singleAddress)" in told["detail"]
    assert checked.returncode == 1
    assert "stands for one broker, and there are 3" in checked.stderr
    assert "singleAddress in a virtual cluster" in checked.stderr
