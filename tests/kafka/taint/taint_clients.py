"""Real clients of one tenant, each as fast as it can until it is told to stop; each checks what it has read.

Every function runs in a thread of its own and returns how many records were read and are exactly those written.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Producer
from kafka.structs import OffsetAndMetadata
from taint_side import SHARED, Side, check_records

from kafka import KafkaConsumer, KafkaProducer
from support.clients.python_consumer import poll

Work = Callable[[Side, threading.Event], int]
WAIT_S = 40.0
BURST = 200
AHEAD = 4_000
"""Records written that may not be read yet."""


def _producer(side: Side, stream: str, **options: Any) -> Producer:
    own = {"client.id": side.named(f"producer-{stream}"), "linger.ms": 5}
    named = {name.replace("_", "."): value for name, value in options.items()}
    return Producer(side.endpoint.for_confluent | own | named)


def _consumer(side: Side, group: str, **options: Any) -> Consumer:
    own = {
        "group.id": group,
        "client.id": side.named("consumer"),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    named = {name.replace("_", "."): value for name, value in options.items()}
    return Consumer(side.endpoint.for_confluent | own | named)


def _take(consumer: Consumer, wait_s: float) -> list[tuple[bytes, bytes, str]]:
    messages: list[Any] = consumer.consume(2 * BURST, wait_s)
    for message in messages:
        error = message.error()
        assert error is None or error.code() == KafkaError._MAX_POLL_EXCEEDED, error
    return [(one.key(), one.value(), one.headers()[0][0]) for one in messages if one.error() is None]


def _stream(side: Side, stop: threading.Event, topic: str, group: str, **options: Any) -> int:
    """Write to a topic and read it again, in one group."""
    producer = _producer(side, topic)
    read: list[tuple[bytes, bytes, str]] = []
    sent = 0
    with closing(_consumer(side, group, **options)) as consumer:
        consumer.subscribe([topic])
        while not stop.is_set():
            if sent - len(read) < AHEAD:
                for number in range(sent, sent + BURST):
                    producer.produce(
                        topic, side.value(topic, number), side.key(number), headers=side.headers()
                    )
                sent += BURST
            producer.poll(0)
            read += _take(consumer, 0.05)
        assert producer.flush(WAIT_S) == 0
        deadline = time.monotonic() + WAIT_S
        while len(read) < sent and time.monotonic() < deadline:
            read += _take(consumer, 0.2)
        consumer.commit(asynchronous=False)
    check_records(side, topic, sent, read)
    return len(read)


def confluent_classic(side: Side, stop: threading.Event) -> int:
    """A classic group, of a name that both tenants use, reads a topic that both have."""
    return _stream(side, stop, SHARED[0], "readers")


def confluent_consumer_protocol(side: Side, stop: threading.Event) -> int:
    """A KIP-848 group reads a topic that only this tenant has."""
    return _stream(side, stop, side.own_topics[0], side.named("group"), group_protocol="consumer")


def confluent_transactions(side: Side, stop: threading.Event) -> int:
    """Consume, transform and produce in transactions, of which every third is aborted."""
    topic, group = SHARED[2], side.named("copiers")
    producer = _producer(side, topic, transactional_id=side.named("transaction"))
    producer.init_transactions(WAIT_S)
    read: list[tuple[bytes, bytes, str]] = []
    committed = 0
    with closing(_consumer(side, group)) as source, closing(_consumer(side, side.named("audit"))) as target:
        source.subscribe([SHARED[0]])
        target.subscribe([topic])
        for turn in itertools.count():
            if stop.is_set():
                break
            taken = source.consume(BURST, 0.2)
            producer.begin_transaction()
            is_aborted = turn % 3 == 2
            for number in range(committed, committed + 50):
                value = b"aborted" if is_aborted else side.value(topic, number)
                producer.produce(topic, value, side.key(number), headers=side.headers())
            # An abort would otherwise drop what is not yet sent.
            assert producer.flush(WAIT_S) == 0
            position = source.position(source.assignment())
            if taken and not is_aborted:
                metadata = source.consumer_group_metadata()
                producer.send_offsets_to_transaction(position, metadata, WAIT_S)
            (producer.abort_transaction if is_aborted else producer.commit_transaction)(WAIT_S)
            committed += 0 if is_aborted else 50
            read += _take(target, 0.01)
        deadline = time.monotonic() + WAIT_S
        while len(read) < committed and time.monotonic() < deadline:
            read += _take(target, 0.2)
    check_records(side, topic, committed, read)
    return len(read)


def aiokafka(side: Side, stop: threading.Event) -> int:
    """An aiokafka producer and a group of its consumer, on a topic that both tenants have."""
    return asyncio.run(_aiokafka(side, stop))


async def _aiokafka(side: Side, stop: threading.Event) -> int:
    topic = SHARED[1]
    producer = AIOKafkaProducer(
        client_id=side.named("aio-producer"), linger_ms=5, **side.endpoint.for_aiokafka
    )
    consumer = AIOKafkaConsumer(
        topic,
        group_id=side.named("aio-group"),
        client_id=side.named("aio-consumer"),
        auto_offset_reset="earliest",
        **side.endpoint.for_aiokafka,
    )
    read: list[tuple[bytes, bytes, str]] = []

    async def take(wait_ms: int) -> None:
        for batch in (await consumer.getmany(timeout_ms=wait_ms)).values():
            read.extend((one.key, one.value, one.headers[0][0]) for one in batch)

    await producer.start()
    await consumer.start()
    try:
        sent = 0
        while not stop.is_set():
            futures = [
                await producer.send(
                    topic, side.value(topic, number), side.key(number), headers=side.headers()
                )
                for number in range(sent, sent + BURST)
            ]
            await asyncio.gather(*futures)
            sent += BURST
            await take(50)
        async with asyncio.timeout(WAIT_S):
            while len(read) < sent:
                await take(200)
        await consumer.commit()
    finally:
        await producer.stop()
        await consumer.stop()
    check_records(side, topic, sent, read)
    return len(read)


def kafka_python_compressed(side: Side, stop: threading.Event) -> int:
    """kafka-python, with compression: what is in its batches is seen in the records alone."""
    topic = side.own_topics[1]
    common = side.endpoint.for_python | {"client_id": side.named("packer")}
    read: list[tuple[bytes, bytes, str]] = []
    sent = 0
    with (
        closing(KafkaProducer(compression_type="gzip", linger_ms=5, **common)) as producer,
        closing(
            KafkaConsumer(
                topic,
                group_id=side.named("unpackers"),
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                # Seen under load: who led before it had the topic's metadata got no partitions. Ask often.
                metadata_max_age_ms=1000,
                **common,
            )
        ) as consumer,
    ):
        deadline = None
        while deadline is None or (len(read) < sent and time.monotonic() < deadline):
            if not stop.is_set():
                for number in range(sent, sent + BURST // 4):
                    producer.send(
                        topic, side.value(topic, number), key=side.key(number), headers=side.headers()
                    )
                sent += BURST // 4
            elif deadline is None:
                producer.flush(WAIT_S)
                deadline = time.monotonic() + WAIT_S
            for batch in poll(consumer, timeout_ms=50).values():
                read += [(one.key, one.value, one.headers[0][0]) for one in batch]
        own = [
            (one, OffsetAndMetadata(consumer.position(one), side.named("note"), -1))
            for one in consumer.assignment()
        ]
        consumer.commit(dict(own))
    check_records(side, topic, sent, read)
    return len(read)


STREAMS: tuple[Work, ...] = (
    confluent_classic,
    confluent_consumer_protocol,
    confluent_transactions,
    aiokafka,
    kafka_python_compressed,
)
