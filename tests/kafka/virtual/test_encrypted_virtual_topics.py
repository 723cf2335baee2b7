"""Encryption of topics with virtual partitions: clients notice nothing of either, and the broker has no plaintext."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.wire.messages import ListOffsetsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import records_of
from support.clients.record_batches import TIMESTAMP_MS
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.records.record_columns import plenty
from support.virtual_topics import (
    EACH,
    PHYSICAL,
    RULES,
    WAIT_S,
    Read,
    expected,
    produce,
    read,
    size_of,
    values_of,
)

SECRET = "TOP-SECRET "
BEGAN_MS = TIMESTAMP_MS


@pytest.fixture(scope="module", params=["batches", "values"])
def mode(request: pytest.FixtureRequest) -> str:
    """What of the topics is sealed."""
    return str(request.param)


@pytest.fixture(scope="module")
def dividing(
    warm: EmbeddedKafka, mode: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("sealing")
    key_file = write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES
        config["tenants"][0]["filters"] = [
            {
                "name": "RecordHeaders",
                "config": {"add": [{"key": "region", "value": SECRET}]},
                "rules": [{"topics": ["even-*"], "direction": "produce"}],
            },
            encryption(key_file, "even-*", "odd-*", mode=mode),
        ]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


def stored(direct: RawClient, topic: str) -> bytes:
    """Return all that can be read in what the broker has of a topic."""
    found: list[bytes] = []
    for partition in range(PHYSICAL[topic.partition("-")[0]]):
        data = records_of(direct, physical_name("globex", topic), partition)
        for batch in split_batches(memoryview(data), is_whole=False):
            for one in () if batch.is_control else read_columns(batch, plenty()).records():
                found += [one.key or b"", one.value or b""]
    assert any(found)
    return b"\n".join(found)


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_librdkafka_reads_each_record_once_and_the_broker_has_none(
    endpoint: Endpoint, direct: RawClient, topic: str, unique: UniqueName, is_idempotent: bool, codec: str
) -> None:
    group, count = unique("group"), EACH * size_of(topic)
    produce(endpoint, topic, SECRET, **{"enable.idempotence": is_idempotent, "compression.type": codec})

    assert read(endpoint, topic, group, count) == expected(topic, SECRET)
    assert read(endpoint, topic, group, 0) == {}
    assert SECRET.encode() not in stored(direct, topic)
    places = [TopicPartition(topic, one) for one in range(size_of(topic))]
    with closing(Consumer(endpoint.for_confluent | {"group.id": group})) as consumer:
        ends = [consumer.get_watermark_offsets(one, WAIT_S)[1] for one in places]
        assert [one.offset for one in consumer.committed(places, WAIT_S)] == ends


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_reads_each_record_once(
    java: JavaClients, endpoint: Endpoint, direct: RawClient, topic: str, unique: UniqueName
) -> None:
    for is_idempotent in ("true", "false"):
        producer = java.producer(endpoint, enable_idempotence=is_idempotent, acks="all")
        for partition in range(size_of(topic)):
            java("send", producer, topic, values_of(partition, SECRET + is_idempotent), partition)
        java("close", producer)
    consumer = java.consumer(endpoint, unique("group"))
    java("subscribe", consumer, topic)
    found: Read = defaultdict(list)
    for _, partition, _, value in java.poll_until(consumer, 2 * EACH * size_of(topic)):
        found[partition].append(value)
    java("close", consumer)

    assert dict(found) == expected(topic, f"{SECRET}true", f"{SECRET}false")
    assert SECRET.encode() not in stored(direct, topic)


ENDS = ("commit", "abort", "again")


def committed(topic: str, *, is_committed: bool = True) -> Read:
    return expected(topic, *(SECRET + one for one in ENDS if one != "abort" or not is_committed))


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_librdkafka_reads_committed_records_once_and_in_order(
    endpoint: Endpoint, direct: RawClient, topic: str, unique: UniqueName, codec: str
) -> None:
    own = {"transactional.id": unique("txn"), "compression.type": codec, "batch.num.messages": 3}
    producer = Producer(endpoint.for_confluent | own | {"linger.ms": 5})
    producer.init_transactions(WAIT_S)
    for end in ENDS:
        producer.begin_transaction()
        for number in range(EACH):
            for partition in range(size_of(topic)):
                value = values_of(partition, SECRET + end)[number].encode()
                producer.produce(topic, value, partition=partition)
            producer.poll(0)
        producer.flush(WAIT_S)
        producer.abort_transaction(WAIT_S) if end == "abort" else producer.commit_transaction(WAIT_S)

    found = read(endpoint, topic, unique("committed"), 2 * EACH * size_of(topic))
    assert found == committed(topic)
    options = {"isolation.level": "read_uncommitted"}
    everything = read(endpoint, topic, unique("everything"), 3 * EACH * size_of(topic), **options)
    assert everything == committed(topic, is_committed=False)
    assert SECRET.encode() not in stored(direct, topic)


@pytest.mark.parametrize("java", ["3.9.1", "4.3.1"], indirect=True, scope="module")
def test_java_reads_committed_records_once_and_in_order(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    producer = java.producer(
        endpoint, transactional_id=unique("txn"), compression_type="lz4", batch_size="200"
    )
    java("transaction", producer, "init")
    for end in ENDS:
        java("transaction", producer, "begin")
        for partition in range(size_of(topic)):
            java("send", producer, topic, values_of(partition, SECRET + end), partition)
        java("transaction", producer, "abort" if end == "abort" else "commit")
    java("close", producer)

    for isolation, wanted in (
        ("read_committed", committed(topic)),
        ("read_uncommitted", committed(topic, is_committed=False)),
    ):
        consumer = java.consumer(endpoint, unique(isolation), isolation_level=isolation)
        java("subscribe", consumer, topic)
        found: Read = defaultdict(list)
        for _, partition, _, value in java.poll_until(consumer, sum(map(len, wanted.values()))):
            found[partition].append(value)
        assert java("poll", consumer, 500) == []
        java("close", consumer)
        assert dict(found) == wanted


@pytest.mark.parametrize("is_transactional", [False, True])
def test_records_are_found_by_their_time(
    client: RawClient, endpoint: Endpoint, topic: str, unique: UniqueName, is_transactional: bool
) -> None:
    sent, times = defaultdict(list), defaultdict(list)

    def told(error: Any, message: Any) -> None:
        assert error is None
        sent[message.partition()].append(message.offset())

    own: dict[str, Any] = {"linger.ms": 50, "batch.num.messages": 5, "compression.type": "zstd"}
    own |= {"transactional.id": unique("txn")} if is_transactional else {"max.in.flight": 1}
    producer = Producer(endpoint.for_confluent | own)
    if is_transactional:
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
    for number, partition in enumerate([*range(size_of(topic))] * 20):
        # Within a batch they are in no order.
        at = BEGAN_MS + (number ^ 0x3F)
        producer.produce(topic, SECRET.encode(), partition=partition, timestamp=at, on_delivery=told)
        times[partition].append(at)
    producer.flush(WAIT_S)
    if is_transactional:
        producer.commit_transaction(WAIT_S)

    for asked in (0, BEGAN_MS + 1, BEGAN_MS + 57, BEGAN_MS + 100, BEGAN_MS + 10_000):
        found = listed(client, topic, asked)
        for one in range(size_of(topic)):
            row = next((row for row, at in enumerate(times[one]) if at >= asked), None)
            wanted = (0, -1, -1) if row is None else (0, sent[one][row], times[one][row])
            assert found[one] == wanted
    latest = listed(client, topic, -3)
    for one in range(size_of(topic)):
        row = max(range(len(times[one])), key=times[one].__getitem__)
        assert latest[one] == (0, sent[one][row], times[one][row])


def listed(client: RawClient, topic: str, time_ms: int) -> dict[int, tuple[int, int, int]]:
    """Return error, offset and timestamp of each virtual partition."""
    new = ListOffsetsRequest
    some = [
        new.ListOffsetsPartition(partition_index=one, timestamp=time_ms, current_leader_epoch=-1)
        for one in range(size_of(topic))
    ]
    answer = client.request(new(replica_id=-1, topics=[new.ListOffsetsTopic(name=topic, partitions=some)]), 7)
    return {
        one.partition_index: (one.error_code, one.offset, one.timestamp)
        for one in answer.topics[0].partitions
    }
