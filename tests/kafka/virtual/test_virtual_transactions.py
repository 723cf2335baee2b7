"""Transactions that write to virtual partitions: what is committed is read once and in order, what is aborted is not.

The clients are librdkafka, Kafka's own (transactions V2 with the newest, V1 with older ones), kafka-python and
aiokafka.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import closing

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Producer

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.virtual_topics import EACH, WAIT_S, Read, read, size_of

ENDS = ("commit", "abort", "commit", "abort", "commit")


def value_of(partition: int, run: int, number: int) -> str:
    return f"{partition} {ENDS[run]} {run} {number}"


def expected(topic: str, *, is_committed: bool = True) -> Read:
    return {
        partition: [
            value_of(partition, run, number)
            for run, end in enumerate(ENDS)
            for number in range(EACH // 5)
            if end == "commit" or not is_committed
        ]
        for partition in range(size_of(topic))
    }


def count_of(found: Read) -> int:
    return sum(map(len, found.values()))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_librdkafka_reads_committed_records_once_and_in_order(
    endpoint: Endpoint, topic: str, unique: UniqueName, codec: str
) -> None:
    own = {"transactional.id": unique("transaction"), "compression.type": codec, "batch.num.messages": 3}
    producer = Producer(endpoint.for_confluent | own | {"linger.ms": 5})
    producer.init_transactions(WAIT_S)
    for run, end in enumerate(ENDS):
        producer.begin_transaction()
        for number in range(EACH // 5):
            for partition in range(size_of(topic)):
                producer.produce(topic, value_of(partition, run, number).encode(), partition=partition)
            producer.poll(0)
        producer.flush(WAIT_S)
        producer.commit_transaction(WAIT_S) if end == "commit" else producer.abort_transaction(WAIT_S)

    committed, everything = expected(topic), expected(topic, is_committed=False)
    assert read(endpoint, topic, unique("committed"), count_of(committed)) == committed
    uncommitted = {"isolation.level": "read_uncommitted"}
    assert read(endpoint, topic, unique("everything"), count_of(everything), **uncommitted) == everything


@pytest.mark.parametrize("java", ["2.8.2", "3.9.1", "4.3.1"], indirect=True, scope="module")
def test_java_reads_committed_records_once_and_in_order(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    options = {"transactional_id": unique("transaction"), "compression_type": "lz4", "batch_size": "200"}
    producer = java.producer(endpoint, **options)
    java("transaction", producer, "init")
    for run, end in enumerate(ENDS):
        java("transaction", producer, "begin")
        for partition in range(size_of(topic)):
            values = [value_of(partition, run, number) for number in range(EACH // 5)]
            java("send", producer, topic, values, partition)
        java("transaction", producer, end)
    java("close", producer)

    for isolation, wanted in (
        ("read_committed", expected(topic)),
        ("read_uncommitted", expected(topic, is_committed=False)),
    ):
        consumer = java.consumer(endpoint, unique(isolation), isolation_level=isolation)
        java("subscribe", consumer, topic)
        found: Read = defaultdict(list)
        for _, partition, _, value in java.poll_until(consumer, count_of(wanted)):
            found[partition].append(value)
        assert java("poll", consumer, 500) == []
        java("close", consumer)
        assert dict(found) == wanted


@pytest.mark.parametrize("java", ["3.9.1", "4.3.1"], indirect=True, scope="module")
def test_offsets_are_committed_with_the_records(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    """Consume, transform, produce: an aborted round is done again, a committed one is not."""
    group, last = unique("group"), size_of(topic) - 1
    producer = java.producer(endpoint, transactional_id=unique("transaction"))
    java("transaction", producer, "init", "begin")
    java("send", producer, topic, ["a", "b"], 0)
    java("send", producer, topic, ["c"], last)
    java("transaction", producer, "commit")

    for end in ("abort", "commit"):
        consumer = java.consumer(endpoint, group, isolation_level="read_committed")
        java("subscribe", consumer, topic)
        found = sorted(value for *_, value in java.poll_until(consumer, 3))
        assert found == ["a", "b", "c"]
        java("transaction", producer, "begin")
        java("send", producer, topic, [f"{end} {value}" for value in found], 1)
        java("send_offsets", producer, consumer)
        java("transaction", producer, end)
        java("close", consumer)

    consumer = java.consumer(endpoint, group, isolation_level="read_committed")
    java("subscribe", consumer, topic)
    found = [value for *_, value in java.poll_until(consumer, 3)]
    assert found == ["commit a", "commit b", "commit c"]
    assert java("poll", consumer, 500) == []
    java("close", producer, consumer)


def test_kafka_python_reads_committed_records_once_and_in_order(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    options = {"transactional_id": unique("transaction"), "linger_ms": 5}
    with closing(KafkaProducer(**endpoint.for_python, **options)) as producer:
        producer.init_transactions()
        for run, end in enumerate(ENDS):
            producer.begin_transaction()
            for number in range(EACH // 5):
                for partition in range(size_of(topic)):
                    producer.send(topic, value_of(partition, run, number).encode(), partition=partition)
            producer.flush(WAIT_S)
            producer.commit_transaction() if end == "commit" else producer.abort_transaction()

    wanted, found = expected(topic), defaultdict[int, list[str]](list)
    own = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    with closing(KafkaConsumer(**endpoint.for_python, **own)) as consumer:
        # Not as a group: its member may assign partitions before it knows of any, and gets none then.
        consumer.assign([TopicPartition(topic, partition) for partition in range(size_of(topic))])
        deadline = time.monotonic() + WAIT_S
        while count_of(found) < count_of(wanted) and time.monotonic() < deadline:
            for partition, records in consumer.poll(timeout_ms=200).items():
                found[partition.partition] += [one.value.decode() for one in records]
        assert consumer.poll(timeout_ms=500) == {}
    assert dict(found) == wanted


def test_aiokafka_reads_committed_records_once_and_in_order(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    asyncio.run(write_and_read(endpoint, topic, unique))


async def write_and_read(endpoint: Endpoint, topic: str, unique: UniqueName) -> None:
    producer = AIOKafkaProducer(transactional_id=unique("transaction"), **endpoint.for_aiokafka)
    await producer.start()
    for run, end in enumerate(ENDS):
        await producer.begin_transaction()
        for number in range(EACH // 5):
            for partition in range(size_of(topic)):
                await producer.send(topic, value_of(partition, run, number).encode(), partition=partition)
        await producer.flush()
        await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
    await producer.stop()

    wanted, found = expected(topic), defaultdict[int, list[str]](list)
    own = {"group_id": unique("group"), "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    consumer = AIOKafkaConsumer(topic, **endpoint.for_aiokafka, **own)
    await consumer.start()
    async with asyncio.timeout(WAIT_S):
        while count_of(found) < count_of(wanted):
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                found[partition.partition] += [one.value.decode() for one in records]
    assert await consumer.getmany(timeout_ms=500) == {}
    await consumer.stop()
    assert dict(found) == wanted
