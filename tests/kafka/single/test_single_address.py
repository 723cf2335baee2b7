"""A cluster of three brokers behind one address: what its clients produce, consume and commit is all there."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeProducersRequest
from kafka import KafkaConsumer, KafkaProducer
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GatewayProcess

WAIT_S = 40.0
PARTITIONS = 9
"""Three for each broker."""


_made = 0


@pytest.fixture
def topic(admin: AdminClient) -> str:
    global _made
    _made += 1
    name = f"single-{_made}"
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 3)]).values():
        future.result(WAIT_S)
    # A broker that does not know yet that it leads a new topic refuses what is produced to it, and a producer without
    # idempotence that has several requests in flight then sends its first batch behind the next ones.
    places = {TopicPartition(name, one): OffsetSpec.latest() for one in range(PARTITIONS)}
    deadline = time.monotonic() + WAIT_S
    while any(one.exception(WAIT_S) for one in admin.list_offsets(places).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return name


def produce(endpoint: Endpoint, topic: str, count: int, **options: Any) -> None:
    """Produce numbered records to all partitions, and check that each was acknowledged."""
    failed: list[Any] = []
    producer = Producer(endpoint.for_confluent | {name.replace("_", "."): v for name, v in options.items()})
    for number in range(count):
        producer.produce(
            topic,
            b"%d" % number,
            partition=number % PARTITIONS,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def consume(endpoint: Endpoint, topic: str, count: int, group: str = "g", **options: Any) -> list[Any]:
    """Return the values of so many records in the order in which they come."""
    own = {"group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(endpoint.for_confluent | own | {n.replace("_", "."): v for n, v in options.items()})
    consumer.subscribe([topic])
    found: list[Any] = []
    deadline = time.monotonic() + WAIT_S
    while len(found) < count:
        assert time.monotonic() < deadline, len(found)
        message = consumer.poll(0.5)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def in_order(messages: list[Any], count: int) -> None:
    """Check that each record is there once, in order by partition."""
    assert sorted(int(one.value()) for one in messages) == list(range(count))
    for partition in range(PARTITIONS):
        own = [int(one.value()) for one in messages if one.partition() == partition]
        assert own == sorted(own)


def test_clients_read_large_answers_of_all_leaders(endpoint: Endpoint, topic: str) -> None:
    """They have the records of one broker, and partitions of the others without any, perhaps of the same topic."""
    count, filling = 240, b"." * 20_000
    producer = Producer(endpoint.for_confluent | {"linger.ms": 50})
    for number in range(count):
        producer.produce(topic, b"%d" % number, filling, partition=number % PARTITIONS)
    assert producer.flush(WAIT_S) == 0

    in_order(consume(endpoint, topic, count, f"large-{topic}"), count)
    consumer = KafkaConsumer(
        topic,
        **endpoint.for_python,
        group_id=f"large-python-{topic}",
        auto_offset_reset="earliest",
        consumer_timeout_ms=WAIT_S * 1000,
    )
    found = sorted(int(next(consumer).value) for _ in range(count))
    consumer.close()
    assert found == list(range(count))


def test_clients_see_one_broker_that_leads_everything(
    gateway: GatewayProcess, admin: AdminClient, topic: str
) -> None:
    metadata = admin.list_topics(topic, timeout=WAIT_S)

    assert [(one.id, one.host, one.port) for one in metadata.brokers.values()] == [
        (1, "127.0.0.1", gateway.bootstrap_port)
    ]
    assert metadata.controller_id == 1
    partitions = metadata.topics[topic].partitions.values()
    assert {(one.leader, tuple(one.replicas), tuple(one.isrs)) for one in partitions} == {(1, (1,), (1,))}


@pytest.mark.parametrize("acks", ["all", "1"])
def test_librdkafka_produces_to_all_partitions_and_a_group_reads_them(
    endpoint: Endpoint, topic: str, acks: str
) -> None:
    produce(endpoint, topic, 5000, acks=acks)

    in_order(consume(endpoint, topic, 5000, group=f"g-{topic}"), 5000)


def test_idempotent_producer(endpoint: Endpoint, topic: str) -> None:
    produce(endpoint, topic, 5000, enable_idempotence=True)

    in_order(consume(endpoint, topic, 5000, group=f"g-{topic}"), 5000)


def test_records_without_acknowledgement_arrive(endpoint: Endpoint, topic: str) -> None:
    # A broker that does not know yet that it leads a new topic would lose them, as it does to any client.
    produce(endpoint, topic, PARTITIONS, acks="all")
    produce(endpoint, topic, 900, acks=0)

    found = consume(endpoint, topic, 900 + PARTITIONS, group=f"g-{topic}")
    in_order([one for one in found if one.offset() > 0], 900)


def test_kafka_python_produces_and_consumes(endpoint: Endpoint, topic: str) -> None:
    producer = KafkaProducer(**endpoint.for_python, acks="all")
    for number in range(900):
        producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    producer.flush(WAIT_S)
    producer.close()
    consumer = KafkaConsumer(
        topic,
        **endpoint.for_python,
        group_id=f"p-{topic}",
        auto_offset_reset="earliest",
        consumer_timeout_ms=WAIT_S * 1000,
    )
    found = sorted(int(next(consumer).value) for _ in range(900))
    consumer.close()

    assert found == list(range(900))


def test_a_record_does_not_wait_for_the_long_polls_of_idle_brokers(endpoint: Endpoint, topic: str) -> None:
    waits = {"fetch.wait.max.ms": 5000, "group.id": f"w-{topic}", "auto.offset.reset": "latest"}
    consumer = Consumer(endpoint.for_confluent | waits)
    consumer.assign([TopicPartition(topic, one, 0) for one in range(PARTITIONS)])
    assert consumer.poll(1.0) is None
    producer = Producer(endpoint.for_confluent)
    took = []

    for number in range(20):
        began = time.monotonic()
        producer.produce(topic, b"%d" % number, partition=number % 4)
        producer.flush(WAIT_S)
        message = consumer.poll(WAIT_S)
        took.append(time.monotonic() - began)
        assert message.value() == b"%d" % number
        time.sleep(0.1)
    consumer.close()

    # The first Fetch of librdkafka may lack partitions that were not ready, and it has one under way at a time.
    assert sorted(took)[10] < 0.5, took
    assert max(took[4:]) < 4.0, took


def test_transactions_with_offsets(endpoint: Endpoint, topic: str, admin: AdminClient) -> None:
    group = f"t-{topic}"
    produce(endpoint, topic, 90)
    consumer = Consumer(
        endpoint.for_confluent
        | {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    taken = []
    deadline = time.monotonic() + WAIT_S
    while len(taken) < 90:
        assert time.monotonic() < deadline
        message = consumer.poll(1.0)
        if message is not None:
            assert message.error() is None
            taken.append(message)
    producer = Producer(endpoint.for_confluent | {"transactional.id": f"x-{topic}"})
    producer.init_transactions(WAIT_S)
    for is_committed in (False, True):
        producer.begin_transaction()
        for message in taken:
            producer.produce(topic, b"copy " + message.value(), partition=message.partition())
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), WAIT_S
        )
        assert producer.flush(WAIT_S) == 0
        if is_committed:
            producer.commit_transaction(WAIT_S)
        else:
            producer.abort_transaction(WAIT_S)
    consumer.close()

    found = consume(endpoint, topic, 180, group=f"r-{topic}", isolation_level="read_committed")
    assert sorted(one.value() for one in found) == sorted(
        [b"%d" % number for number in range(90)] + [b"copy %d" % number for number in range(90)]
    )
    futures = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    offsets = futures[group].result(WAIT_S).topic_partitions
    assert {(one.partition, one.offset) for one in offsets} == {(one, 10) for one in range(PARTITIONS)}


def test_administration_of_groups_topics_and_configs(
    endpoint: Endpoint, topic: str, admin: AdminClient
) -> None:
    groups = [f"a{number}-{topic}" for number in range(6)]
    produce(endpoint, topic, 90)
    for group in groups:
        consume(endpoint, topic, 90, group=group)

    listed = {one.group_id for one in admin.list_consumer_groups().result(WAIT_S).valid}
    assert set(groups) <= listed
    described = admin.describe_consumer_groups(groups)
    assert {name: one.result(WAIT_S).group_id for name, one in described.items()} == {n: n for n in groups}
    ends = admin.list_offsets({TopicPartition(topic, one): OffsetSpec.latest() for one in range(PARTITIONS)})
    assert {one.result(WAIT_S).offset for one in ends.values()} == {10}
    deleted = admin.delete_records([TopicPartition(topic, one, 4) for one in range(PARTITIONS)])
    assert {one.result(WAIT_S).low_watermark for one in deleted.values()} == {4}
    for future in admin.delete_consumer_groups(groups[:3]).values():
        future.result(WAIT_S)
    assert not set(groups[:3]) & {one.group_id for one in admin.list_consumer_groups().result(WAIT_S).valid}
    broker = ConfigResource(ConfigResource.Type.BROKER, "1")
    assert "message.max.bytes" in admin.describe_configs([broker])[broker].result(WAIT_S)


def test_an_unknown_topic_has_the_broker_s_own_error(endpoint: Endpoint) -> None:
    consumer = Consumer(endpoint.for_confluent | {"group.id": "u"})
    with pytest.raises(KafkaException) as failure:
        consumer.get_watermark_offsets(TopicPartition("there-is-none", 0), WAIT_S)
    consumer.close()

    assert "UNKNOWN" in str(failure.value)


def test_the_producers_of_all_leaders_are_described(endpoint: Endpoint, admin: AdminClient) -> None:
    topic = "described"
    # With one replica, for followers answer it, too (KIP-664).
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
        future.result(WAIT_S)
    produce(endpoint, topic, PARTITIONS, enable_idempotence=True, acks="all")
    new = DescribeProducersRequest
    asked = [new.TopicRequest(name=topic, partition_indexes=[*range(PARTITIONS), PARTITIONS])]
    with RawClient.authenticated(endpoint) as client:
        answer = client.request(new(topics=asked), 0)

    (described,) = answer.topics
    assert [one.partition_index for one in described.partitions] == [*range(PARTITIONS), PARTITIONS]
    *present, absent = described.partitions
    assert absent.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {one.error_code for one in present} == {ErrorCode.NONE}
    producers = [producer for one in present for producer in one.active_producers]
    assert len(producers) == PARTITIONS, "each leader has told of the one that has written to its partitions"
    assert {(one.producer_id, one.last_sequence) for one in producers} == {(producers[0].producer_id, 0)}
