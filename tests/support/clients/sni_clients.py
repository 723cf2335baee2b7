"""A program in which one client library produces to a topic and consumes from it, by whatever names it is told.

It is a process of its own because names that only the test knows are resolved in a mount namespace (`hosts_file.py`).
Arguments: the library, and host, port, user, password and CA file; it prints JSON: what was consumed, and the addresses
of the brokers that the library learnt of.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from bifrost.embedded.kafka import DEFAULT_VERSION
from kafka import KafkaConsumer, KafkaProducer
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_process import HOST
from support.gateways.hosts_file import with_hosts
from support.java.java_clients import JavaClients

TOPIC = "orders"
VALUES = [f"record {number}" for number in range(20)]
WAIT_S = 20.0
TIMEOUT_S = 90
TESTS = Path(__file__).parents[2]
MECHANISM = "SCRAM-SHA-256"


def confluent_kafka(endpoint: TlsEndpoint) -> tuple[list[str], list[str]]:
    """Play librdkafka."""
    producer = Producer(endpoint.for_confluent)
    for value in VALUES:
        producer.produce(TOPIC, value)
    assert producer.flush(WAIT_S) == 0
    metadata = producer.list_topics(timeout=WAIT_S)
    consumer = Consumer(endpoint.for_confluent | {"group.id": "sni", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    values = []
    while len(values) < len(VALUES):
        message = consumer.poll(WAIT_S)
        assert message is not None, f"nothing after {values}"
        values.append(message.value().decode())
    consumer.close()
    return values, [f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()]


def kafka_python(endpoint: TlsEndpoint) -> tuple[list[str], list[str]]:
    """Play kafka-python."""
    producer = KafkaProducer(**endpoint.for_python)
    for value in VALUES:
        producer.send(TOPIC, value.encode()).get(timeout=WAIT_S)
    producer.close()
    settings = endpoint.for_python | {"auto_offset_reset": "earliest", "consumer_timeout_ms": WAIT_S * 1000}
    consumer = KafkaConsumer(TOPIC, **settings)
    values = [next(consumer).value.decode() for _ in VALUES]
    brokers = [f"{broker.host}:{broker.port}" for broker in consumer._client.cluster.brokers()]
    consumer.close()
    return values, brokers


def java(endpoint: TlsEndpoint) -> tuple[list[str], list[str]]:
    """Play Kafka's own clients."""
    with JavaClients(DEFAULT_VERSION) as clients:
        producer = clients.producer(endpoint)
        clients("send", producer, TOPIC, VALUES)
        consumer = clients.consumer(endpoint, "sni")
        clients("subscribe", consumer, TOPIC)
        records = clients.poll_until(consumer, len(VALUES))
        admin = clients.admin(endpoint)
        _, nodes = clients("describe_cluster", admin)
        clients("close", producer, consumer, admin)
        return [value for *_, value in records], [f"{host}:{port}" for _, host, port in nodes]


LIBRARIES = {one.__name__: one for one in (confluent_kafka, kafka_python, java)}


def play(library: str, endpoint: TlsEndpoint, hosts: Path, names: Sequence[str]) -> dict[str, Any]:
    """Play one library in a process of its own, and return what it saw: `values` and `brokers`.

    Args:
        library: one of LIBRARIES.
        endpoint: where it begins, as a user with a password.
        hosts: is written: the file that it has for /etc/hosts.
        names: what it resolves to this machine.
    """
    hosts.write_text(f"{HOST} localhost {' '.join(names)}\n", encoding="utf-8")
    where = (
        endpoint.host,
        str(endpoint.port),
        str(endpoint.username),
        endpoint.password,
        str(endpoint.ca_file),
    )
    command = [sys.executable, "-W", "ignore", "-m", "support.clients.sni_clients", library, *where]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), *sys.path))}
    done = subprocess.run(
        with_hosts(hosts, command),
        capture_output=True,
        text=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    saw: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return saw


def main(library: str, host: str, port: str, username: str, password: str, ca_file: str) -> None:
    """Play one library and print what it saw."""
    endpoint = TlsEndpoint(host, int(port), username, password, MECHANISM, ca_file=Path(ca_file))
    values, brokers = LIBRARIES[library](endpoint)
    printed: dict[str, Any] = {"values": values, "brokers": brokers}
    sys.stdout.write(json.dumps(printed) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
