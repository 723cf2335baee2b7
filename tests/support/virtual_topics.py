"""Topics with virtual partitions, and what is written to and read from them by librdkafka."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import closing
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.physical_names import physical_name

WAIT_S = 60.0
STORED_S = 120.0
"""To read all that is stored, on a busy machine and with a broker that was just lost."""
RATIO = 3
RULES = [
    {"topics": ["even-*"], "virtual": 12, "physical": 4},
    {"topics": ["odd-*"], "virtual": 7, "physical": 3},
    {"topics": ["ratio-*"], "ratio": RATIO},
]
SIZES = {"even": 12, "odd": 7}
PHYSICAL = {"even": 4, "odd": 3}
"""Of topics whose numbers the configuration has; those of a ratio have as many as a test says."""
EACH = 50
"""Records of each virtual partition."""

Read = dict[int, list[str]]


def size_of(topic: str) -> int:
    """Return how many virtual partitions a topic has."""
    return SIZES[topic.partition("-")[0]]


def values_of(partition: int, run: str = "") -> list[str]:
    """Return what is written to a virtual partition."""
    return [f"{run}{partition}-{number}" for number in range(EACH)]


def expected(topic: str, *runs: str, size: int = 0) -> Read:
    """Return what is written to all of a topic."""
    return {
        partition: [value for run in runs or ("",) for value in values_of(partition, run)]
        for partition in range(size or size_of(topic))
    }


def create(endpoint: Endpoint, direct: RawClient, topic: str, size: int, physical: int) -> str:
    """Create a topic of globex with so many virtual partitions on so many physical ones, whose leaders are there."""
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, size, 1)])[topic].result(WAIT_S)
    await_topic(direct, physical_name("globex", topic), physical)
    return topic


def produce(endpoint: Endpoint, topic: str, run: str = "", size: int = 0, **options: Any) -> None:
    """Send the records of all partitions, mixed; all of them are acknowledged.

    One request at a time: a broker refuses the first ones to a new topic, and a producer without idempotence sends them
    again after later ones.
    """
    size = size or size_of(topic)
    told: list[Any] = []
    own = {"linger.ms": 20, "batch.num.messages": 7, "max.in.flight": 1, **options}
    producer = Producer(endpoint.for_confluent | own)
    for number in range(EACH):
        for partition in range(size):
            value = values_of(partition, run)[number].encode()
            producer.produce(topic, value, partition=partition, callback=lambda error, _: told.append(error))
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert [one for one in told if one is not None] == []
    assert len(told) == EACH * size


def read(endpoint: Endpoint, topic: str, group: str, count: int, **options: Any) -> Read:
    """Read so many records as a group, see that no more come within a second, and commit."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, **options}
    found: Read = defaultdict(list)
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline, left, after = time.monotonic() + WAIT_S, count, 0
        while (left > 0 or after < 5) and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            after += left <= 0 and bool(consumer.assignment())
            if message is not None:
                if message.error() is not None:
                    raise KafkaException(message.error())
                found[message.partition()].append(message.value().decode())
                left -= 1
        if count:
            consumer.commit(asynchronous=False)
    return dict(found)


def stored(endpoint: Endpoint, topic: str, size: int, **options: Any) -> Read:
    """Return what each virtual partition has, from its beginning to its end, also while others write."""
    found: Read = defaultdict(list)
    own = {"group.id": "all", "enable.auto.commit": False, "enable.partition.eof": True, **options}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.assign([TopicPartition(topic, one, 0) for one in range(size)])
        at_end: set[int] = set()
        deadline = time.monotonic() + STORED_S
        while len(at_end) < size:
            assert time.monotonic() < deadline, at_end
            for message in consumer.consume(500, 0.5):
                if message.error() is None:
                    found[message.partition()].append(message.value().decode())
                else:
                    at_end.add(message.partition())
    return found
