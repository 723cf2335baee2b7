"""Produces with librdkafka."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka import KafkaError, Producer

from support.clients.confluent_reading import WAIT_S
from support.clients.endpoint import Endpoint

LINGER_MS = 20


def produce_pairs(
    endpoint: Endpoint, topic: str, pairs: Iterable[tuple[bytes | None, bytes | None]], **options: Any
) -> list[KafkaError | None]:
    """Produce keys and values, in one batch if it has room for them; return what became of each."""
    producer = Producer(endpoint.for_confluent | {"linger.ms": LINGER_MS} | options)
    told: list[KafkaError | None] = []
    count = 0
    for key, value in pairs:
        producer.produce(topic, value, key, callback=lambda error, _: told.append(error))
        count += 1
    producer.flush(WAIT_S)
    assert len(told) == count
    return told


def produce_values(
    endpoint: Endpoint, topic: str, *values: bytes | None, **options: Any
) -> list[KafkaError | None]:
    """Likewise, all with one key."""
    return produce_pairs(endpoint, topic, [(b"key", value) for value in values], **options)
