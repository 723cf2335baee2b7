"""ListOffsets and lag of virtual partitions on a real Kafka: each has a beginning, an end and times of its own."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bifrost.tenancy.virtual_partitions.partition_end import STEP, least_end
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteRecordsRequest, ListOffsetsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.clients.record_batches import TIMESTAMP_MS
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import PHYSICAL, WAIT_S, size_of

BEGAN_MS = TIMESTAMP_MS
EARLIEST, LATEST = -2, -1


def send(endpoint: Endpoint, topic: str, partitions: list[int], **options: Any) -> dict[int, list[int]]:
    """Send a record a millisecond apart to each of these in turn; return the offsets by virtual partition."""
    found: dict[int, list[int]] = defaultdict(list)

    def told(error: Any, message: Any) -> None:
        assert error is None
        found[message.partition()].append(message.offset())

    own = {"linger.ms": 5, "batch.num.messages": 5, "max.in.flight": 1, "compression.type": "zstd", **options}
    producer = Producer(endpoint.for_confluent | own)
    for number, partition in enumerate(partitions):
        producer.produce(topic, b"v", partition=partition, timestamp=BEGAN_MS + number, on_delivery=told)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    return found


def listed(
    client: RawClient, topic: str, times: dict[int, int], version: int = 7, isolation_level: int = 0
) -> dict[int, tuple[int, int, int]]:
    """Return error, offset and timestamp by virtual partition, each asked for a time."""
    new = ListOffsetsRequest
    some = [
        new.ListOffsetsPartition(partition_index=one, timestamp=at, current_leader_epoch=-1)
        for one, at in times.items()
    ]
    request = new(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[new.ListOffsetsTopic(name=topic, partitions=some)],
    )
    answer = client.request(request, version)
    return {
        one.partition_index: (one.error_code, one.offset, one.timestamp)
        for named in answer.topics
        for one in named.partitions
    }


def offsets_at(client: RawClient, topic: str, time_ms: int, **options: Any) -> dict[int, int]:
    found = listed(client, topic, dict.fromkeys(range(size_of(topic)), time_ms), **options)
    assert {error for error, _, _ in found.values()} == {0}
    return {one: offset for one, (_, offset, _) in found.items()}


def physical_ends(direct: RawClient, topic: str) -> dict[int, int]:
    count = PHYSICAL[topic.partition("-")[0]]
    found = listed(direct, physical_name("globex", topic), dict.fromkeys(range(count), LATEST))
    return {one: offset for one, (_, offset, _) in found.items()}


def consume(endpoint: Endpoint, topic: str, group: str, seconds: float, **options: Any) -> int:
    """Read as a group for some time, commit where all partitions are, and return how many records came."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, **options}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline, count, until = time.monotonic() + WAIT_S, 0, None
        while (until is None or time.monotonic() < until) and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None
                count += 1
            if until is None and consumer.assignment():
                until = time.monotonic() + seconds
        consumer.commit(asynchronous=False)
    return count


@pytest.mark.parametrize("version", [1, 4, 7])
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_each_partition_begins_and_ends_with_its_own_records(
    client: RawClient, endpoint: Endpoint, topic: str, version: int, isolation_level: int
) -> None:
    if isolation_level and version < 2:
        pytest.skip("the version has no isolation level")
    written = [*range(size_of(topic) - 1)] * 20
    sent = send(endpoint, topic, [*written, 0, 0, 0])
    options = {"version": version, "isolation_level": isolation_level}

    ends = offsets_at(client, topic, LATEST, **options)
    starts = offsets_at(client, topic, EARLIEST, **options)

    assert ends == {one: sent[one][-1] + 1 if sent[one] else 0 for one in range(size_of(topic))}
    assert starts == {one: sent[one][0] if sent[one] else 0 for one in range(size_of(topic))}


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_are_found_by_their_time(
    client: RawClient, endpoint: Endpoint, topic: str, codec: str
) -> None:
    partitions = [*range(size_of(topic))] * 20
    sent = send(endpoint, topic, partitions, **{"compression.type": codec})
    times = defaultdict(list)
    for number, one in enumerate(partitions):
        times[one].append(BEGAN_MS + number)

    for asked in (0, BEGAN_MS + 1, BEGAN_MS + 57, BEGAN_MS + len(partitions) - 2, BEGAN_MS + 10_000):
        found = listed(client, topic, dict.fromkeys(range(size_of(topic)), asked))
        for one in range(size_of(topic)):
            row = next((row for row, at in enumerate(times[one]) if at >= asked), None)
            expected = (0, -1, -1) if row is None else (0, sent[one][row], times[one][row])
            assert found[one] == expected


def test_what_is_asked_twice_or_is_not_there_is_an_error(client: RawClient, topic: str) -> None:
    size = size_of(topic)
    found = listed(client, topic, {0: -3, size: LATEST, -1: 5, 2**31 - 1: EARLIEST, 1: LATEST, size + 1: -3})

    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert {one: error for one, (error, _, _) in found.items()} == {
        0: 0,
        size: unknown,
        size + 1: unknown,
        -1: unknown,
        2**31 - 1: unknown,
        1: 0,
    }


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
@pytest.mark.parametrize("reader", ["java", "librdkafka"])
def test_lag_stays_zero_while_others_write(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName, reader: str
) -> None:
    """A consumer that has read all of its own is at its end, whatever follows from others."""
    group, count = unique("group"), 10 * size_of(topic)
    send(endpoint, topic, [*range(size_of(topic))] * 10)
    consumer = java.consumer(endpoint, group)
    if reader == "java":
        java("subscribe", consumer, topic)
        java.poll_until(consumer, count)
        java("commit", consumer)
    else:
        assert consume(endpoint, topic, group, 3.0) == count
    send(endpoint, topic, [0] * 100)

    admin = java.admin(endpoint)
    committed = java("group_offsets", admin, group)
    ends = {f"{topic}-{one}": java("offsets", consumer, topic, 0, one)[1] for one in range(size_of(topic))}
    java("close", consumer, admin)
    lag = {name: end - committed[name] for name, end in ends.items()}

    own = lag.pop(f"{topic}-0")
    assert set(lag.values()) == {0}
    # What others had written in between counts for the one that has new records.
    assert 100 <= own < 100 + count


def test_an_idle_partition_keeps_up_with_its_neighbours(
    client: RawClient, direct: RawClient, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    """Its end follows the physical one in steps, and its consumer is there, also after it was away."""
    group, neighbour, idle = unique("group"), 0, PHYSICAL[topic.partition("-")[0]]
    many = {"batch.num.messages": 1000, "linger.ms": 50}
    send(endpoint, topic, [idle])
    send(endpoint, topic, [neighbour] * (3 * STEP), **many)

    assert consume(endpoint, topic, group, 4.0) == 3 * STEP + 1
    with closing(Consumer(endpoint.for_confluent | {"group.id": group})) as consumer:
        (committed,) = consumer.committed([TopicPartition(topic, idle)], WAIT_S)
    end = physical_ends(direct, topic)[0]
    assert offsets_at(client, topic, LATEST)[idle] == least_end(end) == committed.offset
    assert offsets_at(client, topic, EARLIEST)[idle] == 0

    sent = send(endpoint, topic, [idle])
    assert offsets_at(client, topic, LATEST)[idle] == sent[idle][0] + 1
    assert consume(endpoint, topic, group, 3.0) == 1


@pytest.mark.parametrize("reset", ["latest", "error"])
def test_a_consumer_whose_neighbours_were_deleted_goes_on(
    client: RawClient, direct: RawClient, endpoint: Endpoint, topic: str, unique: UniqueName, reset: str
) -> None:
    """It has read all of its own; only records of others lay between its offset and the start of the log."""
    group, idle = unique("group"), PHYSICAL[topic.partition("-")[0]]
    send(endpoint, topic, [*range(size_of(topic)), *[0] * 50])
    assert consume(endpoint, topic, group, 2.0) == 50 + size_of(topic)
    end = physical_ends(direct, topic)[0]
    new = DeleteRecordsRequest
    deleted = new.DeleteRecordsPartition(partition_index=0, offset=end)
    named = new.DeleteRecordsTopic(name=physical_name("globex", topic), partitions=[deleted])
    answer = direct.request(new(topics=[named], timeout_ms=10_000), 2)
    assert answer.topics[0].partitions[0].error_code == 0
    send(endpoint, topic, [idle])

    assert consume(endpoint, topic, group, 3.0, **{"auto.offset.reset": reset}) == 1


def test_an_offset_that_cannot_be_is_out_of_range(endpoint: Endpoint, topic: str, unique: UniqueName) -> None:
    idle = PHYSICAL[topic.partition("-")[0]]
    sent = send(endpoint, topic, [0, idle])
    settings = {"group.id": unique("group"), "auto.offset.reset": "earliest"}
    with closing(Consumer(endpoint.for_confluent | settings)) as consumer:
        consumer.assign([TopicPartition(topic, idle, 10_000)])
        message = consumer.poll(WAIT_S)

    assert message is not None
    assert (message.error(), message.offset()) == (None, sent[idle][0])


def test_admin_clients_see_the_same(endpoint: Endpoint, topic: str) -> None:
    sent = send(endpoint, topic, [*range(size_of(topic))] * 3)
    admin = AdminClient(endpoint.for_confluent)
    found = {}
    for kind, row in ((OffsetSpec.earliest(), 0), (OffsetSpec.latest(), -1)):
        asked = {TopicPartition(topic, one): kind for one in range(size_of(topic))}
        told = admin.list_offsets(asked)
        found[row] = {one.partition: told[one].result(WAIT_S).offset for one in asked}

    assert found[0] == {one: some[0] for one, some in sent.items()}
    assert found[-1] == {one: some[-1] + 1 for one, some in sent.items()}


def test_what_is_read_for_it_is_counted(
    client: RawClient, dividing: GatewayProcess, endpoint: Endpoint, topic: str
) -> None:
    send(endpoint, topic, [*range(size_of(topic))] * 3)
    name = "kafka_proxy_virtual_partition_scanned_bytes_total"
    before = value(dividing, name, tenant="globex")
    offsets_at(client, topic, LATEST)
    first = value(dividing, name, tenant="globex") - before
    offsets_at(client, topic, LATEST)

    assert first > 0
    # What was read once is remembered.
    assert value(dividing, name, tenant="globex") - before == first


def test_partitions_of_several_sizes_in_one_request(
    client: RawClient, direct: RawClient, endpoint: Endpoint, unique: UniqueName
) -> None:
    """Topics with and without virtual partitions together."""
    even, plain = unique("even"), unique("plain")
    admin = AdminClient(endpoint.for_confluent)
    for name, size in ((even, 12), (plain, 2)):
        admin.create_topics([NewTopic(name, size, 1)])[name].result(WAIT_S)
        await_topic(direct, physical_name("globex", name), 4 if name == even else 2)
    sent = send(endpoint, even, [0, 4, 8, 0]) | {100: send(endpoint, plain, [1, 1, 1])[1]}
    new = ListOffsetsRequest
    topics = [
        new.ListOffsetsTopic(
            name=name,
            partitions=[
                new.ListOffsetsPartition(partition_index=one, timestamp=LATEST, current_leader_epoch=-1)
                for one in some
            ],
        )
        for name, some in ((plain, [1]), (even, [4, 8, 0]))
    ]
    answer = client.request(new(replica_id=-1, topics=topics), 7)
    found = {(one.name, two.partition_index): two.offset for one in answer.topics for two in one.partitions}

    assert found == {
        (plain, 1): len(sent[100]),
        (even, 4): sent[4][-1] + 1,
        (even, 8): sent[8][-1] + 1,
        (even, 0): sent[0][-1] + 1,
    }
