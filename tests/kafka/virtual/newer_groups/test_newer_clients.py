"""Clients of the newer protocol on a real Kafka: each acknowledged record is read once, in order, by all members."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from bifrost.wire.api_keys import ApiKey
from support.brokers import kafka_cluster as tools
from support.brokers.tool_shell import ToolShell
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients, JavaError
from support.virtual_topics import EACH, WAIT_S, Read, expected, produce, read

pytestmark = pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)  # For librdkafka and Java.

NEWER = {"group.protocol": "consumer"}
NEWEST = pytest.mark.parametrize("java", ["4.3.1"], indirect=True)


def lags(endpoint: Endpoint, group: str, topic: str, size: int) -> set[int]:
    """Return how far the group is behind the ends of the virtual partitions."""
    places = [TopicPartition(topic, one) for one in range(size)]
    with closing(Consumer(endpoint.for_confluent | {"group.id": group})) as consumer:
        ends = [consumer.get_watermark_offsets(one, WAIT_S)[1] for one in places]
        return {end - one.offset for end, one in zip(ends, consumer.committed(places, WAIT_S), strict=True)}


@pytest.mark.parametrize("subscription", ["name", "pattern"])
def test_librdkafka_reads_each_acknowledged_record_once(
    endpoint: Endpoint, topic: str, size: int, unique: UniqueName, subscription: str
) -> None:
    group, count = unique("group"), EACH * size
    subscribed = topic if subscription == "name" else f"^{topic[:-1]}[{topic[-1]}]$"
    produce(endpoint, topic, "a", size=size)
    assert read(endpoint, subscribed, group, count, **NEWER) == expected(topic, "a", size=size)
    assert lags(endpoint, group, topic, size) == {0}

    produce(endpoint, topic, "b", size=size)
    assert read(endpoint, subscribed, group, count, **NEWER) == expected(topic, "b", size=size)
    assert read(endpoint, subscribed, group, 0, **NEWER) == {}


def test_a_group_changes_its_protocol_when_it_has_no_members(
    endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group, count = unique("group"), EACH * size
    for run, options in (("a", {}), ("b", NEWER), ("c", {}), ("d", NEWER)):
        produce(endpoint, topic, run, size=size)
        assert read(endpoint, topic, group, count, **options) == expected(topic, run, size=size)


class Owners:
    """Which consumer has each partition, by the calls in which consumers are told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.owners: dict[int, str] = {}
        self.problems: list[str] = []
        self.changes = 0

    def settings(self, name: str) -> dict[str, Any]:
        """Return what a consumer subscribes with."""

        def assigned(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            with self._lock:
                for one in partitions:
                    if one.partition in self.owners:
                        self.problems.append(
                            f"{one.partition} is still {self.owners[one.partition]}'s, now {name}'s"
                        )
                    self.owners[one.partition] = name
                    self.changes += 1
            consumer.incremental_assign(partitions)

        def revoked(consumer: Consumer, partitions: list[TopicPartition]) -> None:
            consumer.incremental_unassign(partitions)
            with self._lock:
                for one in partitions:
                    del self.owners[one.partition]

        return {"on_assign": assigned, "on_revoke": revoked}


def test_a_partition_never_has_two_members(
    endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    """Members join and leave in threads of their own, without waiting for each other."""
    owners, group, ends = Owners(), unique("group"), time.monotonic() + 12.0
    own = endpoint.for_confluent | NEWER | {"group.id": group, "enable.auto.commit": False}

    def run(name: str, stays_s: float) -> None:
        while time.monotonic() < ends:
            with closing(Consumer(own)) as consumer:
                consumer.subscribe([topic], **owners.settings(name))
                until = time.monotonic() + stays_s
                while time.monotonic() < until:
                    consumer.poll(0.1)

    threads = [threading.Thread(target=run, args=(str(one), 2.0 + 1.3 * one)) for one in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert owners.problems == []
    assert owners.changes > 2 * size


def commit(java: JavaClients, consumer: int) -> None:
    """Commit, again while the consumer has not heard of its newer epoch yet.

    That ends its `commitSync` with an exception, as with brokers before KIP-1251. What it has read stays its own
    meanwhile: partitions are given up within `poll` alone.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            java("commit", consumer)
            return
        except JavaError as failure:
            if "stale member epoch" not in str(failure) or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


class Reading:
    """Java consumers of one group, and what all of them have read."""

    def __init__(self, endpoint: Endpoint, group: str, topic: str) -> None:
        self._endpoint, self._group, self._topic = endpoint, group, topic
        self.members: dict[int, tuple[JavaClients, int]] = {}
        self.read: Read = defaultdict(list)
        self._of_two: set[int] = set()

    def join(self, number: int, java: JavaClients, *, pattern: bool = False) -> None:
        """Let one more subscribe."""
        consumer = java.consumer(
            self._endpoint, self._group, group_protocol="consumer", client_id=str(number)
        )
        if pattern:
            java("subscribe_to_brokers_pattern", consumer, f"{self._topic[:-1]}[{self._topic[-1]}]")
        else:
            java("subscribe", consumer, self._topic)
        self.members[number] = java, consumer

    def leave(self, number: int) -> None:
        """Let one leave the group in order."""
        java, consumer = self.members.pop(number)
        java("close", consumer)

    def round(self) -> dict[int, list[int]]:
        """Let each poll and commit; return the partitions of each, of which none has two consumers for long.

        A consumer of Java's that has no metadata of the topic yet acknowledges its assignment without it, and takes it
        up when the metadata has come. If the coordinator wants another assignment by then, it gives the partition to
        another member at once, for no member says that it owns it. The first one has it until its next `poll`. Source:
        AbstractMembershipManager.maybeReconcile, CurrentAssignmentBuilder.ownsRevokedPartitions.
        """
        for java, consumer in self.members.values():
            records = java("poll", consumer, 100)
            for _, partition, _, value in records:
                self.read[partition].append(value)
            if records:
                commit(java, consumer)
        found = {
            number: [partition for _, partition in java("assignment", consumer)]
            for number, (java, consumer) in self.members.items()
        }
        owners = Counter(one for some in found.values() for one in some)
        of_two = {one for one, count in owners.items() if count > 1}
        assert not of_two & self._of_two, found
        self._of_two = of_two
        return found

    def until(self, size: int) -> None:
        """Poll until all partitions have a consumer, and each consumer has some."""
        deadline = time.monotonic() + WAIT_S
        while True:
            found = self.round()
            if sum(map(len, found.values())) == size and all(found.values()) and not self._of_two:
                return
            assert time.monotonic() < deadline, found

    def until_read(self, wanted: Read) -> None:
        """Poll until all is read, and a little longer."""
        deadline, after = time.monotonic() + WAIT_S, 0
        while after < 5:
            self.round()
            after += dict(self.read) == wanted
            assert time.monotonic() < deadline, {one: len(some) for one, some in self.read.items()}
        assert dict(self.read) == wanted


@NEWEST
@pytest.mark.parametrize("pattern", [False, True])
def test_members_of_java_come_and_go(
    java: JavaClients,
    endpoint: Endpoint,
    topic: str,
    size: int,
    physical: int,
    unique: UniqueName,
    pattern: bool,
) -> None:
    group, most = unique("group"), min(3, physical)
    reading, runs = Reading(endpoint, group, topic), []
    for number in range(most):
        reading.join(number, java, pattern=pattern)
        reading.until(size)
        runs.append(str(number))
        produce(endpoint, topic, runs[-1], size=size)
        reading.until_read(expected(topic, *runs, size=size))
    reading.leave(0)
    reading.until(size)
    produce(endpoint, topic, "last", size=size)
    reading.until_read(expected(topic, *runs, "last", size=size))
    for number in list(reading.members):
        reading.leave(number)

    assert lags(endpoint, group, topic, size) == {0}


@NEWEST
def test_the_partitions_of_a_killed_member_are_read_by_others(
    java: JavaClients, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group = unique("group")
    reading = Reading(endpoint, group, topic)
    reading.join(0, java)
    with JavaClients("4.3.1") as killed:
        reading.join(1, killed)
        produce(endpoint, topic, "a", size=size)
        reading.until(size)
        reading.until_read(expected(topic, "a", size=size))
        del reading.members[1]
        # The end of the block kills it, without leaving the group.
    produce(endpoint, topic, "b", size=size)
    reading.until_read(expected(topic, "a", "b", size=size))
    reading.leave(0)

    assert lags(endpoint, group, topic, size) == {0}


@NEWEST
def test_tools_show_and_change_what_a_group_has(
    java: JavaClients, shell: ToolShell, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group = unique("group")
    produce(endpoint, topic, size=size)
    reading = Reading(endpoint, group, topic)
    reading.join(0, java)
    reading.join(1, java)
    reading.until(size)
    reading.until_read(expected(topic, size=size))
    of_group = ("--describe", "--group", group)

    described = shell(tools.CONSUMER_GROUPS, *of_group)
    assert sorted(int(row["PARTITION"]) for row in described) == list(range(size))
    assert {row["LAG"] for row in described} == {"0"}
    assert "-" not in {row["CONSUMER-ID"] for row in described}
    members = shell(tools.CONSUMER_GROUPS, *of_group, "--members")
    assert sum(int(row["#PARTITIONS"]) for row in members) == size
    assert len(members) == 2

    reading.leave(0)
    reading.leave(1)
    options = ("--group", group, "--topic", topic, "--reset-offsets")
    shell(tools.CONSUMER_GROUPS, *options, "--to-earliest", "--execute")
    assert read(endpoint, topic, group, EACH * size, **NEWER) == expected(topic, size=size)
    last = f"{topic}:{size - 1}"
    shell(tools.CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", last)
    described = shell(tools.CONSUMER_GROUPS, *of_group)
    assert sorted(int(row["PARTITION"]) for row in described) == list(range(size - 1))
    listed = shell(tools.CONSUMER_GROUPS, "--delete", "--group", group)
    assert not [row for row in listed if "Error" in row]
    assert read(endpoint, topic, group, EACH * size, **NEWER) == expected(topic, size=size)
