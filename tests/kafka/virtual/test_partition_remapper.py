"""A gateway that is started with a partition remapper's own file: 100 virtual partitions on 10."""

from __future__ import annotations

import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families

from bifrost.embedded.kafka import EmbeddedKafka
from support.gateways.admin_port import ask, await_value, value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import HOST
from support.gateways.reloadable_gateway import Reloadable
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
ITS_METRICS = {
    "kafka_proxy_requests": "counter",
    "kafka_proxy_requests_errors": "counter",
    "kafka_proxy_request_duration_seconds": "histogram",
    "kafka_proxy_bytes_received": "counter",
    "kafka_proxy_bytes_sent": "counter",
    "kafka_proxy_active_client_connections": "gauge",
    "kafka_proxy_active_broker_connections": "gauge",
    "kafka_proxy_partitions_remapped": "counter",
    "kafka_proxy_offsets_translated": "counter",
}
"""All that the remapper has (its metrics/prometheus.rs), counters without `_total`."""


class Remapping(Reloadable):
    """A gateway with the sample; only its ports and the addresses of the brokers are others."""

    sample = SAMPLE

    def _write_configuration(self) -> None:
        servers = ", ".join(f'"{one}"' for one in self._upstream)
        text = self.sample.replace(':9092"\n  max', f':{self.bootstrap_port}"\n  max')
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


def test_connections_to_brokers_are_counted_while_they_are_open(
    remapping: Remapping, client: dict[str, Any]
) -> None:
    def count() -> float:
        return value(remapping, "kafka_proxy_active_broker_connections", upstream="upstream")

    def clients() -> float:
        return value(remapping, "kafka_proxy_active_client_connections", tenant="remapper")

    assert (clients(), count()) == (0, 0), "it is the first test"
    consumer = Consumer(client | {"group.id": "any"})
    consumer.list_topics(timeout=WAIT_S)
    assert count() > 0
    consumer.close()

    await_value(clients, 0)
    await_value(count, 0)


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


def test_a_reload_that_changes_the_log_is_refused_and_another_is_not(remapping: Remapping) -> None:
    def set_level(level: str) -> Callable[[dict[str, Any]], None]:
        return lambda written: written["logging"].update(level=level)

    remapping.provoked.add("reload_refused")
    remapping.change(set_level("debug"))
    done = remapping.reload()
    remapping.change(set_level("info"))
    again = remapping.reload()

    assert done.returncode == 1
    assert "logging.level cannot change while the gateway runs: restart it" in done.stdout + done.stderr
    assert again.returncode == 0, again.stderr


def test_metrics_are_at_the_address_of_the_file(remapping: Remapping) -> None:
    with urllib.request.urlopen(f"http://{HOST}:{remapping.admin_port}/metrics") as answer:
        text = answer.read().decode()

    assert "# TYPE kafka_proxy_active_client_connections gauge" in text


def test_its_metric_names_are_there(remapping: Remapping, client: dict[str, Any], unique: UniqueName) -> None:
    topic, admin = unique("orders"), AdminClient(client)
    before = value(remapping, "kafka_proxy_partitions_remapped_total", tenant="remapper")
    admin.create_topics([NewTopic(topic, VIRTUAL, 3)])[topic].result(WAIT_S)
    write(client, topic)
    with pytest.raises(KafkaException, match="virtual partitions"):
        admin.create_topics([NewTopic(topic, VIRTUAL + 1, 3)])[topic].result(WAIT_S)

    assert value(remapping, "kafka_proxy_partitions_remapped_total", tenant="remapper") >= before + VIRTUAL
    labels = {"api_key": "CreateTopics", "error_type": "INVALID_PARTITIONS"}
    assert value(remapping, "kafka_proxy_requests_errors_total", **labels) >= 1
    _, text = ask(remapping, "/metrics")
    assert "kafka_proxy_offsets_translated_total 0.0" in text
    families = [one for one in text_string_to_metric_families(text) if one.name in ITS_METRICS]
    assert {one.name: one.type for one in families} == ITS_METRICS
    assert [one.name for one in families if not one.samples] == []


def test_the_file_is_read_again(remapping: Remapping, client: dict[str, Any], unique: UniqueName) -> None:
    topic, admin = unique("more"), AdminClient(client)
    remapping.sample = SAMPLE.replace(
        "  offset_range", f'  topics: {{ "{topic}": {{ virtual_partitions: 30 }} }}\n  offset_range'
    )
    remapping._write_configuration()
    done = remapping.reload()

    assert done.returncode == 0, done.stderr
    admin.create_topics([NewTopic(topic, 30, 3)])[topic].result(WAIT_S)
    assert len(admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions) == 30
    remapping.provoked.add("reload_refused")  # The gateway may see the file before it is told.
    remapping.sample = SAMPLE.replace("physical_partitions: 10", "physical_partitions: 1000")
    remapping._write_configuration()
    refused = remapping.reload()
    assert refused.returncode != 0
    assert "virtual_partitions 100 is less than physical_partitions 1000" in refused.stdout + refused.stderr
    assert len(admin.list_topics(topic, timeout=WAIT_S).topics[topic].partitions) == 30


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
