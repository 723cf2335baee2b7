"""Three brokers, one killed: what was acknowledged through the gateway is delivered through the gateway."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import FindCoordinatorRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GatewayProcess, TenantSpec

QUIET = {"log_level": 0}
"""librdkafka reports the connections that are lost, which they are to be."""
BROKERS = 3
PARTITIONS = 6
TOPIC, GROUP = "orders", "billing"
WRITTEN = 100
"""Records acknowledged in each partition before the broker is killed, and again after it is missed."""
MISSED_SOON = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "3000"}
DELIVERED_S = 60.0


@pytest.fixture
def cluster() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(brokers=BROKERS, heap_mb=256, properties=MISSED_SOON) as kafka:
        yield kafka


@pytest.fixture
def tenant(cluster: EmbeddedKafka, tmp_path: Path) -> Iterator[Endpoint]:
    spec = TenantSpec("aurora")
    with GatewayProcess(tmp_path, cluster.bootstrap, tenants=[spec], brokers=BROKERS) as gateway:
        yield gateway.endpoint("aurora")


@pytest.mark.timeout(240)
def test_nothing_acknowledged_is_lost(cluster: EmbeddedKafka, tenant: Endpoint) -> None:
    make_topic(tenant)
    others = set(cluster.node_ids)
    with contextlib.ExitStack() as stack:
        members = [stack.enter_context(WorkerPeers(tenant, f"member-{number}")) for number in range(2)]
        writer = stack.enter_context(Writer(tenant))
        await_that(lambda: all(member.partitions for member in members), "both members have partitions")
        writer.await_more()
        before = len(writer.acknowledged)
        victim = coordinator_of(tenant, GROUP)

        cluster.kill_broker(victim)
        others.discard(victim)
        await_that(lambda: brokers_of(tenant) == others, "the broker is missed")
        writer.await_more()
        acknowledged = writer.stop()
        await_that(
            lambda: acknowledged <= {record for member in members for record in member.records},
            "everything acknowledged is delivered",
        )
        for member in members:
            member.stop()

    assert len(acknowledged) > before > 0
    assert committed(tenant) == ends(tenant)
    cluster.start_broker(victim)
    await_that(lambda: brokers_of(tenant) == set(cluster.node_ids), "the broker is back")
    assert sum(ends(tenant).values()) >= len(acknowledged)


class InBackground:
    """Something done in a thread until it is stopped; a context manager, so that no failure leaves it running."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        raise NotImplementedError


class Writer(InBackground):
    """A producer with acks=all that notes what was acknowledged."""

    def __init__(self, endpoint: Endpoint) -> None:
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 60_000}
        self.acknowledged: set[bytes] = set()
        self._acknowledged_in: Counter[int] = Counter()
        self._producer = confluent_kafka.Producer(endpoint.for_confluent | QUIET | settings)
        super().__init__()

    def stop(self) -> set[bytes]:
        """Write no more, wait for what is under way, and return what was acknowledged."""
        self._end()
        assert self._producer.flush(DELIVERED_S) == 0
        return self.acknowledged

    def await_more(self) -> None:
        """Wait until more was acknowledged in every partition."""
        before = self._acknowledged_in.copy()
        await_that(
            lambda: all(self._acknowledged_in[one] >= before[one] + WRITTEN for one in range(PARTITIONS)),
            f"{WRITTEN} more records are acknowledged in each partition",
        )

    def _work(self) -> None:
        number = 0
        while not self._stopping.is_set():
            value = b"order %d" % number
            self._producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered)
            self._producer.poll(0.002)
            number += 1

    def _delivered(self, error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
        if error is None:
            self.acknowledged.add(message.value())
            self._acknowledged_in[message.partition()] += 1


class WorkerPeers(InBackground):
    """A member of the group that notes what it is given, and commits it."""

    def __init__(self, endpoint: Endpoint, client_id: str) -> None:
        self._settings = (
            endpoint.for_confluent
            | QUIET
            | {
                "group.id": GROUP,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 100,
                "session.timeout.ms": 6000,
            }
        )
        self.records: list[bytes] = []
        self.partitions = 0
        super().__init__()

    def stop(self) -> None:
        """Leave the group; what was read is committed."""
        self._end()

    def _work(self) -> None:
        consumer = confluent_kafka.Consumer(self._settings)
        consumer.subscribe([TOPIC])
        while not self._stopping.is_set():
            message = consumer.poll(0.1)
            self.partitions = len(consumer.assignment())
            if message is not None and message.error() is None:
                self.records.append(message.value())
        consumer.close()


def await_that(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DELIVERED_S
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {DELIVERED_S} s: {what}"
        time.sleep(0.1)


def make_topic(endpoint: Endpoint) -> None:
    admin = AdminClient(endpoint.for_confluent | QUIET)
    (made,) = admin.create_topics([NewTopic(TOPIC, PARTITIONS)]).values()
    assert made.result(DELIVERED_S) is None

    def replicas() -> list[int]:
        (described,) = admin.list_topics(TOPIC).topics.values()
        return [len(partition.replicas) for partition in described.partitions.values()]

    # The broker that is asked may learn of it later than the one that answered.
    await_that(lambda: replicas() == [BROKERS] * PARTITIONS, "each partition is at every broker")


def coordinator_of(endpoint: Endpoint, group: str) -> int:
    with RawClient.authenticated(endpoint) as client:
        return int(client.request(FindCoordinatorRequest(key=group, key_type=0), 2).node_id)


def brokers_of(endpoint: Endpoint) -> set[int]:
    """Return the brokers that live, as the tenant is told; none if the one that is asked is the one that died.

    The gateway itself looks for it anew after `metadata_refresh_ms` only; a client then tries again.
    """
    try:
        with RawClient.authenticated(endpoint) as client:
            return {broker.node_id for broker in client.request(MetadataRequest(topics=[]), 5).brokers}
    except (EOFError, ConnectionError):
        return set()


def partitions() -> list[confluent_kafka.TopicPartition]:
    return [confluent_kafka.TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]


def committed(endpoint: Endpoint) -> dict[int, int]:
    """Return the group's committed offset of each partition."""
    consumer = confluent_kafka.Consumer(endpoint.for_confluent | {"group.id": GROUP})
    try:
        return {one.partition: one.offset for one in consumer.committed(partitions(), DELIVERED_S)}
    finally:
        consumer.close()


def ends(endpoint: Endpoint) -> dict[int, int]:
    """Return the end of each partition."""
    consumer = confluent_kafka.Consumer(endpoint.for_confluent | {"group.id": GROUP})
    try:
        return {one.partition: consumer.get_watermark_offsets(one, DELIVERED_S)[1] for one in partitions()}
    finally:
        consumer.close()
