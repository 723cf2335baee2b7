"""kafka-python on encrypted topics with every codec, and transactions that consumers read as they ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Producer

from bifrost.embedded.kafka import EmbeddedKafka
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.python_consumer import poll
from support.clients.raw_client import RawClient
from support.clients.raw_operations import records_of, recreate_topic
from support.encryption.encrypting_gateway import encrypting_gateway
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.physical_names import physical_name

SEALED, VALUES = "python-sealed", "python-values"
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 30.0


@pytest.fixture(scope="module")
def endpoint(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp("encrypting")
    with encrypting_gateway(directory, kafka.bootstrap, batches=SEALED, values=VALUES) as process:
        yield process.endpoint("globex")


def consumed(endpoint: Endpoint, topic: str, count: int) -> list[tuple[bytes, bytes, list[Any]]]:
    """Return keys, values and headers of the first records, read by kafka-python."""
    with closing(KafkaConsumer(enable_auto_commit=False, **endpoint.for_python)) as consumer:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek(partition, 0)
        found: list[Any] = []
        for _ in range(int(WAIT_S * 5)):
            for batch in poll(consumer, timeout_ms=200).values():
                found += batch
            if len(found) >= count:
                break
        return [(one.key, one.value, list(one.headers)) for one in found]


@pytest.mark.parametrize("topic", [SEALED, VALUES])
def test_kafka_python_reads_what_it_sent_with_every_codec(
    endpoint: Endpoint, fresh_topic: FreshTopic, broker: Endpoint, topic: str
) -> None:
    fresh_topic("globex", topic)
    sent = []
    for codec in CODECS:
        with closing(KafkaProducer(compression_type=codec, linger_ms=20, **endpoint.for_python)) as producer:
            told = []
            for number in range(40):
                key, value = b"key %d" % number, f"a secret {codec} {number}".encode()
                told.append(producer.send(topic, value, key=key, headers=[("h", b"x")]))
                sent.append((key, value, [("h", b"x")]))
            assert [one.get(WAIT_S).offset for one in told] == list(range(len(sent) - 40, len(sent)))

    assert consumed(endpoint, topic, len(sent)) == sent
    with RawClient(broker) as direct:
        assert b"a secret None" not in records_of(direct, physical_name("globex", topic))


@pytest.mark.parametrize("topic", [SEALED, VALUES])
def test_transactions_are_read_as_they_ended(
    endpoint: Endpoint, broker: Endpoint, topic: str, unique: UniqueName
) -> None:
    with RawClient(broker) as direct:
        recreate_topic(direct, physical_name("globex", topic))
    producer = Producer(
        endpoint.for_confluent | {"transactional.id": unique("sealing"), "compression.type": "lz4"}
    )
    producer.init_transactions(WAIT_S)
    for end in ("commit", "abort", "commit"):
        producer.begin_transaction()
        for number in range(20):
            producer.produce(topic, f"{end} {number}".encode(), b"key %d" % number)
        assert producer.flush(WAIT_S) == 0, "what is not sent yet, an abort would throw away"
        getattr(producer, f"{end}_transaction")(WAIT_S)

    committed = read(endpoint, topic, 40, **{"isolation.level": "read_committed"})
    everything = read(endpoint, topic, 60, **{"isolation.level": "read_uncommitted"})

    wanted = [f"{end} {number}".encode() for end in ("commit", "abort", "commit") for number in range(20)]
    assert [one.value() for one in everything] == wanted
    assert [one.value() for one in committed] == wanted[:20] + wanted[40:]
