"""What a gateway writes down of its tenants, against what clients did and what the broker has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import DescribeLogDirsRequest
from kafka import KafkaConsumer, KafkaProducer
from support.clients import Endpoint
from support.gateway_fixtures import FreshTopic
from support.gateway_process import GatewayProcess
from support.journal_reader import Record, read_journal, total, usage
from support.raw_client import RawClient

FAST = {"interval_ms": 300, "snapshot_interval_ms": 500, "partitions": 3}

StartJournalling = Callable[..., GatewayProcess]


@pytest.fixture
def start_journalling(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartJournalling]:
    """Start a gateway with a journal, `gateway_id` its name in it. Tests stop it when they want all it has to say."""
    started: list[GatewayProcess] = []

    def start(gateway_id: str, *, upstream: str = kafka.bootstrap, **options: Any) -> GatewayProcess:
        section = FAST | {"gateway_id": gateway_id} | options.pop("journal", {})
        directory = tmp_path / f"gateway-{len(started)}"
        directory.mkdir()
        process = GatewayProcess(directory, upstream, proxy={"journal": section}, **options)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()


def test_totals_are_what_librdkafka_and_kafka_python_produced_and_consumed(
    start_journalling: StartJournalling, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    gateway = start_journalling("totals")
    for topic in ("orders", "billing"):
        fresh_topic("acme", topic, partitions=2)
    endpoint = gateway.endpoint("acme")
    with_confluent(endpoint, "orders", 500, "zstd")
    with_python(endpoint, "billing", 300)

    gateway.stop()
    records = read_journal(broker, "totals")

    for topic, count in (("orders", 500), ("billing", 300)):
        rows = list(usage(records, "topic", topic=topic, physical_topic=f"__vt_acme_{topic}"))
        assert {row["principal"] for row in rows} == {"User:acme"}
        produced = [row for row in rows if row["api"] == "Produce"]
        fetched = [row for row in rows if row["api"] == "Fetch"]
        assert total(produced, "records_in") == total(fetched, "records_out") == count
        assert (
            total(produced, "bytes_in")
            == total(fetched, "bytes_out")
            == log_bytes(broker, f"__vt_acme_{topic}")
        )
        assert total(produced, "batches_in") == total(fetched, "batches_out") > 0
    cells = [
        cell for row in usage(records, "topic", topic="orders", api="Produce") for cell in row["batches"]
    ]
    assert {(cell["codec"], cell["acks"]) for cell in cells} == {("zstd", -1)}
    assert total(cells, "idempotent_batches") == total(cells, "batches")
    cells = [
        cell for row in usage(records, "topic", topic="billing", api="Produce") for cell in row["batches"]
    ]
    assert {(cell["codec"], cell["acks"]) for cell in cells} == {("gzip", 1)}
    check_sequence(records)


def with_confluent(endpoint: Endpoint, topic: str, count: int, codec: str) -> None:
    """Produce and consume by librdkafka."""
    settings = {"compression.type": codec, "enable.idempotence": True, "linger.ms": 5, "client.id": "shop"}
    producer = Producer(endpoint.for_confluent | settings)
    for number in range(count):
        producer.produce(topic, key=f"k{number}", value=f"value {number}" * 10)
    assert producer.flush(20) == 0
    settings = {"group.id": "shop", "auto.offset.reset": "earliest", "client.id": "desk"}
    consumer = Consumer(endpoint.for_confluent | settings)
    consumer.subscribe([topic])
    read = 0
    while read < count:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        read += 1
    consumer.close()


def with_python(endpoint: Endpoint, topic: str, count: int) -> None:
    """Produce and consume by kafka-python."""
    producer = KafkaProducer(
        **endpoint.for_python, acks=1, compression_type="gzip", client_id="till", enable_idempotence=False
    )
    for number in range(count):
        producer.send(topic, f"value {number}".encode() * 10)
    producer.flush(20)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        **endpoint.for_python,
        group_id="till",
        auto_offset_reset="earliest",
        client_id="clerk",
        consumer_timeout_ms=20_000,
    )
    for number, _ in enumerate(consumer, 1):
        if number == count:
            break
    consumer.close()


def log_bytes(broker: Endpoint, topic: str) -> int:
    """Return how large a topic's log is, as the broker says."""
    with RawClient(broker) as client:
        answer = client.request(DescribeLogDirsRequest(topics=None), 4)
        return sum(
            part.partition_size
            for result in answer.results
            for one in result.topics
            if one.name == topic
            for part in one.partitions
        )


def check_sequence(records: list[Record]) -> None:
    """The numbers of one gateway and epoch begin at 0 and have no gaps."""
    assert len({one["epoch"] for one in records}) == 1
    assert sorted(one["sequence"] for one in records) == list(range(len(records)))
