"""Transactions of librdkafka."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName

WAIT_S = 30.0


def producer_of(endpoint: Endpoint, transactional_id: str) -> Producer:
    producer = Producer(endpoint.for_confluent | {"transactional.id": transactional_id, "log_level": 0})
    producer.init_transactions(WAIT_S)
    return producer


def consumer_of(endpoint: Endpoint, group: str, isolation_level: str = "read_committed") -> Consumer:
    own = {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": isolation_level,
    }
    return Consumer(endpoint.for_confluent | own)


def read(consumer: Consumer, count: int) -> list[bytes]:
    """Return `count` values, and no more if there are more at once."""
    values: list[bytes] = []
    deadline = time.monotonic() + WAIT_S
    while len(values) < count:
        assert time.monotonic() < deadline, values
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            values.append(message.value())
    assert consumer.poll(0.3) is None
    return values


def send(producer: Producer, topic: str, *values: bytes) -> None:
    failed: list[Any] = []
    for value in values:
        producer.produce(
            topic, value, partition=0, on_delivery=lambda error, _: error and failed.append(error)
        )
    assert producer.flush(WAIT_S) == 0
    assert failed == []


@pytest.mark.parametrize(("isolation_level", "count"), [("read_committed", 3), ("read_uncommitted", 5)])
def test_committed_records_are_read_and_aborted_ones_are_not(
    isolation_level: str, count: int, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    producer = producer_of(acme, unique("transaction"))
    for number, is_committed in enumerate((True, False, True, False, True)):
        producer.begin_transaction()
        send(producer, "orders", str(number).encode())
        end = producer.commit_transaction if is_committed else producer.abort_transaction
        end(WAIT_S)

    with closing(consumer_of(acme, unique("readers"), isolation_level)) as consumer:
        consumer.assign([TopicPartition("orders", 0, 0)])
        values = read(consumer, count)

    assert values == [b"0", b"2", b"4"] if count == 3 else [b"0", b"1", b"2", b"3", b"4"]


def test_offsets_are_committed_with_the_records(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    """Consume, transform, produce: an aborted round is done again, a committed one is not."""
    fresh_topic("acme", "orders")
    fresh_topic("acme", "billing")
    group = unique("transformers")
    send(Producer(acme.for_confluent), "orders", b"a", b"b", b"c")
    producer = producer_of(acme, unique("transaction"))

    for end in ("abort", "commit"):
        with closing(consumer_of(acme, group)) as consumer:
            consumer.subscribe(["orders"])
            values = read(consumer, 3)
            assert values == [b"a", b"b", b"c"]
            producer.begin_transaction()
            send(producer, "billing", *(value + f" {end}".encode() for value in values))
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), WAIT_S)
            (producer.commit_transaction if end == "commit" else producer.abort_transaction)(WAIT_S)

    with closing(consumer_of(acme, group)) as late:
        (committed,) = late.committed([TopicPartition("orders", 0)], WAIT_S)
        assert committed.offset == 3
        late.assign([TopicPartition("billing", 0, 0)])
        assert read(late, 3) == [b"a commit", b"b commit", b"c commit"]


def test_zombie_of_the_same_tenant_is_fenced(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    transactional_id = unique("transaction")
    zombie = producer_of(acme, transactional_id)
    zombie.begin_transaction()
    send(zombie, "orders", b"of the zombie")

    successor = producer_of(acme, transactional_id)
    successor.begin_transaction()
    send(successor, "orders", b"of the successor")
    with pytest.raises(KafkaException) as fenced:
        zombie.commit_transaction(WAIT_S)
    successor.commit_transaction(WAIT_S)

    assert fenced.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
    with closing(consumer_of(acme, unique("readers"))) as consumer:
        consumer.assign([TopicPartition("orders", 0, 0)])
        assert read(consumer, 1) == [b"of the successor"]


def test_same_transactional_id_of_two_tenants_fences_no_producer(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
    transactional_id = unique("transaction")
    producers = {endpoint.username: producer_of(endpoint, transactional_id) for endpoint in (acme, globex)}
    for number in range(3):
        for producer in producers.values():
            producer.begin_transaction()
        for name, producer in producers.items():
            send(producer, "orders", f"{name} {number}".encode())
        for producer in producers.values():
            producer.commit_transaction(WAIT_S)

    for endpoint in (acme, globex):
        with closing(consumer_of(endpoint, unique("readers"))) as consumer:
            consumer.assign([TopicPartition("orders", 0, 0)])
            assert read(consumer, 3) == [f"{endpoint.username} {number}".encode() for number in range(3)]
