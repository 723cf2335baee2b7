"""Virtual partitions of a cluster of three brokers that is shown as one: both divide a request."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.clients.record_batches import TIMESTAMP_MS
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import EACH, RULES, SIZES, WAIT_S, expected, produce, read, size_of, values_of

LARGE, LARGE_BYTES = 20, 10_000
"""Records of each partition: an answer of a broker has far more than 64 KiB (`LARGE_BYTES` of fetch_polls.py)."""


@pytest.fixture(scope="module", params=["plain", "sealed"])
def endpoint(
    request: pytest.FixtureRequest, kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Endpoint]:
    """Topics of the tenant are encrypted, or are not."""
    directory = tmp_path_factory.mktemp("single_dividing")
    key_file = write_key_file(directory / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0] |= {"virtual_partitions": RULES, "allow_topic_deletion": True}
        if request.param == "sealed":
            config["tenants"][0]["filters"] = [encryption(key_file, "*")]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust}
    with GatewayProcess(
        directory, kafka_cluster.bootstrap, brokers=3, is_single_address=True, **options
    ) as process:
        yield process.endpoint("globex")


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("is_idempotent", [True, False])
def test_each_acknowledged_record_is_read_once_and_in_order(
    endpoint: Endpoint, unique: UniqueName, kind: str, is_idempotent: bool
) -> None:
    topic, group = unique(kind), unique("group")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES[kind], 3)])[topic].result(WAIT_S)
    produce(endpoint, topic, "a", **{"enable.idempotence": is_idempotent})

    assert read(endpoint, topic, group, EACH * size_of(topic)) == expected(topic, "a")
    produce(endpoint, topic, "b", **{"enable.idempotence": is_idempotent})
    assert read(endpoint, topic, group, EACH * size_of(topic)) == expected(topic, "b")
    assert read(endpoint, topic, group, 0) == {}


@pytest.mark.parametrize("kind", SIZES)
def test_consumers_get_large_answers(endpoint: Endpoint, unique: UniqueName, kind: str) -> None:
    """An answer with large records of one broker, which are not copied, names the topic once more for the others."""
    topic, values = unique(kind), [os.urandom(LARGE_BYTES) for _ in range(LARGE)]
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES[kind], 3)])[topic].result(WAIT_S)
    producer = Producer(endpoint.for_confluent | {"enable.idempotence": True})
    for partition in range(SIZES[kind]):
        for value in values:
            producer.produce(topic, value, partition=partition)
    assert producer.flush(WAIT_S) == 0

    found: dict[int, list[bytes]] = defaultdict(list)
    own = {"group.id": unique("group"), "auto.offset.reset": "earliest"}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while sum(map(len, found.values())) < LARGE * SIZES[kind] and time.monotonic() < deadline:
            for message in consumer.consume(100, 0.2):
                assert message.error() is None
                found[message.partition()].append(message.value())
    assert found == dict.fromkeys(range(SIZES[kind]), values)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("kind", SIZES)
def test_a_group_of_the_newer_protocol_reads_each_record_once(
    endpoint: Endpoint, unique: UniqueName, kind: str
) -> None:
    topic, group, newer = unique(kind), unique("group"), {"group.protocol": "consumer"}
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES[kind], 3)])[topic].result(WAIT_S)
    produce(endpoint, topic, "a")

    assert read(endpoint, topic, group, EACH * size_of(topic), **newer) == expected(topic, "a")
    produce(endpoint, topic, "b")
    assert read(endpoint, topic, group, EACH * size_of(topic), **newer) == expected(topic, "b")
    assert read(endpoint, topic, group, 0, **newer) == {}


@pytest.mark.parametrize("kind", SIZES)
def test_each_partition_ends_with_its_own_records(endpoint: Endpoint, unique: UniqueName, kind: str) -> None:
    """One request names partitions of all brokers; the gateway reads at each of them."""
    topic = unique(kind)
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES[kind], 3)])[topic].result(WAIT_S)
    produce(endpoint, topic)
    places = [TopicPartition(topic, one) for one in range(size_of(topic))]
    ends = {one.partition: found for one, found in told(admin, places).items()}

    own = {"group.id": unique("group"), "enable.auto.commit": False}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        for one in places:
            consumer.assign([TopicPartition(topic, one.partition, ends[one.partition] - 1)])
            message = consumer.poll(WAIT_S)
            assert message is not None
            assert (message.offset(), message.value()) == (
                ends[one.partition] - 1,
                values_of(one.partition)[-1].encode(),
            )


def told(admin: AdminClient, places: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the ends that the gateway says."""
    asked = admin.list_offsets(dict.fromkeys(places, OffsetSpec.latest()))
    return {place: answer.result(WAIT_S).offset for place, answer in asked.items()}


@pytest.mark.parametrize("kind", SIZES)
def test_committed_records_are_read_once_and_in_order(
    endpoint: Endpoint, unique: UniqueName, kind: str
) -> None:
    topic = unique(kind)
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES[kind], 3)])[topic].result(WAIT_S)
    producer = Producer(
        endpoint.for_confluent | {"transactional.id": unique("txn"), "batch.num.messages": 3, "linger.ms": 5}
    )
    producer.init_transactions(WAIT_S)
    for run in ("commit", "abort", "again"):
        producer.begin_transaction()
        for number in range(EACH):
            for partition in range(size_of(topic)):
                producer.produce(topic, values_of(partition, run)[number].encode(), partition=partition)
            producer.poll(0)
        producer.flush(WAIT_S)
        producer.abort_transaction(WAIT_S) if run == "abort" else producer.commit_transaction(WAIT_S)

    found = read(endpoint, topic, unique("group"), 2 * EACH * size_of(topic))
    assert found == expected(topic, "commit", "again")


@pytest.mark.needs_api(ApiKey.LIST_OFFSETS, 7)
@pytest.mark.parametrize("kind", SIZES)
def test_logs_of_all_brokers_are_looked_into(endpoint: Endpoint, unique: UniqueName, kind: str) -> None:
    """For the latest record of each partition, and for what can be deleted."""
    topic, size, sent = unique(kind), SIZES[kind], dict[int, int]()
    admin, producer = AdminClient(endpoint.for_confluent), Producer(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, size, 3)])[topic].result(WAIT_S)
    for time_ms in (TIMESTAMP_MS + 5, TIMESTAMP_MS):
        for one in range(size):
            producer.produce(
                topic,
                b"v",
                partition=one,
                timestamp=time_ms,
                on_delivery=lambda _, told: sent.setdefault(told.partition(), told.offset()),
            )
        assert producer.flush(WAIT_S) == 0

    def listed(kind: OffsetSpec) -> dict[int, int]:
        told = admin.list_offsets({TopicPartition(topic, one): kind for one in range(size)})
        return {one.partition: future.result(WAIT_S).offset for one, future in told.items()}

    assert listed(OffsetSpec.max_timestamp()) == sent
    told = admin.delete_records([TopicPartition(topic, one, -1) for one in range(size)])
    lows = {one.partition: future.result(WAIT_S).low_watermark for one, future in told.items()}
    assert listed(OffsetSpec.earliest()) == listed(OffsetSpec.latest()) == lows
