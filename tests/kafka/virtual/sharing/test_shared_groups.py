"""A group of twelve consumers of twelve virtual partitions on four: together they read at most twice what there is.

Each consumer has one partition, so without sharing every record would be read three times from the broker. What is read
is what the gateway counts as fetched from brokers.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from prometheus_client.parser import text_string_to_metric_families

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.gateways.admin_port import ask
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import RULES, WAIT_S

_log = logging.getLogger(__name__)

VIRTUAL, PHYSICAL, MEMBERS = 12, 4, 12
FETCHED = "kafka_proxy_virtual_partition_fetched_bytes_total"
SHARED = "kafka_proxy_virtual_partition_shared_bytes_total"
HELD = "kafka_proxy_virtual_partition_recent_bytes"
RECORD_BYTES = 4_000
PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}
"""What a consumer tells while a broker is away, and gets over."""


@pytest.fixture
def even(endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic with twelve virtual partitions on four."""
    name = unique("even")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, VIRTUAL, 1)])[name].result(WAIT_S)
    await_topic(direct, physical_name("globex", name), PHYSICAL)
    return name


def with_rules(config: dict[str, Any]) -> None:
    config["tenants"][0]["virtual_partitions"] = RULES


def counted(gateway: GatewayProcess, name: str) -> int:
    """Return a metric of the tenant, the sum of all its labels."""
    families = text_string_to_metric_families(ask(gateway, "/metrics")[1])
    return sum(int(one.value) for family in families for one in family.samples if one.name == name)


class Group:
    """Consumers of a group, each with a thread of its own."""

    def __init__(
        self, endpoint: Endpoint, topic: str, group: str, *, is_behind: bool = False, **options: Any
    ) -> None:
        """Join later; `is_behind`: there are records already, and none is read before all have joined.

        What librdkafka holds when a partition is resumed it may give twice, so nothing is paused where records come.
        """
        self.topic, self.group, self._is_behind = topic, group, is_behind
        self._options = {
            **endpoint.for_confluent,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "partition.assignment.strategy": "roundrobin",
            **options,
        }
        self.read: dict[int, list[int]] = defaultdict(list)
        self.owners: dict[int, int] = {}
        self.failures: list[Exception] = []
        self._lock, self._stop, self._starts = threading.Lock(), threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._consume, args=(one,)) for one in range(MEMBERS)]

    def start(self) -> None:
        """Let all join, and wait until each has its partition."""
        for one in self._threads:
            one.start()
        self.until(lambda: len(self.owners) == VIRTUAL and len(set(self.owners.values())) == MEMBERS)
        self._starts.set()

    def stop(self) -> None:
        """Let all go."""
        self._stop.set()
        for one in self._threads:
            one.join(WAIT_S)
        assert self.failures == []

    def until(self, is_so: Any) -> None:
        """Wait."""
        deadline = time.monotonic() + WAIT_S
        while not is_so():
            assert not self.failures
            assert time.monotonic() < deadline, (
                self.owners,
                {key: len(some) for key, some in self.read.items()},
            )
            time.sleep(0.05)

    def await_records(self, count: int) -> None:
        """Wait until so many records were read, and see that no more come."""
        self.until(lambda: sum(map(len, self.read.values())) >= count)
        time.sleep(1)
        assert sum(map(len, self.read.values())) == count, dict(self.read)

    def _consume(self, number: int) -> None:
        try:
            with closing(Consumer(self._options)) as consumer:

                def assigned(one: Consumer, partitions: list[Any]) -> None:
                    self.owners.update({place.partition: number for place in partitions})
                    one.assign(partitions)
                    if self._is_behind and not self._starts.is_set():
                        one.pause(partitions)

                consumer.subscribe([self.topic], on_assign=assigned)
                is_paused = self._is_behind
                while not self._stop.is_set():
                    if is_paused and self._starts.is_set() and consumer.assignment():
                        consumer.resume(consumer.assignment())
                        is_paused = False
                    for message in consumer.consume(500, 0.1):
                        error = message.error()
                        if error is not None and error.code() not in PASSING:
                            raise KafkaException(error)
                        if error is not None:
                            continue
                        value = int(message.value()[:10])
                        with self._lock:
                            self.read[message.partition()].append(value)
        except Exception as error:
            self.failures.append(error)


def produce(
    endpoint: Endpoint, topic: str, numbers: range, pause_s: float = 0.0, size: int = RECORD_BYTES
) -> None:
    """Write a record with each number to each partition, random bytes, in batches of some."""
    own = {"linger.ms": 5, "batch.num.messages": 20, "enable.idempotence": True}
    producer = Producer(endpoint.for_confluent | own)
    for number in numbers:
        for partition in range(VIRTUAL):
            value = b"%010d" % number + os.urandom(size // 2 - 5).hex().encode()
            producer.produce(topic, value, partition=partition)
        producer.poll(pause_s)
    assert producer.flush(WAIT_S) == 0


def check(group: Group, numbers: range) -> None:
    """Each record once, in order."""
    assert dict(group.read) == {partition: list(numbers) for partition in range(VIRTUAL)}


def test_a_group_that_starts_behind_reads_at_most_twice_what_there_is(
    dividing: GatewayProcess, endpoint: Endpoint, even: str, unique: UniqueName
) -> None:
    numbers = range(500)
    produce(endpoint, even, numbers)
    there_is = len(numbers) * VIRTUAL * RECORD_BYTES
    group = Group(endpoint, even, unique("group"), is_behind=True)
    group.start()
    before, shared = counted(dividing, FETCHED), counted(dividing, SHARED)
    try:
        group.await_records(len(numbers) * VIRTUAL)
    finally:
        group.stop()

    fetched, shared = counted(dividing, FETCHED) - before, counted(dividing, SHARED) - shared
    _log.info(f"there is {there_is}, fetched {fetched}, {fetched / there_is:.2f} times, shared {shared}")
    check(group, numbers)
    assert there_is <= fetched <= 2 * there_is
    assert shared > 0
    assert 0 <= counted(dividing, HELD) <= 12 * 1024 * 1024


def test_a_group_that_follows_the_log_reads_at_most_twice_what_there_is(
    dividing: GatewayProcess, endpoint: Endpoint, even: str, unique: UniqueName
) -> None:
    numbers = range(200)
    there_is = len(numbers) * VIRTUAL * RECORD_BYTES
    group = Group(endpoint, even, unique("group"))
    group.start()
    before, shared = counted(dividing, FETCHED), counted(dividing, SHARED)
    try:
        produce(endpoint, even, numbers, pause_s=0.05)
        group.await_records(len(numbers) * VIRTUAL)
    finally:
        group.stop()

    fetched, shared = counted(dividing, FETCHED) - before, counted(dividing, SHARED) - shared
    _log.info(f"there is {there_is}, fetched {fetched}, {fetched / there_is:.2f} times, shared {shared}")
    check(group, numbers)
    assert there_is <= fetched <= 2 * there_is
    assert shared > 0


def test_a_group_gets_the_records_of_committed_transactions_alone(
    dividing: GatewayProcess, endpoint: Endpoint, even: str, unique: UniqueName
) -> None:
    """Each second transaction is aborted; the answers that are shared name those that are."""
    group, shared = Group(endpoint, even, unique("group")), counted(dividing, SHARED)
    group.start()
    producer = Producer(endpoint.for_confluent | {"transactional.id": unique("transactions")})
    producer.init_transactions(WAIT_S)
    try:
        for number in range(40):
            producer.begin_transaction()
            for partition in range(VIRTUAL):
                producer.produce(even, b"%010d" % number, partition=partition)
            if number % 2:
                producer.commit_transaction(WAIT_S)
            else:
                assert producer.flush(WAIT_S) == 0
                producer.abort_transaction(WAIT_S)
        group.await_records(20 * VIRTUAL)
        behind = Group(endpoint, even, unique("behind"), is_behind=True)
        behind.start()
        try:
            behind.await_records(20 * VIRTUAL)
        finally:
            behind.stop()
    finally:
        group.stop()

    check(group, range(1, 40, 2))
    check(behind, range(1, 40, 2))
    assert counted(dividing, SHARED) > shared


@pytest.mark.parametrize("java", ["2.8.2", "4.3.1"], indirect=True)
def test_consumers_of_java_share_what_is_fetched(
    dividing: GatewayProcess, endpoint: Endpoint, even: str, java: JavaClients
) -> None:
    """They check that an answer has all partitions that they have asked for; the newer one names topics by their ID."""
    numbers, partitions = range(100), (1, 5, 9)
    produce(endpoint, even, numbers, size=200)
    before, shared = counted(dividing, FETCHED), counted(dividing, SHARED)
    consumers = [java.consumer(endpoint) for _ in partitions]
    for consumer, partition in zip(consumers, partitions, strict=True):
        java("assign", consumer, even, partition, 2)
    found: list[list[Any]] = [[] for _ in partitions]
    deadline = time.monotonic() + WAIT_S
    while min(map(len, found)) < 2 * len(numbers):
        assert time.monotonic() < deadline
        for consumer, some in zip(consumers, found, strict=True):
            some.extend(java("poll", consumer, 50))
    for partition, some in zip(partitions, found, strict=True):
        for wanted in (partition, 2):
            assert [int(value[:10]) for _, number, _, value in some if number == wanted] == list(numbers)
    java("close", *consumers)

    fetched, shared = counted(dividing, FETCHED) - before, counted(dividing, SHARED) - shared
    _log.info(f"fetched {fetched}, shared {shared}")
    assert shared > 0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_single_address", [False, True], ids=["by broker", "single address"])
def test_a_killed_broker_gives_no_wrong_records(
    kafka_cluster: EmbeddedKafka, tmp_path: Path, is_single_address: bool
) -> None:
    """The group goes on with the other leaders, and reads each record once, in order, while the producer writes."""
    name = "even-single" if is_single_address else "even-killed"
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": with_rules, "has_admin": True}
    options["is_single_address"] = is_single_address
    with GatewayProcess(tmp_path, kafka_cluster.bootstrap, brokers=3, **options) as gateway:
        endpoint = gateway.endpoint("globex")
        config = {"min.insync.replicas": "2"}
        topic = NewTopic(name, VIRTUAL, 3, config=config)
        admin = AdminClient(endpoint.for_confluent)
        admin.create_topics([topic])[name].result(WAIT_S)
        group = Group(endpoint, name, name)
        group.start()
        loss = BrokerLoss(kafka_cluster, elects_first=False)
        stop, written = threading.Event(), [0]

        def write() -> None:
            while not stop.is_set():
                produce(endpoint, name, range(written[0], written[0] + 20), pause_s=0.02, size=200)
                written[0] += 20

        writer = threading.Thread(target=write)
        writer.start()
        try:
            group.until(lambda: min(map(len, group.read.values()), default=0) > 40)
            with loss.without(kafka_cluster.node_ids[-1]):
                reached = min(map(len, group.read.values())) + 60
                group.until(lambda: min(map(len, group.read.values())) > reached)
            reached = min(map(len, group.read.values())) + 60
            group.until(lambda: min(map(len, group.read.values())) > reached)
            stop.set()
            writer.join(WAIT_S)
            group.until(lambda: sum(map(len, group.read.values())) >= written[0] * VIRTUAL)
        finally:
            stop.set()
            group.stop()
        shared, fetched = counted(gateway, SHARED), counted(gateway, FETCHED)
    _log.info(f"{written[0]} records of each partition, fetched {fetched}, shared {shared}")
    check(group, range(written[0]))
    assert shared > 0
