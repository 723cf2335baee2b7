"""Records to the topic `orders` and back, by each client library: a producer, then a consumer, as one user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Producer

from kafka import KafkaConsumer, KafkaProducer
from support.clients.endpoint import Endpoint
from support.java.java_clients import JavaClients

TOPIC = "orders"
WAIT_S = 20


def by_confluent(settings: Mapping[str, Any], *values: bytes) -> list[bytes | None]:
    """Send values with librdkafka; return what a consumer of a group receives."""
    producer = Producer(dict(settings))
    for value in values:
        producer.produce(TOPIC, value)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer({**settings, "group.id": "round-trip", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    messages = [consumer.poll(WAIT_S) for _ in values]
    consumer.close()
    return [message and message.value() for message in messages]


def by_python(settings: Mapping[str, Any], value: bytes) -> bytes:
    """Send a value with kafka-python; return what its consumer receives first."""
    producer = KafkaProducer(**settings)
    producer.send(TOPIC, value).get(timeout=WAIT_S)
    producer.close()
    consumer = KafkaConsumer(
        TOPIC, **settings, auto_offset_reset="earliest", consumer_timeout_ms=WAIT_S * 1000
    )
    received: bytes = next(consumer).value
    consumer.close()
    return received


def by_aiokafka(settings: Mapping[str, Any], value: bytes) -> bytes:
    """Send a value with aiokafka; return what its consumer receives first."""

    async def play() -> bytes:
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait(TOPIC, value)
        async with AIOKafkaConsumer(TOPIC, **settings, auto_offset_reset="earliest") as consumer:
            received: bytes = (await asyncio.wait_for(consumer.getone(), WAIT_S)).value
            return received

    return asyncio.run(play())


def by_java(java: JavaClients, endpoint: Endpoint, value: str, **options: str) -> list[str]:
    """Send a value with the Java client; return what its consumer receives from the first partition."""
    producer = java.producer(endpoint, **options)
    java("send", producer, TOPIC, [value])
    java("close", producer)
    consumer = java.consumer(endpoint, **options)
    java("assign", consumer, TOPIC, 0)
    records = java.poll_until(consumer, 1)
    java("close", consumer)
    return [record[3] for record in records]


def first_error(settings: Mapping[str, Any]) -> KafkaError:
    """Return the first error that librdkafka reports to a producer."""
    errors: list[KafkaError] = []
    producer = Producer({**settings, "error_cb": errors.append, "log_level": 0})
    deadline = time.monotonic() + WAIT_S
    while not errors and time.monotonic() < deadline:
        producer.poll(0.1)
    producer.purge()
    return errors[0]
