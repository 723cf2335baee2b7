"""kafka-python through the gateway, two tenants at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType, NewTopic, OffsetSpec
from kafka.errors import (
    KafkaTimeoutError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from support.clients.endpoint import Endpoint
from support.clients.python_consumer import poll
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import MARK

CODECS = [None, "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 30.0


def consume(consumer: KafkaConsumer, count: int) -> list[Any]:
    """Return `count` records, and no more if there are more at once."""
    records: list[Any] = []
    deadline = time.monotonic() + WAIT_S
    while len(records) < count:
        assert time.monotonic() < deadline, records
        for batch in poll(consumer, timeout_ms=200).values():
            records += batch
    assert consumer.poll(timeout_ms=100) == {}
    return records


@pytest.fixture
def producer(acme: Endpoint) -> Iterator[KafkaProducer]:
    with closing(KafkaProducer(**acme.for_python)) as client:
        yield client


@pytest.fixture
def admin(acme: Endpoint) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(**acme.for_python)) as client:
        yield client


@pytest.mark.parametrize("codec", CODECS)
def test_two_tenants_with_the_same_names_read_their_own_records(
    codec: str | None, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("readers")
    expected = {}
    read = {}
    with ExitStack() as stack:
        consumers = {}
        for endpoint in (acme, globex):
            fresh_topic(str(endpoint.username), "orders", partitions=2)
            consumers[endpoint.username] = stack.enter_context(
                closing(
                    KafkaConsumer(
                        "orders", group_id=group, auto_offset_reset="earliest", **endpoint.for_python
                    )
                )
            )
            producer = stack.enter_context(
                closing(KafkaProducer(compression_type=codec, linger_ms=20, **endpoint.for_python))
            )
            values = [f"{endpoint.username} {number}".encode() for number in range(50)]
            sent = [producer.send("orders", value, key=value, headers=[("h", b"x")]) for value in values]
            assert all(one.get(WAIT_S).topic == "orders" for one in sent)
            expected[endpoint.username] = sorted(values)

        for name, consumer in consumers.items():
            read[name] = sorted(record.value for record in consume(consumer, 50))
            assert {topic for topic in consumer.topics() if not topic.startswith("eq-")} >= {"orders"}
            assert consumer.subscription() == {"orders"}

    assert read == expected


def test_group_goes_on_where_it_committed(
    acme: Endpoint, producer: KafkaProducer, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    partition = TopicPartition("orders", 0)
    for number in range(10):
        producer.send("orders", str(number).encode())
    producer.flush()
    options = acme.for_python | {
        "group_id": unique("readers"),
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }

    with closing(KafkaConsumer("orders", **options)) as first:
        assert len(consume(first, 10)) == 10
        first.seek(partition, 4)
        assert [record.offset for record in consume(first, 6)] == [4, 5, 6, 7, 8, 9]
        first.seek_to_beginning(partition)
        first.seek(partition, 7)
        first.commit()
        assert first.committed(partition) == 7
    with closing(KafkaConsumer("orders", **options)) as second:
        assert [record.value for record in consume(second, 3)] == [b"7", b"8", b"9"]


def test_offsets_are_found_by_time(acme: Endpoint, producer: KafkaProducer, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    partition = TopicPartition("orders", 0)
    start_ms = int(time.time() * 1000) - 60_000
    for number in range(5):
        producer.send("orders", b"x", timestamp_ms=start_ms + number * 100)
    producer.flush()

    with closing(KafkaConsumer(**acme.for_python)) as consumer:
        found = consumer.offsets_for_times({partition: start_ms + 150})
        assert (found[partition].offset, found[partition].timestamp) == (2, start_ms + 200)
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 5}
        assert consumer.offsets_for_times({partition: start_ms + 60_000_000})[partition] is None
        assert consumer.partitions_for_topic("orders") == {0}


def test_topics_are_created_described_and_grown(globex: Endpoint, unique: UniqueName) -> None:
    name = unique("kafka-python")
    with closing(KafkaAdminClient(**globex.for_python)) as admin:
        created = admin.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "123456"})])
        assert [(topic["name"], topic["num_partitions"]) for topic in created["topics"]] == [(name, 2)]
        admin.wait_for_topics([name])
        with pytest.raises(TopicAlreadyExistsError):
            admin.create_topics([NewTopic(name, 2, 1)])
        assert name in admin.list_topics()
        admin.create_partitions({name: 5})
        _await(lambda: len(admin.describe_topics([name])[0]["partitions"]) == 5)

        described = admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name)], config_filter=ConfigFilterType.MODIFIED
        )

        assert described["topic"][name]["retention.ms"]["value"] == "123456"
    with closing(KafkaAdminClient(**globex.for_python)) as other:
        assert name in other.list_topics()


def _await(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_records_are_deleted(initech: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("initech", "orders")
    partition = TopicPartition("orders", 0)
    with closing(KafkaProducer(**initech.for_python)) as producer:
        for _ in range(6):
            producer.send("orders", b"x")
        producer.flush()

    with closing(KafkaAdminClient(**initech.for_python)) as admin:
        deleted = admin.delete_records({partition: 4})

        assert deleted[partition]["low_watermark"] == 4
        assert admin.list_partition_offsets({partition: OffsetSpec.EARLIEST})[partition].offset == 4


def test_groups_are_listed_described_changed_and_deleted(
    acme: Endpoint, globex: Endpoint, producer: KafkaProducer, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
    producer.send("orders", b"x")
    producer.flush()
    group, partition = unique("readers"), TopicPartition("orders", 0)
    with ExitStack() as stack:
        admin, other = (
            stack.enter_context(closing(KafkaAdminClient(**endpoint.for_python)))
            for endpoint in (acme, globex)
        )
        consumer = KafkaConsumer("orders", group_id=group, auto_offset_reset="earliest", **acme.for_python)
        with closing(consumer):
            consume(consumer, 1)
            (described,) = admin.describe_groups([group]).values()
            (unknown,) = other.describe_groups([group]).values()
        committed = admin.list_group_offsets({group: None})[group]
        assert committed[partition].offset == 1
        assert group in {one["group_id"] for one in admin.list_groups()}
        assert group not in {one["group_id"] for one in other.list_groups()}

        admin.alter_group_offsets(group, {partition: committed[partition]._replace(offset=0)})
        assert admin.list_group_offsets({group: None})[group][partition].offset == 0
        admin.delete_group_offsets(group, [partition])
        assert partition not in admin.list_group_offsets({group: None})[group]
        assert other.delete_groups([group]) != {group: "OK"}
        assert admin.delete_groups([group]) == {group: "OK"}
        assert group not in {one["group_id"] for one in admin.list_groups()}

    assert (described["group_state"], unknown["group_state"]) == ("Stable", "Dead")
    (member,) = described["members"]
    assert member["member_metadata"]["topics"] == ["orders"]
    assert member["member_assignment"]["assigned_partitions"] == [{"topic": "orders", "partitions": [0]}]


def test_cluster_is_the_gateway(admin: KafkaAdminClient, gateway: GatewayProcess) -> None:
    described = admin.describe_cluster()

    assert [(one["broker_id"], one["port"]) for one in described["brokers"]] == [(1, gateway.broker_port(1))]
    assert described["controller_id"] == 1


def test_names_outside_the_list_do_not_exist(
    admin: KafkaAdminClient, acme: Endpoint, globex: Endpoint
) -> None:
    with closing(KafkaAdminClient(**globex.for_python)) as other:
        other.create_topics([NewTopic("users-of-globex", 1, 1)], raise_errors=False)
        assert "users-of-globex" in other.list_topics()

    assert "users-of-globex" not in admin.list_topics()
    with pytest.raises(TopicAuthorizationFailedError):
        admin.create_topics([NewTopic("users-of-globex", 1, 1)])
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.create_partitions({"users-of-globex": 2})
    with closing(KafkaConsumer(**acme.for_python)) as consumer:
        assert not consumer.partitions_for_topic("users-of-globex")


def test_pattern_matches_own_topics_only(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
        fresh_topic(tenant, "billing")
    with ExitStack() as stack:
        for endpoint in (acme, globex):
            producer = stack.enter_context(closing(KafkaProducer(**endpoint.for_python)))
            for topic in ("orders", "billing"):
                producer.send(topic, f"{endpoint.username} {topic}".encode())
            producer.flush()
        options = {"group_id": unique("readers"), "auto_offset_reset": "earliest"}
        consumer = stack.enter_context(closing(KafkaConsumer(**options, **acme.for_python)))
        consumer.subscribe(pattern=f"^(orders|billing|{MARK}.*)$")

        values = sorted(record.value for record in consume(consumer, 2))

    assert values == [b"acme billing", b"acme orders"]


def test_wrong_password_is_an_authentication_error(acme: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
    """The client says so for every attempt, not that the connection was lost."""
    options = acme.for_python | {"sasl_plain_password": "wrong"}

    with pytest.raises(KafkaTimeoutError):
        KafkaAdminClient(**options, bootstrap_timeout_ms=1000)

    failures = [
        record.getMessage() for record in caplog.records if "Bootstrap connection" in record.getMessage()
    ]
    assert failures
    assert all("Authentication failed: Invalid username or password" in failure for failure in failures)


def test_rebalance_hands_partitions_over_and_goes_on_from_the_commits(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=4)
    group = unique("readers")
    first = _Member(acme, group)
    _await(lambda: len(first.assigned) == 4)
    with closing(KafkaProducer(**acme.for_python)) as producer:
        _produce_to_each(producer, range(4), 5)
        _await(lambda: len(first.values) == 20)

        second = _Member(acme, group)
        _await(lambda: len(first.assigned) == 2 and len(second.assigned) == 2)
        assert not first.assigned & second.assigned
        _produce_to_each(producer, range(4), 5, prefix="shared")
        _await(lambda: len(first.values) + len(second.values) >= 40)

        first.leave()
        _await(lambda: len(second.assigned) == 4)
        _produce_to_each(producer, range(4), 5, prefix="alone")
        _await(lambda: len(first.values) + len(second.values) >= 60)
        second.leave()

    values = first.values + second.values
    assert len(values) == len(set(values)) == 60


def _produce_to_each(producer: KafkaProducer, partitions: range, count: int, prefix: str = "first") -> None:
    for partition in partitions:
        for number in range(count):
            producer.send("orders", f"{prefix} {partition} {number}".encode(), partition=partition)
    producer.flush()


class _Member:
    """A member of a group that polls in a thread of its own."""

    def __init__(self, endpoint: Endpoint, group: str) -> None:
        self.values: list[bytes] = []
        self.assigned: set[TopicPartition] = set()
        self._leaving = threading.Event()
        self._consumer = KafkaConsumer(
            "orders",
            group_id=group,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
            enable_auto_commit=False,
            **endpoint.for_python,
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with closing(self._consumer):
            while not self._leaving.is_set():
                batches = poll(self._consumer, timeout_ms=100)
                self.assigned = set(self._consumer.assignment())
                for batch in batches.values():
                    self.values += [record.value for record in batch]
                if batches:
                    self._consumer.commit()

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
