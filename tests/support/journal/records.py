"""Records written to and read from a topic by a plain client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import confluent_kafka

from support.clients.endpoint import Endpoint

TIMEOUT_S = 30.0


def write_values(endpoint: Endpoint, topic: str, values: Sequence[bytes]) -> None:
    """Write records, the value being the key too, and wait until all are acknowledged."""
    write_records(endpoint, topic, [(value, value) for value in values])


def write_records(endpoint: Endpoint, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Write records, given as keys and values, and wait until all are acknowledged.

    Each goes to the partition that a Java client would choose: consumers that join topics rely on that.
    """
    producer = confluent_kafka.Producer(endpoint.for_confluent | {"partitioner": "murmur2_random"})
    failed: list[object] = []
    for key, value in records:
        producer.produce(topic, value, key, on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    assert failed == []


def read_committed(endpoint: Endpoint, topic: str) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of all committed records of a topic, each partition's in their order."""
    settings = {
        "group.id": "never-joined",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 10,
    }
    consumer = confluent_kafka.Consumer(endpoint.for_confluent | settings)
    try:
        partitions = consumer.list_topics(topic, TIMEOUT_S).topics[topic].partitions
        beginning = confluent_kafka.OFFSET_BEGINNING
        consumer.assign([confluent_kafka.TopicPartition(topic, one, beginning) for one in partitions])
        records = []
        unread = set(partitions)
        while unread:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"no end of {topic} after {TIMEOUT_S} s"
            error = message.error()
            if error is None:
                records.append((message.key(), message.value()))
            else:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
                unread.discard(message.partition())
        return records
    finally:
        consumer.close()
