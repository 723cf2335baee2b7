"""What takes a look into the logs first, on a real Kafka: the latest record of a partition, and what can be deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteRecordsRequest, ListOffsetsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.record_batches import TIMESTAMP_MS
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import EACH, PHYSICAL, RULES, WAIT_S, produce, read, size_of

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
REFUSED, OUT_OF_RANGE = int(ErrorCode.POLICY_VIOLATION), int(ErrorCode.OFFSET_OUT_OF_RANGE)


@pytest.fixture(scope="module")
def dividing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """The tenant may delete records."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": RULES, "allow_topic_deletion": True}

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(tmp_path_factory.mktemp("deleting"), warm.bootstrap, **options) as process:
        yield process


def send(
    endpoint: Endpoint, topic: str, records: list[tuple[int, int]], **options: Any
) -> dict[int, list[int]]:
    """Send records, each with its partition and time; return their offsets by partition."""
    found: dict[int, list[int]] = defaultdict(list)

    def told(error: Any, message: Any) -> None:
        assert error is None
        found[message.partition()].append(message.offset())

    own = {"linger.ms": 5, "batch.num.messages": 5, "max.in.flight": 1, **options}
    producer = Producer(endpoint.for_confluent | own)
    for partition, time_ms in records:
        producer.produce(topic, b"v", partition=partition, timestamp=time_ms, on_delivery=told)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    return found


def listed(
    client: RawClient, topic: str, time_ms: int, version: int, size: int = 0
) -> dict[int, tuple[int, ...]]:
    """Return error, offset and timestamp by virtual partition."""
    new = ListOffsetsRequest
    some = [
        new.ListOffsetsPartition(partition_index=one, timestamp=time_ms, current_leader_epoch=-1)
        for one in range(size or size_of(topic))
    ]
    request = new(replica_id=-1, topics=[new.ListOffsetsTopic(name=topic, partitions=some)])
    answer = client.request(request, client.at_most(ApiKey.LIST_OFFSETS, version))
    return {
        one.partition_index: (one.error_code, one.offset, one.timestamp)
        for named in answer.topics
        for one in named.partitions
    }


def deleted(client: RawClient, topic: str, offsets: dict[int, int]) -> dict[int, tuple[int, int]]:
    """Delete records; return error and low watermark by virtual partition."""
    new = DeleteRecordsRequest
    some = [new.DeleteRecordsPartition(partition_index=one, offset=at) for one, at in offsets.items()]
    request = new(topics=[new.DeleteRecordsTopic(name=topic, partitions=some)], timeout_ms=10_000)
    (named,) = client.request(request, 2).topics
    return {one.partition_index: (one.error_code, one.low_watermark) for one in named.partitions}


def sharing(topic: str) -> list[int]:
    """Return the virtual partitions of the first physical one."""
    return list(range(0, size_of(topic), PHYSICAL[topic.partition("-")[0]]))


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("order", ["growing", "falling", "mixed"])
def test_each_partition_has_a_latest_record_of_its_own(
    client: RawClient, endpoint: Endpoint, topic: str, order: str, codec: str
) -> None:
    """The last partition has no record."""
    numbers = {"growing": lambda one: one, "falling": lambda one: -one, "mixed": lambda one: one * 37 % 101}
    partitions = [*range(size_of(topic) - 1)] * 20
    records = [(one, TIMESTAMP_MS + numbers[order](at)) for at, one in enumerate(partitions)]
    sent = send(endpoint, topic, records, **{"compression.type": codec})
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for partition, time_ms in records:
        own[partition].append((time_ms, -sent[partition][len(own[partition])]))

    expected = {one: (0, -max(some)[1], max(some)[0]) for one, some in own.items()}
    assert listed(client, topic, MAX_TIMESTAMP, 7) == expected | {size_of(topic) - 1: (0, -1, -1)}
    unsupported = (int(ErrorCode.UNSUPPORTED_VERSION), -1, -1)
    assert set(listed(client, topic, MAX_TIMESTAMP, 6).values()) == {unsupported}


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_clients_find_the_latest_records(java: JavaClients, endpoint: Endpoint, topic: str) -> None:
    sent = send(endpoint, topic, [(one % size_of(topic), TIMESTAMP_MS + one) for one in range(60)])
    asked = {TopicPartition(topic, one): OffsetSpec.max_timestamp() for one in sent}
    admin = AdminClient(endpoint.for_confluent)
    found = {one.partition: future.result(WAIT_S).offset for one, future in admin.list_offsets(asked).items()}

    assert found == {one: some[-1] for one, some in sent.items()}


@pytest.mark.needs_api(ApiKey.LIST_OFFSETS, 8)
def test_partitions_begin_locally_where_they_begin(client: RawClient, endpoint: Endpoint, topic: str) -> None:
    """Nothing is in remote storage."""
    send(endpoint, topic, [(one % size_of(topic), TIMESTAMP_MS + one) for one in range(60)])

    assert listed(client, topic, EARLIEST_LOCAL, 8) == listed(client, topic, EARLIEST, 8)


@pytest.mark.needs_api(ApiKey.LIST_OFFSETS, 9)
@pytest.mark.parametrize("version", [7, 8, 9, 10])
@pytest.mark.parametrize("time_ms", [EARLIEST_LOCAL, LATEST_TIERED, -6, -7])
def test_what_a_version_knows_is_answered_as_by_the_broker(
    client: RawClient, direct: RawClient, topic: str, time_ms: int, version: int
) -> None:
    """The topics are empty."""
    count = PHYSICAL[topic.partition("-")[0]]
    there = listed(direct, physical_name("globex", topic), time_ms, version, count)
    here = listed(client, topic, time_ms, version)

    assert len(set(there.values())) == 1
    assert set(here.values()) == set(there.values())


def test_all_records_of_all_partitions_are_deleted(
    client: RawClient, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    size = size_of(topic)
    produce(endpoint, topic)
    answer = deleted(client, topic, dict.fromkeys(range(size), -1))

    assert {error for error, _ in answer.values()} == {0}
    starts, ends = (listed(client, topic, time, 7) for time in (EARLIEST, LATEST))
    assert {one: (0, low, -1) for one, (_, low) in answer.items()} == starts == ends
    produce(endpoint, topic, "b")
    found = read(endpoint, topic, unique("group"), EACH * size)
    assert {one: len(values) for one, values in found.items()} == dict.fromkeys(range(size), EACH)
    assert all(value.startswith("b") for values in found.values() for value in values)


def test_partitions_lose_their_own_records_and_no_others(
    client: RawClient, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    """Each of those that share a partition ends before the next one begins."""
    first, second, *others = sharing(topic)
    sent: dict[int, list[int]] = {first: [], second: []}
    for one, count in ((first, 10), (second, 10), (first, 5)):
        sent[one] += send(endpoint, topic, [(one, TIMESTAMP_MS)] * count)[one]

    assert deleted(client, topic, {first: sent[first][9] + 2}) == {first: (0, sent[first][9] + 1)}
    # Records of the second one are now the first of the log: nothing of the first can go before they do.
    assert deleted(client, topic, {first: -1}) == {first: (REFUSED, -1)}
    assert listed(client, topic, EARLIEST, 7)[second][1] == sent[second][0]
    assert listed(client, topic, EARLIEST, 7)[first][1] == sent[first][10]
    assert count_of(endpoint, topic, unique("group")) == {first: 5, second: 10}

    assert deleted(client, topic, {second: -1}) == {second: (0, sent[second][-1] + 1)}
    assert count_of(endpoint, topic, unique("other")) == {first: 5}
    ends = dict.fromkeys([first, second, *others], -1)
    assert {error for error, _ in deleted(client, topic, ends).values()} == {0}


def count_of(endpoint: Endpoint, topic: str, group: str) -> dict[int, int]:
    """Return how many records a new group reads of each partition."""
    found: dict[int, int] = defaultdict(int)
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    with closing(Consumer(endpoint.for_confluent | settings)) as consumer:
        consumer.assign([TopicPartition(topic, one, -2) for one in range(size_of(topic))])
        ended = 0
        while ended < size_of(topic):
            message = consumer.poll(WAIT_S)
            assert message is not None
            if message.error() is None:
                found[message.partition()] += 1
            else:
                ended += 1
    return dict(found)


def test_offsets_that_cannot_be_are_refused(client: RawClient, endpoint: Endpoint, topic: str) -> None:
    size = size_of(topic)
    send(endpoint, topic, [(0, TIMESTAMP_MS)] * 3)
    answer = deleted(client, topic, {0: 4, 1: -2, size: 0, -1: 0, 2: 0})

    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert answer == {
        0: (OUT_OF_RANGE, -1),
        1: (OUT_OF_RANGE, -1),
        size: (unknown, -1),
        -1: (unknown, -1),
        2: (0, 0),
    }


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_is_told_where_its_partition_begins(java: JavaClients, endpoint: Endpoint, topic: str) -> None:
    sent = send(endpoint, topic, [(0, TIMESTAMP_MS)] * 10)
    admin = java.admin(endpoint)
    low = java("delete_records", admin, topic, sent[0][4])
    first, end = java("list_offsets", admin, topic)
    java("close", admin)

    assert (low, first, end) == (sent[0][4], sent[0][4], sent[0][-1] + 1)
