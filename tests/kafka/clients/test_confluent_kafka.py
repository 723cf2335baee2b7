"""confluent-kafka (librdkafka) through the gateway, two tenants at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import MARK

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 30.0


def consumer_of(endpoint: Endpoint, group: str, **options: Any) -> Consumer:
    """Return a consumer that starts at the first record and commits only when told to."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    return Consumer(endpoint.for_confluent | own | {name.replace("_", "."): v for name, v in options.items()})


def consume(consumer: Consumer, count: int) -> list[Any]:
    """Return `count` messages, and no more if there are more at once."""
    messages: list[Any] = []
    deadline = time.monotonic() + WAIT_S
    while len(messages) < count:
        assert time.monotonic() < deadline, messages
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None, message.error()
            messages.append(message)
    assert consumer.poll(0.1) is None
    return messages


def produce(endpoint: Endpoint, topic: str, values: list[bytes], partition: int = 0, **options: Any) -> None:
    """Produce, and check that every record was acknowledged."""
    failed: list[Any] = []
    producer = Producer(endpoint.for_confluent | {name.replace("_", "."): v for name, v in options.items()})
    for value in values:
        producer.produce(
            topic,
            value,
            partition=partition,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )
    assert producer.flush(WAIT_S) == 0
    assert failed == []


def done(futures: dict[Any, Any]) -> dict[Any, Any]:
    """Return what each future of an admin call came to."""
    return {key: future.result(WAIT_S) for key, future in futures.items()}


@pytest.fixture
def admin(acme: Endpoint) -> AdminClient:
    return AdminClient(acme.for_confluent)


@pytest.mark.parametrize("codec", CODECS)
def test_two_tenants_with_the_same_names_read_their_own_records(
    codec: str, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("readers")
    expected, read = {}, {}
    with ExitStack() as stack:
        consumers = {}
        for endpoint in (acme, globex):
            fresh_topic(str(endpoint.username), "orders", partitions=2)
            consumer = stack.enter_context(closing(consumer_of(endpoint, group)))
            consumer.subscribe(["orders"])
            consumers[endpoint.username] = consumer
            values = [f"{endpoint.username} {number}".encode() for number in range(50)]
            produce(endpoint, "orders", values, partition=1, compression_type=codec, linger_ms=20)
            expected[endpoint.username] = values

        for name, consumer in consumers.items():
            read[name] = [message.value() for message in consume(consumer, 50)]

    assert read == expected


@pytest.mark.parametrize("idempotent", [False, True])
def test_every_acks_is_delivered(idempotent: bool, acme: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    settings = ["all"] if idempotent else ["0", "1", "all"]
    for acks in settings:
        produce(acme, "orders", [acks.encode()] * 10, acks=acks, enable_idempotence=idempotent)

    with closing(consumer_of(acme, "acks")) as consumer:
        consumer.assign([TopicPartition("orders", 0, 0)])
        values = [message.value() for message in consume(consumer, 10 * len(settings))]

    assert sorted(set(values)) == sorted(acks.encode() for acks in settings)


def test_group_goes_on_where_it_committed(
    acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    produce(acme, "orders", [str(number).encode() for number in range(10)])
    group, partition = unique("readers"), TopicPartition("orders", 0)

    with closing(consumer_of(acme, group)) as first:
        first.subscribe(["orders"])
        assert len(consume(first, 10)) == 10
        first.seek(TopicPartition("orders", 0, 4))
        assert [message.offset() for message in consume(first, 6)] == [4, 5, 6, 7, 8, 9]
        first.commit(offsets=[TopicPartition("orders", 0, 7)], asynchronous=False)
        assert [one.offset for one in first.committed([partition], WAIT_S)] == [7]
    with closing(consumer_of(acme, group)) as second:
        second.subscribe(["orders"])
        assert [message.value() for message in consume(second, 3)] == [b"7", b"8", b"9"]


def test_offsets_are_found_by_time(acme: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    start_ms = int(time.time() * 1000) - 60_000
    producer = Producer(acme.for_confluent)
    for number in range(5):
        producer.produce("orders", b"x", partition=0, timestamp=start_ms + number * 100)
    assert producer.flush(WAIT_S) == 0

    with closing(consumer_of(acme, "by-time")) as consumer:
        found = consumer.offsets_for_times([TopicPartition("orders", 0, start_ms + 150)], WAIT_S)
        assert [one.offset for one in found] == [2]
        assert consumer.get_watermark_offsets(TopicPartition("orders", 0), WAIT_S) == (0, 5)


def test_topics_are_created_described_grown_and_deleted(initech: Endpoint, unique: UniqueName) -> None:
    name, admin = unique("confluent"), AdminClient(initech.for_confluent)

    assert done(admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "123456"})])) == {
        name: None
    }
    with pytest.raises(KafkaException, match=f"Topic '{name}' already exists"):
        done(admin.create_topics([NewTopic(name, 2, 1)]))
    done(admin.create_partitions([NewPartitions(name, 5)]))
    _await(lambda: len(admin.list_topics(name, WAIT_S).topics[name].partitions) == 5)
    (description,) = done(admin.describe_topics(TopicCollection([name]))).values()
    resource = ConfigResource("topic", name)
    (configs,) = done(admin.describe_configs([resource])).values()

    assert (description.name, len(description.partitions)) == (name, 5)
    assert configs["retention.ms"].value == "123456"
    change = ConfigEntry("retention.ms", "654321", incremental_operation=AlterConfigOpType.SET)
    done(admin.incremental_alter_configs([ConfigResource("topic", name, incremental_configs=[change])]))
    _await(lambda: done(admin.describe_configs([resource]))[resource]["retention.ms"].value == "654321")
    assert done(admin.delete_topics([name])) == {name: None}
    _await(lambda: name not in admin.list_topics(timeout=WAIT_S).topics)


def _await(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_records_are_deleted(initech: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("initech", "orders")
    produce(initech, "orders", [b"x"] * 6)
    admin = AdminClient(initech.for_confluent)

    (deleted,) = done(admin.delete_records([TopicPartition("orders", 0, 4)])).values()
    (earliest,) = done(admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.earliest()})).values()

    assert (deleted.low_watermark, earliest.offset) == (4, 4)


def test_groups_are_listed_described_changed_and_deleted(
    acme: Endpoint, globex: Endpoint, admin: AdminClient, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    produce(acme, "orders", [b"x"])
    group, other = unique("readers"), AdminClient(globex.for_confluent)
    with closing(consumer_of(acme, group)) as consumer:
        consumer.subscribe(["orders"])
        consume(consumer, 1)
        consumer.commit(asynchronous=False)
        described = done(admin.describe_consumer_groups([group]))[group]
        unknown = done(other.describe_consumer_groups([group]))[group]
        assert group in _groups(admin)
        assert group not in _groups(other)

    of_group = [ConsumerGroupTopicPartitions(group)]
    (partition,) = done(admin.list_consumer_group_offsets(of_group))[group].topic_partitions
    assert (partition.topic, partition.offset) == ("orders", 1)
    changed = ConsumerGroupTopicPartitions(group, [TopicPartition("orders", 0, 0)])
    _await(lambda: done(admin.describe_consumer_groups([group]))[group].state == ConsumerGroupState.EMPTY)
    done(admin.alter_consumer_group_offsets([changed]))
    (partition,) = done(admin.list_consumer_group_offsets(of_group))[group].topic_partitions
    assert partition.offset == 0
    assert done(other.list_consumer_group_offsets(of_group))[group].topic_partitions == []
    with pytest.raises(KafkaException):
        done(other.delete_consumer_groups([group]))
    assert done(admin.delete_consumer_groups([group])) == {group: None}
    assert group not in _groups(admin)

    assert (described.state, unknown.state) == (ConsumerGroupState.STABLE, ConsumerGroupState.DEAD)
    (member,) = described.members
    assert [(one.topic, one.partition) for one in member.assignment.topic_partitions] == [("orders", 0)]


def _groups(admin: AdminClient) -> set[str]:
    listed = admin.list_consumer_groups().result(WAIT_S)
    assert listed.errors == []
    return {one.group_id for one in listed.valid}


def test_cluster_is_the_gateway(admin: AdminClient, gateway: GatewayProcess) -> None:
    described = admin.describe_cluster().result(WAIT_S)

    assert [(node.id, node.host, node.port) for node in described.nodes] == [
        (1, "127.0.0.1", gateway.broker_port(1))
    ]
    assert described.cluster_id == admin.list_topics(timeout=WAIT_S).cluster_id


def test_names_outside_the_list_do_not_exist(acme: Endpoint, globex: Endpoint, admin: AdminClient) -> None:
    produce(globex, "users-of-globex", [b"x"], partition=0)

    assert "users-of-globex" not in admin.list_topics(timeout=WAIT_S).topics
    with pytest.raises(KafkaException) as refused:
        done(admin.create_topics([NewTopic("users-of-globex", 1, 1)]))
    assert refused.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    failed: list[KafkaError] = []
    producer = Producer(acme.for_confluent | {"topic.metadata.propagation.max.ms": 0})
    producer.produce("users-of-globex", b"x", on_delivery=lambda error, _: failed.append(error))
    producer.flush(WAIT_S)
    (error,) = failed
    assert error.code() in (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART)


def test_topic_that_is_produced_to_is_created(globex: Endpoint, unique: UniqueName) -> None:
    """auto.create.topics.enable works for a tenant as it does for a broker's client."""
    name = unique("created-by-producing")

    produce(globex, name, [b"first"], partition=0)

    assert name in AdminClient(globex.for_confluent).list_topics(timeout=WAIT_S).topics


def test_pattern_matches_own_topics_only(
    acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for endpoint in (acme, globex):
        for topic in ("orders", "billing"):
            fresh_topic(str(endpoint.username), topic)
            produce(endpoint, topic, [f"{endpoint.username} {topic}".encode()])
    with closing(consumer_of(acme, unique("readers"))) as consumer:
        consumer.subscribe([f"^(orders|billing|{MARK}.*)$"])

        values = sorted(message.value() for message in consume(consumer, 2))

    assert values == [b"acme billing", b"acme orders"]


def test_wrong_password_is_an_authentication_error(acme: Endpoint) -> None:
    errors: list[KafkaError] = []
    settings = acme.for_confluent | {"sasl.password": "wrong", "error_cb": errors.append, "log_level": 0}
    client = Producer(settings)

    _await(lambda: bool(errors) or client.poll(0.1) > 0)

    assert errors[0].code() == KafkaError._AUTHENTICATION
    assert "Invalid username or password" in errors[0].str()


REBALANCES = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer protocol": {"group_protocol": "consumer"},
}


@pytest.mark.parametrize(
    "kind",
    [
        "range",
        "cooperative-sticky",
        # Of KIP-848 librdkafka knows what became of it in Kafka 4.0.
        pytest.param("consumer protocol", marks=pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)),
    ],
)
def test_rebalance_hands_partitions_over_and_goes_on_from_the_commits(
    kind: str, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=4)
    members = _Members(acme, unique("readers"), REBALANCES[kind])
    with closing(members):
        members.join()
        members.poll_until(lambda: members.assigned() == [4])
        _produce_to_each(acme, "alone")
        members.poll_until(lambda: len(members.values) == 20)

        members.join()
        members.poll_until(lambda: members.assigned() == [2, 2])
        _produce_to_each(acme, "shared")
        members.poll_until(lambda: len(members.values) == 40)

        if kind != "consumer protocol":  # There each change takes a heartbeat, 5 s.
            members.leave(0)
            members.poll_until(lambda: members.assigned() == [4])
            _produce_to_each(acme, "alone again")
            members.poll_until(lambda: len(members.values) == 60)

    assert len(members.values) == len(set(members.values)) >= 40


def _produce_to_each(endpoint: Endpoint, word: str) -> None:
    for partition in range(4):
        produce(
            endpoint, "orders", [f"{word} {partition} {number}".encode() for number in range(5)], partition
        )


class _Members:
    """The members of one group, polled in turn; each commits what it has read."""

    def __init__(self, endpoint: Endpoint, group: str, options: dict[str, str]) -> None:
        self._endpoint, self._group = endpoint, group
        self._options = options if "group_protocol" in options else options | {"heartbeat_interval_ms": "200"}
        self._consumers: list[Consumer] = []
        self.values: list[bytes] = []

    def join(self, **options: str) -> None:
        consumer = consumer_of(self._endpoint, self._group, **self._options, **options)
        consumer.subscribe(["orders"])
        self._consumers.append(consumer)

    def leave(self, place: int) -> None:
        self._consumers.pop(place).close()

    def assigned(self) -> list[int]:
        """How many partitions each member has; none has another's."""
        assignments = [[one.partition for one in consumer.assignment()] for consumer in self._consumers]
        everything = [partition for assignment in assignments for partition in assignment]
        assert len(everything) == len(set(everything))
        return [len(assignment) for assignment in assignments]

    def poll_until(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < deadline, (self.assigned(), len(self.values))
            for consumer in self._consumers:
                message = consumer.poll(0.02)
                if message is not None:
                    assert message.error() is None, message.error()
                    self.values.append(message.value())
                    consumer.commit(message, asynchronous=False)

    def close(self) -> None:
        while self._consumers:
            self.leave(0)


@pytest.fixture
def static_member(acme: Endpoint, unique: UniqueName) -> Iterator[Callable[[str], Consumer]]:
    """Join a group as a static member; what is still open is closed afterwards."""
    group = unique("static")
    with ExitStack() as stack:

        def join(instance_id: str) -> Consumer:
            consumer = consumer_of(acme, group, group_instance_id=instance_id, session_timeout_ms=20_000)
            stack.callback(consumer.close)
            consumer.subscribe(["orders"])
            return consumer

        yield join


def test_static_member_comes_back_to_its_partitions(
    static_member: Callable[[str], Consumer], admin: AdminClient, fresh_topic: FreshTopic
) -> None:
    """KIP-345: a member that restarts within its session's time keeps what it had, and the group does not rebalance."""
    fresh_topic("acme", "orders", partitions=2)
    first, second = static_member("one"), static_member("two")
    _poll_until(lambda: [len(one.assignment()) for one in (first, second)] == [1, 1], first, second)
    had = first.assignment()[0].partition
    kept = second.assignment()[0].partition

    first.close()
    returned = static_member("one")
    _poll_until(lambda: len(returned.assignment()) == 1, returned, second)

    assert (returned.assignment()[0].partition, second.assignment()[0].partition) == (had, kept)


def _poll_until(is_so: Callable[[], bool], *consumers: Consumer) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            consumer.poll(0.05)
