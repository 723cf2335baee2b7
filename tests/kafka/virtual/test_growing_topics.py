"""Topics of a ratio on a real Kafka: clients say how many partitions they have, and add some to those with records."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreatePartitionsRequest, OffsetForLeaderEpochRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, metadata_of
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import EACH, RATIO, WAIT_S, expected, produce, read

FEW, MORE = 2, 4
"""Physical partitions at first, and later."""


@pytest.fixture
def growing(endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic whose partitions have leaders."""
    name, admin = unique("ratio"), AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, FEW * RATIO, 1)])[name].result(WAIT_S)
    await_topic(direct, physical_name("globex", name), FEW)
    return name


def grow(endpoint: Endpoint, direct: RawClient, topic: str) -> None:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_partitions([NewPartitions(topic, MORE * RATIO)])[topic].result(WAIT_S)
    await_topic(direct, physical_name("globex", topic), MORE)


def sizes(client: RawClient, direct: RawClient, topic: str) -> tuple[int, int]:
    """Return how many partitions the client and the brokers see."""
    (shown,), (stored,) = metadata_of(client, topic), metadata_of(direct, physical_name("globex", topic))
    return len(shown.partitions), len(stored.partitions)


def added(client: RawClient, topic: str, count: int, *, validate_only: bool) -> tuple[int, str]:
    """Ask for more partitions; return error and text."""
    new = CreatePartitionsRequest
    named = new.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    request = new(topics=[named], timeout_ms=10_000, validate_only=validate_only)
    (answer,) = client.request(request, client.at_most(ApiKey.CREATE_PARTITIONS, 3)).results
    return answer.error_code, answer.error_message or ""


def test_brokers_have_what_the_client_asks_for(
    client: RawClient, direct: RawClient, endpoint: Endpoint, growing: str, unique: UniqueName
) -> None:
    assert sizes(client, direct, growing) == (FEW * RATIO, FEW)
    assert added(client, growing, MORE * RATIO, validate_only=True) == (0, "")
    assert sizes(client, direct, growing) == (FEW * RATIO, FEW)
    grow(endpoint, direct, growing)
    assert sizes(client, direct, growing) == (MORE * RATIO, MORE)

    admin, by_default = AdminClient(endpoint.for_confluent), unique("ratio-default")
    admin.create_topics([NewTopic(by_default, -1, 1)])[by_default].result(WAIT_S)
    shown, stored = sizes(client, direct, by_default)
    assert shown == RATIO * stored > 0
    other = unique("ratio-other")
    with pytest.raises(KafkaException, match="multiple of 3, at most 3000: 6 would do"):
        admin.create_topics([NewTopic(other, 5, 1)])[other].result(WAIT_S)


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize(
    ("count", "text"),
    [
        (7, "The number of virtual partitions is a multiple of 3, at most 3000: 9 would do"),
        (3_003, "The number of virtual partitions is a multiple of 3, at most 3000: 3000 would do"),
        (0, "The number of virtual partitions is a multiple of 3, at most 3000: 3 would do"),
        (6, "The topic has 6 virtual partitions: 6 would not be more"),
        (3, "The topic has 6 virtual partitions: 3 would not be more"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    client: RawClient, direct: RawClient, growing: str, count: int, text: str, validate_only: bool
) -> None:
    answer = added(client, growing, count, validate_only=validate_only)

    assert answer == (ErrorCode.INVALID_PARTITIONS, text)
    assert sizes(client, direct, growing) == (FEW * RATIO, FEW)


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_records_and_committed_offsets_stay_where_they_are(
    endpoint: Endpoint, direct: RawClient, growing: str, unique: UniqueName, is_idempotent: bool
) -> None:
    group, before, after = unique("group"), FEW * RATIO, MORE * RATIO
    options = {"enable.idempotence": is_idempotent}
    produce(endpoint, growing, "a", size=before, **options)
    assert read(endpoint, growing, group, EACH * before) == expected(growing, "a", size=before)

    grow(endpoint, direct, growing)
    produce(endpoint, growing, "b", size=after, **options)

    assert read(endpoint, growing, group, EACH * after) == expected(growing, "b", size=after)
    assert read(endpoint, growing, group, 0) == {}
    everything = {
        one: [*expected(growing, "a", size=before).get(one, []), *values]
        for one, values in expected(growing, "b", size=after).items()
    }
    assert read(endpoint, growing, unique("other"), EACH * (before + after)) == everything


def test_transactions_go_on_over_the_growth(
    endpoint: Endpoint, direct: RawClient, growing: str, unique: UniqueName
) -> None:
    producer = Producer(endpoint.for_confluent | {"transactional.id": unique("transaction")})
    producer.init_transactions(WAIT_S)
    sent: dict[int, list[str]] = {}
    for run, size in enumerate((FEW * RATIO, MORE * RATIO, MORE * RATIO)):
        if run == 1:
            grow(endpoint, direct, growing)
            _await_partitions(producer, growing, MORE * RATIO)
        producer.begin_transaction()
        for partition in range(size):
            producer.produce(growing, f"{run} {partition}".encode(), partition=partition)
            if run != 1:
                sent.setdefault(partition, []).append(f"{run} {partition}")
        producer.flush(WAIT_S)
        producer.abort_transaction(WAIT_S) if run == 1 else producer.commit_transaction(WAIT_S)

    assert read(endpoint, growing, unique("group"), sum(map(len, sent.values()))) == sent


def _await_partitions(producer: Producer, topic: str, count: int) -> None:
    """Wait until a client knows the new partitions."""
    deadline = time.monotonic() + WAIT_S
    while len(producer.list_topics(topic, timeout=WAIT_S).topics[topic].partitions) < count:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_each_partition_begins_and_ends_with_its_own_records(endpoint: Endpoint, growing: str) -> None:
    """The last virtual partition of each physical one is idle."""
    idle, size = [RATIO - 1, 2 * RATIO - 1], FEW * RATIO
    offsets: dict[int, list[int]] = {}
    producer = Producer(endpoint.for_confluent | {"max.in.flight": 1})
    for number in range(20):
        for partition in sorted({*range(size)} - {*idle}):
            producer.produce(
                growing,
                b"%d" % number,
                partition=partition,
                on_delivery=lambda _, told: offsets.setdefault(told.partition(), []).append(told.offset()),
            )
        producer.flush(WAIT_S)

    with closing(Consumer(endpoint.for_confluent | {"group.id": "any"})) as consumer:
        found = {
            one: consumer.get_watermark_offsets(TopicPartition(growing, one), WAIT_S) for one in range(size)
        }
    assert found == {
        one: (offsets[one][0], offsets[one][-1] + 1) if one in offsets else (0, 0) for one in range(size)
    }


def test_partitions_that_brokers_do_not_have_are_unknown(client: RawClient, growing: str) -> None:
    """The gateway cannot know how many there are, but brokers do."""
    epochs, asked = OffsetForLeaderEpochRequest, [0, FEW * RATIO - 1, FEW * RATIO, 2_999, 3_000, -1]
    partitions = [epochs.OffsetForLeaderPartition(partition=one, leader_epoch=0) for one in asked]
    request = epochs(topics=[epochs.OffsetForLeaderTopic(topic=growing, partitions=partitions)])
    (told,) = client.request(request, 3).topics

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {one.partition: one.error_code for one in told.partitions} == dict(
        zip(asked, [0, 0, unknown, unknown, unknown, unknown], strict=True)
    )


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_grows_a_topic_and_uses_all_of_it(
    java: JavaClients, endpoint: Endpoint, direct: RawClient, growing: str, unique: UniqueName
) -> None:
    admin, size = java.admin(endpoint), MORE * RATIO
    java("create_partitions", admin, growing, size)
    await_topic(direct, physical_name("globex", growing), MORE)
    assert len(java("describe_topic", admin, growing)) == size
    producer = java.producer(endpoint, enable_idempotence="true", acks="all")
    for partition in range(size):
        java("send", producer, growing, [f"{partition}"], partition)
    consumer = java.consumer(endpoint, unique("group"))
    java("subscribe", consumer, growing)
    found = java.poll_until(consumer, size)
    java("close", consumer, producer, admin)

    assert sorted((partition, value) for _, partition, _, value in found) == sorted(
        (one, f"{one}") for one in range(size)
    )
