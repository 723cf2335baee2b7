"""A gateway that is started with a partition remapper's own file: 100 virtual partitions on 10."""

from __future__ import annotations

import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import physical_name
from support.virtual_topics import WAIT_S

SAMPLE = """\
listen:
  address: "0.0.0.0:9092"
  max_connections: 1000

kafka:
  bootstrap_servers:
    - "your-kafka:9092"
  connection_timeout_ms: 10000
  request_timeout_ms: 30000

mapping:
  virtual_partitions: 100
  physical_partitions: 10
  offset_range: 1099511627776

metrics:
  enabled: true
  address: "0.0.0.0:9090"

logging:
  level: info
  json: false
"""
VIRTUAL, PHYSICAL, EACH = 100, 10, 20


class Remapping(GatewayProcess):
    """A gateway with the sample; only its ports and the addresses of the brokers are others."""

    def _write_configuration(self) -> None:
        servers = ", ".join(f'"{one}"' for one in self._upstream)
        text = SAMPLE.replace(':9092"\n  max', f':{self.bootstrap_port}"\n  max')
        text = text.replace('\n    - "your-kafka:9092"', f" [{servers}]").replace(
            "9090", str(self.admin_port)
        )
        (self.directory / "proxy.yaml").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def remapping(kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remapping]:
    directory = tmp_path_factory.mktemp("remapping")
    with Remapping(directory, kafka_cluster.bootstrap, tenants=(), brokers=3) as process:
        yield process


@pytest.fixture
def client(remapping: Remapping) -> dict[str, Any]:
    return {"bootstrap.servers": f"{HOST}:{remapping.bootstrap_port}"}


def test_a_group_reads_each_record_of_a_hundred_virtual_partitions_once(
    remapping: Remapping, client: dict[str, Any], kafka_cluster: EmbeddedKafka, unique: UniqueName
) -> None:
    topic, group = unique("orders"), unique("group")
    admin = AdminClient(client)
    admin.create_topics([NewTopic(topic, VIRTUAL, 3)])[topic].result(WAIT_S)

    write(client, topic)

    direct = AdminClient({"bootstrap.servers": kafka_cluster.bootstrap})
    name = physical_name("remapper", topic)
    physical = direct.list_topics(name, WAIT_S).topics[name]
    shown = admin.list_topics(topic, WAIT_S)
    assert (len(physical.partitions), len(shown.topics[topic].partitions)) == (PHYSICAL, VIRTUAL)
    assert [(one.host, one.port) for one in shown.brokers.values()] == [
        ("localhost", remapping.bootstrap_port)
    ]
    expected = {one: [f"{one}-{number}" for number in range(EACH)] for one in range(VIRTUAL)}
    assert read(client, topic, group) == expected


def test_the_log_names_what_differs(remapping: Remapping) -> None:
    told = [one["detail"].split(": ")[1] for one in remapping.events() if one["event"] == "setting_differs"]

    assert told == ["listen.address", "kafka.request_timeout_ms", "mapping.offset_range", "mapping"]


def test_metrics_are_at_the_address_of_the_file(remapping: Remapping) -> None:
    with urllib.request.urlopen(f"http://{HOST}:{remapping.admin_port}/metrics") as answer:
        text = answer.read().decode()

    assert 'kafka_proxy_active_client_connections{tenant="remapper"}' in text


def write(client: dict[str, Any], topic: str) -> None:
    told: Counter[str] = Counter()
    producer = Producer(client | {"linger.ms": 20, "enable.idempotence": True})
    for number in range(EACH):
        for partition in range(VIRTUAL):
            value = f"{partition}-{number}".encode()
            producer.produce(
                topic, value, partition=partition, callback=lambda error, _: told.update([str(error)])
            )
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert told == {"None": EACH * VIRTUAL}


def read(client: dict[str, Any], topic: str, group: str) -> dict[int, list[str]]:
    """Read all records with two members of a group, in turns."""
    own = {"group.id": group, "auto.offset.reset": "earliest"}
    found: dict[int, list[str]] = defaultdict(list)
    with closing(Consumer(client | own)) as first, closing(Consumer(client | own)) as second:
        for one in (first, second):
            one.subscribe([topic])
        assigned = [0, 0]
        for _ in range(2_000):
            for place, one in enumerate((first, second)):
                message = one.poll(0.02)
                assigned[place] = max(assigned[place], len(one.assignment()))
                if message is not None:
                    if message.error() is not None:
                        raise KafkaException(message.error())
                    found[message.partition()].append(message.value().decode())
            if sum(map(len, found.values())) >= EACH * VIRTUAL:
                break
        assert min(assigned) > 0
        assert first.poll(1) is None
        assert second.poll(1) is None
    return dict(found)
