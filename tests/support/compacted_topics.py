"""Compacted topics with virtual partitions: what is written, what compaction shall leave, and what it has left."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import closing

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import records_of
from support.records.record_columns import plenty

VIRTUAL, PHYSICAL = 12, 4
RULE = {"topics": ["compacted-*"], "virtual": VIRTUAL, "physical": PHYSICAL, "compacted": True}
CLEANED_AT_ONCE = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.0001",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "100",
}
"""Configs that the gateway's policy does not allow clients: the broker is asked for them."""
CLEANED_S = 150.0
"""The cleaner looks for work every 15 s; records go in one pass, what deletes them in one after it."""
WAIT_S = 60.0
ROUNDS = 5
TICK = b"tick"

KEEPS_DELETIONS = tuple(map(int, version_under_test().split("."))) < (3, 1)
"""Whether records without a value may stay in a compacted log for good, as before KIP-534."""

Pairs = list[tuple[str, str | None]]
Kept = dict[int, dict[str, str | None]]
"""The values of keys, by virtual partition."""


def pairs_of(partition: int, round_: int) -> Pairs:
    """Return keys, which are the same in all partitions, and values, which are not.

    The key `gone` is deleted in the first, third, ... partition, and stays in the others.
    """
    own = f"{partition}-{round_}"
    if round_ < ROUNDS - 1:
        return [("k", own), ("", own), ("gone", own)]
    return [("k", own), ("", own), *([("gone", None)] if partition % 2 == 0 else [])]


def expected() -> Kept:
    """Return what each virtual partition has in the end."""
    last, before = ROUNDS - 1, ROUNDS - 2
    return {
        one: {"k": f"{one}-{last}", "": f"{one}-{last}"} | ({"gone": f"{one}-{before}"} if one % 2 else {})
        for one in range(VIRTUAL)
    }


def await_cleaned(direct: RawClient, tick: Callable[[], None], topics: Collection[str]) -> None:
    """Wait until the logs of topics, by their physical names, have each key once and none that is deleted.

    The active segment is never cleaned: `tick` writes something behind what is.
    """
    deadline = time.monotonic() + CLEANED_S
    left = [(topic, partition) for topic in topics for partition in range(PHYSICAL)]
    while left:
        left = [place for place in left if not _is_cleaned(stored_in(direct, *place))]
        assert time.monotonic() < deadline, left
        tick()
        time.sleep(0.5)


def stored_in(direct: RawClient, topic: str, partition: int) -> list[ColumnRecord]:
    """Return the records of a physical partition, as the broker has them; a Fetch has those of one segment."""
    found: list[ColumnRecord] = []
    offset = 0
    while data := records_of(direct, topic, partition, offset):
        for batch in split_batches(memoryview(data), is_whole=False):
            offset = max(offset, batch.base_offset + batch.last_offset_delta + 1)
            found += [] if batch.is_control else read_columns(batch, plenty()).records()
    return found


def _is_cleaned(records: list[ColumnRecord]) -> bool:
    own = [one for one in records if TICK not in (one.key or b"")]
    is_gone = KEEPS_DELETIONS or all(one.value is not None for one in own)
    return len(own) == len({one.key for one in own}) and is_gone


def left_of(found: Kept) -> Kept:
    """Return what was read without what deletes a key, where brokers keep that."""
    return {
        partition: {key: one for key, one in kept.items() if one is not None or not KEEPS_DELETIONS}
        for partition, kept in found.items()
    }


def tick(endpoint: Endpoint, topics: Collection[str]) -> None:
    """Write a record to each physical partition."""
    producer = Producer(endpoint.for_confluent)
    for topic in topics:
        for partition in range(PHYSICAL):
            producer.produce(topic, b"", TICK, partition=partition)
    assert producer.flush(WAIT_S) == 0


def read_all(endpoint: Endpoint, topic: str) -> Kept:
    """Read all partitions to their ends with librdkafka, and see that each has a key once."""
    found: Kept = defaultdict(dict)
    options = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
    with closing(Consumer(endpoint.for_confluent | options)) as consumer:
        consumer.assign([TopicPartition(topic, one, 0) for one in range(VIRTUAL)])
        deadline, ended = time.monotonic() + WAIT_S, set[int]()
        while len(ended) < VIRTUAL:
            assert time.monotonic() < deadline, (ended, found)
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is not None:
                if message.error().name() != "_PARTITION_EOF":
                    raise KafkaException(message.error())
                ended.add(message.partition())
                continue
            key, value = message.key().decode(), message.value()
            if key != TICK.decode():
                assert key not in found[message.partition()]
                found[message.partition()][key] = None if value is None else value.decode()
    return left_of(found)
