"""What a real broker's cleaner leaves of sealed records in a compacted topic: the latest of each key, and it opens."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_keys import open_keys, seal_keys
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.encryption.topic_key import TopicKey
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, produce_request, records_of
from support.encryption.sealing import opening, sealing
from support.records.record_columns import CODECS, batch_of, only_batch, plenty

TOPIC_KEY = TopicKey(bytes(range(64)))
CLEANED_AT_ONCE = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.0001",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "3600000",
}
WAIT_S = 90.0
"""The cleaner looks for work every 15 s."""


@pytest.fixture
def client(kafka: EmbeddedKafka) -> Iterator[RawClient]:
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as one:
        yield one


def seal(batch: ClientBatch, place: Place, *, has_sealed_keys: bool) -> bytes:
    columns = read_columns(batch, plenty())
    if has_sealed_keys:
        columns = seal_keys(columns, place.binding, TOPIC_KEY, plenty())
    return build_batch(batch, seal_values(columns, place.binding, sealing(), plenty()), plenty())


def opened(data: bytes, place: Place, *, has_sealed_keys: bool) -> list[ColumnRecord]:
    found = []
    for batch in split_batches(memoryview(data), is_whole=False):
        sealed = read_sealed_values(read_columns(batch, plenty()))
        deks = dict.fromkeys(sealed.dek_headers, opening())
        columns = sealed.open(place.binding, deks, plenty())
        if has_sealed_keys:
            columns = open_keys(columns, place.binding, TOPIC_KEY, plenty())
        found += columns.records()
    return found


def send(client: RawClient, topic: str, data: bytes) -> None:
    (partition,) = client.request(produce_request(topic, data), 12).responses[0].partition_responses
    assert partition.error_code == ErrorCode.NONE


@pytest.mark.parametrize("has_sealed_keys", [False, True], ids=["plain-keys", "sealed-keys"])
def test_the_latest_sealed_value_of_each_key_is_left(client: RawClient, has_sealed_keys: bool) -> None:
    topic = f"sealed-compacted-{'keys' if has_sealed_keys else 'values'}"
    create_topic(client, topic, configs=CLEANED_AT_ONCE)
    place, now_ms = Place("cluster", topic, 0), int(time.time() * 1000)
    for number in range(10):
        values = [(b"a", b"a-%d" % number), (b"b", b"b-%d" % number), (b"gone", b"x" if number < 5 else None)]
        records = [ColumnRecord(i, 0, key, value) for i, (key, value) in enumerate(values)]
        data = batch_of(records, codec=(number + 1) % len(CODECS), base_timestamp_ms=now_ms)
        send(client, topic, seal(only_batch(data), place, has_sealed_keys=has_sealed_keys))

    deadline = time.monotonic() + WAIT_S
    while True:
        # The active segment is never cleaned: something must be written behind what is.
        time.sleep(0.5)
        tick = batch_of([ColumnRecord(0, 0, b"tick", b"")], base_timestamp_ms=int(time.time() * 1000))
        send(client, topic, seal(only_batch(tick), place, has_sealed_keys=has_sealed_keys))
        found = opened(records_of(client, topic), place, has_sealed_keys=has_sealed_keys)
        left = [(one.key, one.value) for one in found if one.key != b"tick"]
        if len(left) == 3:
            break
        assert time.monotonic() < deadline, left

    assert sorted(left, key=str) == [(b"a", b"a-9"), (b"b", b"b-9"), (b"gone", None)]
    stored = records_of(client, topic)
    assert b"a-9" not in stored
    batches = split_batches(memoryview(stored), is_whole=False)
    keys = [key for batch in batches for key in read_columns(batch, plenty()).keys]
    assert (b"gone" in keys) == (not has_sealed_keys)
