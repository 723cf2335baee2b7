"""Virtual partitions on a real Kafka: what is acknowledged is read once, in order, by the clients that users have."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.virtual_topics import EACH, PHYSICAL, WAIT_S, Read, expected, produce, read, size_of, values_of


@pytest.mark.parametrize("acks", ["all", "1"])
@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_librdkafka_reads_each_acknowledged_record_once(
    endpoint: Endpoint, topic: str, unique: UniqueName, is_idempotent: bool, codec: str, acks: str
) -> None:
    if is_idempotent and acks == "1":
        pytest.skip("an idempotent producer has acks=all")
    produce(endpoint, topic, **{"enable.idempotence": is_idempotent, "compression.type": codec, "acks": acks})

    group, count = unique("group"), EACH * size_of(topic)
    assert read(endpoint, topic, group, count) == expected(topic)
    assert read(endpoint, topic, group, 0) == {}


def test_a_group_goes_on_where_it_has_committed(endpoint: Endpoint, topic: str, unique: UniqueName) -> None:
    group, count = unique("group"), EACH * size_of(topic)
    produce(endpoint, topic, "a")
    first = read(endpoint, topic, group, count)
    produce(endpoint, topic, "b")

    assert first == expected(topic, "a")
    assert read(endpoint, topic, group, count) == expected(topic, "b")


def test_librdkafka_commits_the_end_of_each_partition(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    """Its lag becomes 0, though others have the last records of a physical partition."""
    group = unique("group")
    produce(endpoint, topic)
    read(endpoint, topic, group, EACH * size_of(topic))

    places = [TopicPartition(topic, one) for one in range(size_of(topic))]
    with closing(Consumer(endpoint.for_confluent | {"group.id": group})) as consumer:
        ends = [consumer.get_watermark_offsets(one, WAIT_S)[1] for one in places]
        assert [one.offset for one in consumer.committed(places, WAIT_S)] == ends


def test_an_idle_partition_beside_a_busy_one_goes_on(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    """librdkafka asks for twice as much after each answer that has no records for it, until it gives up."""
    settings = endpoint.for_confluent | {"group.id": unique("group"), "fetch.wait.max.ms": 10}
    producer = Producer(endpoint.for_confluent)
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        for number in range(30):
            producer.produce(topic, b"%d" % number, partition=PHYSICAL[topic.partition("-")[0]])
            assert producer.flush(WAIT_S) == 0
            assert consumer.poll(0.1) is None


def test_kafka_python_reads_each_acknowledged_record_once(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    group = unique("group")
    with closing(KafkaProducer(**endpoint.for_python, acks="all", linger_ms=20)) as producer:
        told = [
            producer.send(topic, values_of(partition)[number].encode(), partition=partition)
            for number in range(EACH)
            for partition in range(size_of(topic))
        ]
        producer.flush(WAIT_S)
        assert all(one.succeeded() for one in told)

    options = {"group_id": group, "auto_offset_reset": "earliest", "enable_auto_commit": False}
    found: Read = defaultdict(list)
    with closing(KafkaConsumer(**endpoint.for_python, **options)) as consumer:
        # A leader of a group that does not know the topic yet gives each member nothing, and stays with that.
        assert consumer.partitions_for_topic(topic) == set(range(size_of(topic)))
        consumer.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while sum(map(len, found.values())) < EACH * size_of(topic) and time.monotonic() < deadline:
            for partition, records in consumer.poll(timeout_ms=200).items():
                found[partition.partition] += [one.value.decode() for one in records]
        assert dict(found) == expected(topic)
        consumer.commit()
        places = [PythonTopicPartition(topic, one) for one in range(size_of(topic))]
        assert {one: consumer.committed(one) for one in places} == {
            one: consumer.position(one) for one in places
        }


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
@pytest.mark.parametrize("is_idempotent", ["true", "false"])
def test_java_reads_each_acknowledged_record_once(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName, is_idempotent: str
) -> None:
    group = unique("group")
    producer = java.producer(endpoint, enable_idempotence=is_idempotent, acks="all")
    for partition in range(size_of(topic)):
        java("send", producer, topic, values_of(partition), partition)
    consumer = java.consumer(endpoint, group)
    java("subscribe", consumer, topic)
    found: Read = defaultdict(list)
    for _, partition, _, value in java.poll_until(consumer, EACH * size_of(topic)):
        found[partition].append(value)
    java("commit", consumer)
    admin = java.admin(endpoint)
    offsets = java("group_offsets", admin, group)
    ends = {f"{topic}-{one}": java("offsets", consumer, topic, 0, one)[1] for one in range(size_of(topic))}
    groups = java("list_groups", admin)
    java("close", consumer, producer, admin)

    assert dict(found) == expected(topic)
    assert offsets == ends
    assert [one for one in groups if one.startswith(group)] == [group]
