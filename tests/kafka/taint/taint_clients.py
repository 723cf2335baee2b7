"""Real clients of one tenant, each as fast as it can until it is told to stop; each checks what it has read.

Every function runs in a thread of its own and returns how many records were read and are exactly those written.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from kafka.structs import OffsetAndMetadata
from taint_side import SHARED, Side, check_records

from kafka import KafkaConsumer, KafkaProducer
from support.clients.python_consumer import poll

Work = Callable[[Side, threading.Event], int]
WAIT_S = 100.0
"""A broker that a busy machine holds up for six seconds is fenced, and loads its groups and transactions again."""
BURST = 200
LARGE_BURST, LARGE_AHEAD = 20, 200
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
AHEAD = 4_000
"""Records written that may not be read yet."""
DELIVERY_TIMEOUT_MS = 600_000


def _producer(side: Side, stream: str, **options: Any) -> Producer:
    # What is sent again, when a broker was lost, is written once.
    own = {"client.id": side.named(f"producer-{stream}"), "linger.ms": 5, "enable.idempotence": True}
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


def _take(side: Side, consumer: Consumer, wait_s: float) -> list[tuple[bytes, bytes, str]]:
    messages: list[Any] = consumer.consume(2 * BURST, wait_s)
    for message in messages:
        error = message.error()
        is_known = error is None or error.code() == KafkaError._MAX_POLL_EXCEEDED
        assert is_known or side.disturbed.is_set(), error
    return [(one.key(), one.value(), one.headers()[0][0]) for one in messages if one.error() is None]


def _stream(
    side: Side,
    stop: threading.Event,
    topic: str,
    group: str,
    *,
    codecs: Sequence[str] = CODECS[:1],
    **options: Any,
) -> int:
    """Write to a topic and read it again, in one group; a burst by each codec in turn."""
    producers = itertools.cycle([_producer(side, topic, compression_type=codec) for codec in codecs])
    read: list[tuple[bytes, bytes, str]] = []
    sent = 0
    with closing(_consumer(side, group, **options)) as consumer:
        consumer.subscribe([topic])
        while not stop.is_set():
            producer = next(producers)
            if sent - len(read) < AHEAD:
                for number in range(sent, sent + BURST):
                    producer.produce(
                        topic, side.value(topic, number), side.key(number), headers=side.headers()
                    )
                sent += BURST
            producer.poll(0)
            read += _take(side, consumer, 0.05)
        for producer in itertools.islice(producers, len(codecs)):
            assert producer.flush(WAIT_S) == 0
        deadline = time.monotonic() + WAIT_S
        while len(read) < sent and time.monotonic() < deadline:
            read += _take(side, consumer, 0.2)
        consumer.commit(asynchronous=False)
    check_records(side, topic, sent, read)
    return len(read)


def confluent_classic(side: Side, stop: threading.Event) -> int:
    """A classic group, of a name that both tenants use, reads a topic that both have."""
    return _stream(side, stop, SHARED[0], "readers")


def confluent_consumer_protocol(side: Side, stop: threading.Event) -> int:
    """A KIP-848 group reads a topic that only this tenant has."""
    return _stream(side, stop, side.own_topics[0], side.named("group"), group_protocol="consumer")


def confluent_codecs(side: Side, stop: threading.Event) -> int:
    """Batches of every codec, in a topic that only this tenant has."""
    return _stream(side, stop, side.own_topics[2], side.named("codecs"), codecs=CODECS)


def confluent_large(side: Side, stop: threading.Event) -> int:
    """Large records, which make up most of the traffic; each is checked when it is read."""
    topic = side.own_topics[3]
    producer = _producer(side, topic)
    numbers: list[int] = []
    sent = 0
    with closing(_consumer(side, side.named("large"))) as consumer:
        consumer.subscribe([topic])
        deadline = None
        while deadline is None or (len(numbers) < sent and time.monotonic() < deadline):
            if stop.is_set():
                assert producer.flush(WAIT_S) == 0
                deadline = deadline or time.monotonic() + WAIT_S
            elif sent - len(numbers) < LARGE_AHEAD:
                for number in range(sent, sent + LARGE_BURST):
                    value = side.large_value(topic, number)
                    producer.produce(topic, value, side.key(number), headers=side.headers())
                sent += LARGE_BURST
            producer.poll(0)
            for key, value, _header in _take(side, consumer, 0.05):
                number = int(value.split(b" ", 3)[2])
                assert (key, value) == (side.key(number), side.large_value(topic, number))
                numbers.append(number)
    assert sorted(numbers) == list(range(sent))
    return len(numbers)


def confluent_virtual_partitions(side: Side, stop: threading.Event) -> int:
    """Batches of every codec in virtual partitions, read by a KIP-848 group."""
    topic, group = side.divided_topic, side.named("dividers")
    return _stream(side, stop, topic, group, codecs=CODECS, group_protocol="consumer")


def confluent_compacted(side: Side, stop: threading.Event) -> int:
    """The same in a compacted topic, whose keys the gateway changes, read by a classic group."""
    return _stream(side, stop, side.compacted_topic, side.named("compacters"), codecs=CODECS)


def confluent_transactions(side: Side, stop: threading.Event) -> int:
    """Consume, transform and produce in transactions, of which every third is aborted."""
    return _transactions(side, stop, SHARED[0], SHARED[2], "copiers")


def confluent_virtual_transactions(side: Side, stop: threading.Event) -> int:
    """The same from virtual partitions to virtual partitions of another topic."""
    return _transactions(side, stop, side.divided_topic, side.committed_topic, "movers")


def _transactions(side: Side, stop: threading.Event, source_topic: str, topic: str, group: str) -> int:
    producer = _producer(side, topic, transactional_id=side.named(f"transaction-{group}"))
    _until_done(lambda: producer.init_transactions(WAIT_S))
    read: list[tuple[bytes, bytes, str]] = []
    committed = 0
    with (
        closing(_consumer(side, side.named(group))) as source,
        closing(_consumer(side, side.named(f"audit-{group}"))) as target,
    ):
        source.subscribe([source_topic])
        target.subscribe([topic])
        for turn in itertools.count():
            if stop.is_set():
                break
            taken = source.consume(BURST, 0.2)
            values = [b"aborted"] * 50
            if turn % 3 < 2:
                values = [side.value(topic, number) for number in range(committed, committed + 50)]
            if _transact(
                side, topic, producer, source if taken else None, values, committed, is_aborted=turn % 3 == 2
            ):
                committed += 50
            read += _take(side, target, 0.01)
        deadline = time.monotonic() + WAIT_S
        while len(read) < committed and time.monotonic() < deadline:
            read += _take(side, target, 0.2)
    check_records(side, topic, committed, read)
    return len(read)


def _transact(
    side: Side,
    topic: str,
    producer: Producer,
    source: Consumer | None,
    values: list[bytes],
    first: int,
    *,
    is_aborted: bool,
) -> bool:
    """Write records in one transaction, with the position of a consumer, and return whether it was committed."""
    producer.begin_transaction()
    try:
        for number, value in enumerate(values, first):
            producer.produce(topic, value, side.key(number), headers=side.headers())
        # An abort would otherwise drop what is not yet sent.
        assert producer.flush(WAIT_S) == 0
        if source is not None and not is_aborted:
            position, metadata = source.position(source.assignment()), source.consumer_group_metadata()
            _until_done(lambda: producer.send_offsets_to_transaction(position, metadata, WAIT_S))
        if not is_aborted:
            _until_done(lambda: producer.commit_transaction(WAIT_S))
            return True
    except KafkaException as failure:
        if not (failure.args[0].txn_requires_abort() and side.disturbed.is_set()):
            raise
    _until_done(lambda: producer.abort_transaction(WAIT_S))
    return False


def _until_done(call: Callable[[], None]) -> None:
    """Do a step of a transaction, again while librdkafka says that it may be tried again."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            return call()
        except KafkaException as failure:
            if not failure.args[0].retriable() or time.monotonic() > deadline:
                raise


def aiokafka(side: Side, stop: threading.Event) -> int:
    """An aiokafka producer and a group of its consumer, on a topic that both tenants have."""
    return asyncio.run(_aiokafka(side, stop))


async def _aiokafka(side: Side, stop: threading.Event) -> int:
    topic = SHARED[1]
    producer = AIOKafkaProducer(
        client_id=side.named("aio-producer"),
        linger_ms=5,
        enable_idempotence=True,
        **side.endpoint.for_aiokafka,
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
    # By default it waits up to 30 s before it connects again to a broker that was lost.
    common = side.endpoint.for_python | {"client_id": side.named("packer"), "reconnect_backoff_max_ms": 1000}
    read: list[tuple[bytes, bytes, str]] = []
    sent = 0
    producer = KafkaProducer(
        compression_type="gzip",
        linger_ms=5,
        enable_idempotence=True,
        # It may take longer to lose and start three brokers; no record may be given up meanwhile.
        delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
        **common,
    )
    with ExitStack() as stack:
        # Without a time limit it waits for ever for what it cannot deliver.
        stack.callback(producer.close, timeout=WAIT_S)
        consumer = KafkaConsumer(
            topic,
            group_id=side.named("unpackers"),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            # Seen under load: who led before it had the topic's metadata got no partitions. Ask often.
            metadata_max_age_ms=1000,
            **common,
        )
        stack.enter_context(closing(consumer))
        deadline = None
        while deadline is None or (len(read) < sent and time.monotonic() < deadline):
            if not stop.is_set():
                # Not further ahead: on a slow machine what waits for two minutes is given up.
                for number in range(sent, min(sent + BURST // 4, len(read) + AHEAD // 4)):
                    producer.send(
                        topic, side.value(topic, number), key=side.key(number), headers=side.headers()
                    )
                    sent = number + 1
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
    confluent_codecs,
    confluent_transactions,
    aiokafka,
    kafka_python_compressed,
)
