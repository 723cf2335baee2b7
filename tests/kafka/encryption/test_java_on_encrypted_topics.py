"""Java's clients on encrypted topics: every codec, with idempotence, in batches and by values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import records_of
from support.encryption.encrypting_gateway import encrypting_gateway
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.java.java_clients import JavaClients
from support.java.java_transactions import COMMITTED, read_committed, send_three_transactions
from support.physical_names import physical_name

SEALED, VALUES = "java-sealed", "java-values"
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = 40
"""Of each codec."""


@pytest.fixture(scope="module")
def endpoint(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp("encrypting")
    with encrypting_gateway(directory, kafka.bootstrap, batches=SEALED, values=VALUES) as process:
        yield process.endpoint("globex")


@pytest.mark.parametrize("topic", [SEALED, VALUES])
@pytest.mark.parametrize("java", ["3.9.1", "4.3.1"], indirect=True)
def test_java_reads_what_it_sent_with_every_codec(
    java: JavaClients, endpoint: Endpoint, broker: Endpoint, fresh_topic: FreshTopic, topic: str
) -> None:
    fresh_topic("globex", topic)
    sent: list[str] = []
    for codec in CODECS:
        options = {"compression_type": codec, "linger_ms": "20", "enable_idempotence": "true"}
        producer = java.producer(endpoint, **options)
        values = [f"a secret {codec} {number}" for number in range(RECORDS)]
        assert java("send", producer, topic, values) == list(range(len(sent), len(sent) + RECORDS))
        java("close", producer)
        sent += values

    consumer = java.consumer(endpoint)
    java("assign", consumer, topic, 0)
    found = java.poll_until(consumer, len(sent))
    java("close", consumer)

    assert found == [[topic, 0, offset, value] for offset, value in enumerate(sent)]
    with RawClient(broker) as direct:
        assert b"a secret none" not in records_of(direct, physical_name("globex", topic))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_transactions_of_every_codec_come_back_as_they_ended(
    java: JavaClients, endpoint: Endpoint, fresh_topic: FreshTopic, unique: UniqueName, codec: str
) -> None:
    fresh_topic("globex", SEALED)
    send_three_transactions(
        java, endpoint, SEALED, transactional_id=unique("java"), compression_type=codec, linger_ms="20"
    )

    assert read_committed(java, endpoint, SEALED) == COMMITTED
