"""A broker is killed at a single address.

While clients write and read, what was acknowledged is read once, in order. What was asked of all brokers is complete
while one is away, and from the moment in which it serves again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListGroupsRequest, OffsetCommitRequest
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import physical_name

WAIT_S = 90.0
PARTITIONS = 9
TOPIC = "lost"
MORE = 300
"""Records that are written and read before the next thing happens."""
GROUPS = {f"listed-{number}" for number in range(12)}
"""Groups with an offset; the four partitions that hold them are led by three brokers."""
LOST = 2


@pytest.fixture
def gateway(
    kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("lost")
    with GatewayProcess(
        directory, kafka_cluster.bootstrap, brokers=3, is_single_address=True, log_level="debug"
    ) as process:
        yield process


class Writer(threading.Thread):
    """Writes numbered records to all partitions in turn, and notes which are acknowledged."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(daemon=True)
        options = {"enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": int(WAIT_S * 1000)}
        self._producer = Producer(endpoint.for_confluent | options)
        self.stopping = threading.Event()
        self.written = 0
        self.acknowledged: set[int] = set()
        self.failed: list[object] = []

    def run(self) -> None:
        while not self.stopping.is_set():
            number = self.written
            self.written += 1
            self._producer.produce(
                TOPIC,
                b"%d" % number,
                partition=number % PARTITIONS,
                on_delivery=lambda error, message: self._note(error, int(message.value())),
            )
            self._producer.poll(0.002)
        self._producer.flush(WAIT_S)

    def _note(self, error: object, number: int) -> None:
        if error is None:
            self.acknowledged.add(number)
        else:
            self.failed.append((number, error))


class Reader(threading.Thread):
    """Reads as the only member of a group."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(daemon=True)
        options = {"group.id": "readers", "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
        self._consumer = Consumer(endpoint.for_confluent | options)
        self.stopping = threading.Event()
        self.found: dict[int, list[int]] = {one: [] for one in range(PARTITIONS)}

    @property
    def count(self) -> int:
        return sum(map(len, self.found.values()))

    def run(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self.stopping.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.found[message.partition()].append(int(message.value()))
        self._consumer.close()


def await_more(writer: Writer, reader: Reader) -> None:
    """Wait until more was written to each partition from now on, and read."""
    goals = {one: writer.written + MORE + one for one in range(PARTITIONS)}
    deadline = time.monotonic() + WAIT_S
    while any(max(reader.found[one], default=0) < goal for one, goal in goals.items()):
        read = {one: max(numbers, default=0) for one, numbers in reader.found.items()}
        assert time.monotonic() < deadline, (read, writer.written, len(writer.acknowledged))
        time.sleep(0.05)


@pytest.mark.timeout(600)
def test_nothing_that_was_acknowledged_is_lost(kafka_cluster: EmbeddedKafka, gateway: GatewayProcess) -> None:
    endpoint = gateway.endpoint("initech")
    admin = AdminClient(endpoint.for_confluent)
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)]).values():
        future.result(WAIT_S)
    loss = BrokerLoss(kafka_cluster, elects_first=False)
    writer, reader = Writer(endpoint), Reader(endpoint)
    writer.start()
    reader.start()
    await_more(writer, reader)

    for node_id in (2, 3):
        with loss.without(node_id):
            await_more(writer, reader)
        await_more(writer, reader)
    writer.stopping.set()
    writer.join(2 * WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while reader.count < len(writer.acknowledged) and time.monotonic() < deadline:
        time.sleep(0.1)
    reader.stopping.set()
    reader.join(WAIT_S)

    assert not writer.is_alive()
    assert writer.failed == []
    assert writer.acknowledged == set(range(writer.written))
    for partition, numbers in reader.found.items():
        assert numbers == sorted(numbers), f"partition {partition} is out of order"
        assert numbers == list(range(partition, writer.written, PARTITIONS))
    assert any(one["event"] == "route_lost" for one in gateway.events())


def commit_offset(client: RawClient, group_id: str, topic: str) -> None:
    """Let a group have an offset, once its coordinator takes it."""
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    request = OffsetCommitRequest(group_id=group_id, generation_id_or_member_epoch=-1, topics=topics)
    deadline = time.monotonic() + WAIT_S
    while code := client.request(request, 7).topics[0].partitions[0].error_code:
        assert time.monotonic() < deadline, ErrorCode(code).name
        time.sleep(0.1)


def groups_at(client: RawClient) -> set[str]:
    answer = client.request(ListGroupsRequest(), 4)
    assert answer.error_code == ErrorCode.NONE
    return {one.group_id for one in answer.groups}


def await_groups(kafka: EmbeddedKafka, away: int | None = None) -> dict[int, set[str]]:
    """Wait until the brokers list all groups; return whom each lists.

    Until the replicas of its partition have what it has loaded, a new coordinator omits a group, without an error.
    """
    physical = {physical_name("initech", one) for one in GROUPS}
    deadline = time.monotonic() + WAIT_S
    while True:
        found, codes = dict[int, set[str]](), set[int]()
        for node_id in sorted(set(kafka.node_ids) - {away}):
            with RawClient(Endpoint(HOST, kafka.broker_port(node_id))) as direct:
                answer = direct.request(ListGroupsRequest(), 4)
            codes.add(answer.error_code)
            found[node_id] = physical & {one.group_id for one in answer.groups}
        if codes == {ErrorCode.NONE} and set().union(*found.values()) == physical:
            return found
        assert time.monotonic() < deadline, (codes, found)
        time.sleep(0.1)


@pytest.mark.timeout(300)
def test_all_groups_are_listed_while_a_broker_is_away_and_as_soon_as_it_serves_again(
    kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory, limits = tmp_path_factory.mktemp("listed"), {"metadata_refresh_ms": 3_600_000}
    bootstrap, loss = kafka_cluster.bootstrap, BrokerLoss(kafka_cluster)
    with (
        GatewayProcess(directory, bootstrap, brokers=3, is_single_address=True, limits=limits) as process,
        RawClient.authenticated(process.endpoint("initech")) as client,
    ):
        create_topic(client, "listed")
        for one in sorted(GROUPS):
            commit_offset(client, one, "listed")
        assert groups_at(client) >= GROUPS

        with loss.without(LOST):
            await_groups(kafka_cluster, away=LOST)
            assert groups_at(client) >= GROUPS
        coordinated = await_groups(kafka_cluster)[LOST]
        found = groups_at(client)

        assert coordinated, "the broker that was away coordinates some of them"
        assert found >= GROUPS
