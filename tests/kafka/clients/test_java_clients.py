"""Kafka's own Java clients, old and new, through the gateway, two tenants at once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients, JavaError
from support.physical_names import MARK

VERSIONS = ["2.8.2", "3.3.2", "3.9.1", "4.3.1"]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 30.0

pytestmark = pytest.mark.parametrize("java", VERSIONS, indirect=True, scope="module")


def _values(records: list[list[object]]) -> list[object]:
    return [value for _topic, _partition, _offset, value in records]


def _await(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_two_tenants_with_the_same_names_read_their_own_records(
    java: JavaClients, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    group = unique("readers")
    expected, read, consumers = {}, {}, {}
    for endpoint in (acme, globex):
        fresh_topic(str(endpoint.username), "orders", partitions=2)
        consumers[endpoint.username] = java.consumer(endpoint, group)
        java("subscribe", consumers[endpoint.username], "orders")
        expected[endpoint.username] = []
        for codec in CODECS:
            producer = java.producer(endpoint, compression_type=codec, linger_ms="20")
            values = [f"{endpoint.username} {codec} {number}" for number in range(10)]
            java("send", producer, "orders", values, 1)
            java("close", producer)
            expected[endpoint.username] += values

    for name, consumer in consumers.items():
        read[name] = _values(java.poll_until(consumer, 50))
    java("close", *consumers.values())

    assert read == expected


def test_every_acks_is_delivered(java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    for acks, idempotent in (("0", "false"), ("1", "false"), ("all", "false"), ("all", "true")):
        producer = java.producer(acme, acks=acks, enable_idempotence=idempotent)
        java("send", producer, "orders", [f"{acks} {idempotent}"] * 5)
        java("close", producer)

    consumer = java.consumer(acme)
    java("assign", consumer, "orders", 0)
    values = _values(java.poll_until(consumer, 20))
    java("close", consumer)

    assert values == ["0 false"] * 5 + ["1 false"] * 5 + ["all false"] * 5 + ["all true"] * 5


def test_group_goes_on_where_it_committed(
    java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")
    producer, group = java.producer(acme), unique("readers")
    started_ms = int(time.time() * 1000)
    assert java("send", producer, "orders", [str(number) for number in range(10)]) == list(range(10))

    first = java.consumer(acme, group)
    java("subscribe", first, "orders")
    assert len(java.poll_until(first, 10)) == 10
    assert java("offsets", first, "orders", started_ms) == [0, 10, 0]
    assert java("offsets", first, "orders", started_ms + 3_600_000) == [0, 10, None]
    java("seek", first, "orders", 0, 4)
    assert _values(java.poll_until(first, 6)) == ["4", "5", "6", "7", "8", "9"]
    java("seek", first, "orders", 0, 7)
    java("commit", first)
    assert java("committed", first, "orders") == 7
    java("close", first)

    second = java.consumer(acme, group)
    java("subscribe", second, "orders")
    assert _values(java.poll_until(second, 3)) == ["7", "8", "9"]
    java("close", second, producer)


def test_topics_are_created_described_grown_and_deleted(
    java: JavaClients, initech: Endpoint, gateway: GatewayProcess, unique: UniqueName
) -> None:
    name, admin, port = unique("java"), java.admin(initech), gateway.broker_port(1)

    java("create_topic", admin, name, 2, {"retention.ms": "123456"})
    with pytest.raises(JavaError, match=f"TopicExistsException: Topic '{name}' already exists"):
        java("create_topic", admin, name, 2, {})
    _await(lambda: name in java("list_topics", admin))
    assert java("describe_topic", admin, name) == [port, port]
    java("create_partitions", admin, name, 5)
    _await(lambda: java("describe_topic", admin, name) == [port] * 5)
    assert java("describe_configs", admin, name)["retention.ms"] == "123456"
    java("alter_config", admin, name, "retention.ms", "654321")
    _await(lambda: java("describe_configs", admin, name)["retention.ms"] == "654321")
    java("delete_topic", admin, name)
    _await(lambda: name not in java("list_topics", admin))
    with pytest.raises(JavaError, match="UnknownTopicOrPartitionException"):
        java("describe_topic", admin, name)
    java("close", admin)


def test_records_are_deleted(java: JavaClients, initech: Endpoint, fresh_topic: FreshTopic) -> None:
    fresh_topic("initech", "orders")
    producer, admin = java.producer(initech), java.admin(initech)
    java("send", producer, "orders", ["x"] * 6)

    assert java("delete_records", admin, "orders", 4) == 4
    assert java("list_offsets", admin, "orders") == [4, 6]
    java("close", producer, admin)


def test_groups_are_listed_described_changed_and_deleted(
    java: JavaClients, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for tenant in ("acme", "globex"):
        fresh_topic(tenant, "orders")
    group = unique("readers")
    producer, admin, other = java.producer(acme), java.admin(acme), java.admin(globex)
    java("send", producer, "orders", ["x"])
    consumer = java.consumer(acme, group)
    java("subscribe", consumer, "orders")
    java.poll_until(consumer, 1)
    java("commit", consumer)

    assert java("describe_group", admin, group) == ["Stable", [["/127.0.0.1", ["orders-0"]]]]
    assert group in java("list_groups", admin)
    assert group not in java("list_groups", other)
    assert java("group_offsets", admin, group) == {"orders-0": 1}
    assert java("group_offsets", other, group) == {}
    java("close", consumer)
    java("alter_group_offsets", admin, group, "orders", 0)
    assert java("group_offsets", admin, group) == {"orders-0": 0}
    with pytest.raises(JavaError, match="GroupIdNotFoundException"):
        java("delete_group", other, group)
    java("delete_group_offsets", admin, group, "orders")
    assert java("group_offsets", admin, group) == {}
    java("alter_group_offsets", admin, group, "orders", 0)
    java("delete_group", admin, group)
    assert group not in java("list_groups", admin)
    java("close", producer, admin, other)


def test_cluster_is_the_gateway(
    java: JavaClients, acme: Endpoint, globex: Endpoint, gateway: GatewayProcess
) -> None:
    clusters = []
    for endpoint in (acme, globex):
        admin = java.admin(endpoint)
        clusters.append(java("describe_cluster", admin))
        java("close", admin)

    assert [nodes for _id, nodes in clusters] == [[[1, "127.0.0.1", gateway.broker_port(1)]]] * 2
    assert clusters[0][0] != clusters[1][0]


def test_names_outside_the_list_do_not_exist(java: JavaClients, acme: Endpoint, globex: Endpoint) -> None:
    producer = java.producer(globex)
    java("send", producer, "users-of-globex", ["x"])
    intruder = java.producer(acme, max_block_ms="500")
    admin, reader = java.admin(acme), java.consumer(acme)

    assert "users-of-globex" not in java("list_topics", admin)
    assert "users-of-globex" not in java("topics_of", reader)
    with pytest.raises(JavaError, match="TopicAuthorizationException"):
        java("create_topic", admin, "users-of-globex", 1, {})
    with pytest.raises(JavaError, match="TimeoutException"):
        java("send", intruder, "users-of-globex", ["x"])
    java("close", producer, intruder, admin, reader)


def test_pattern_matches_own_topics_only(
    java: JavaClients, acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    for endpoint in (acme, globex):
        producer = java.producer(endpoint)
        for topic in ("orders", "billing"):
            fresh_topic(str(endpoint.username), topic)
            java("send", producer, topic, [f"{endpoint.username} {topic}"])
        java("close", producer)
    consumer = java.consumer(acme, unique("readers"))
    java("subscribe_to_pattern", consumer, f"(orders|billing|{MARK}.*)")

    values = _values(java.poll_until(consumer, 2))
    java("close", consumer)

    assert sorted(map(str, values)) == ["acme billing", "acme orders"]


def test_wrong_password_is_an_authentication_error(java: JavaClients, acme: Endpoint) -> None:
    stranger = Endpoint(acme.host, acme.port, acme.username, "wrong")
    admin = java.admin(stranger)

    with pytest.raises(
        JavaError, match="SaslAuthenticationException: Authentication failed: Invalid username"
    ):
        java("list_topics", admin)
    java("close", admin)


ASSIGNORS = {
    name: f"org.apache.kafka.clients.consumer.{name}Assignor" for name in ("Range", "CooperativeSticky")
}


@pytest.mark.parametrize("kind", [*ASSIGNORS, "newest"])
def test_rebalance_hands_partitions_over_and_goes_on_from_the_commits(
    kind: str, java: JavaClients, acme: Endpoint, fresh_topic: FreshTopic, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders", partitions=4)
    group, producer = unique("readers"), java.producer(acme)
    if kind in ASSIGNORS:
        options = {"partition_assignment_strategy": ASSIGNORS[kind], "heartbeat_interval_ms": "200"}
    elif java.version == "4.3.1":
        options = {"group_protocol": "consumer"}  # KIP-848: the broker assigns, every 5 s.
    else:
        options = {"heartbeat_interval_ms": "200"}
    members: list[int] = []
    values: list[object] = []

    def join() -> None:
        members.append(java.consumer(acme, group, **options))
        java("subscribe", members[-1], "orders")

    def poll_until(is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert time.monotonic() < deadline, [java("assignment", one) for one in members]
            for member in members:
                records = java("poll", member, 50)
                if records:
                    values.extend(_values(records))
                    java("commit", member)

    def shares() -> list[int]:
        return [len(java("assignment", member)) for member in members]

    rounds = [("alone", [4]), ("shared", [2, 2]), ("alone again", [4])]
    # The newest protocol takes a heartbeat, 5 s, for each change.
    for word, expected in rounds[:2] if "group_protocol" in options else rounds:
        if word == "alone again":
            java("close", members.pop(0))
        else:
            join()
        poll_until(lambda: shares() == expected)  # noqa: B023
        before = len(values)
        for partition in range(4):
            java(
                "send", producer, "orders", [f"{word} {partition} {number}" for number in range(5)], partition
            )
        poll_until(lambda: len(values) == before + 20)  # noqa: B023
    java("close", producer, *members)

    assert len(values) == len(set(values)) >= 40
