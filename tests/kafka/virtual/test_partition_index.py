"""The index of where virtual partitions end, on a real Kafka: far ends are exact, also after restarts, or not told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.index.index_entry import read_key, read_value
from bifrost.tenancy.virtual_partitions.index.scan_turn import GONE_MS
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListOffsetsRequest, OffsetCommitRequest
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools
from support.brokers.tool_shell import ToolShell
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, metadata_of
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import INITECH, GatewayProcess
from support.physical_names import physical_name
from support.virtual_topics import RULES, WAIT_S

MANY = 40_000
IDLE, BUSY = 4, 0
"""Virtual partitions of the same physical one."""
RECORDS = "kafka_proxy_virtual_partition_index_records_total"

Start = Callable[[], Any]


@pytest.fixture
def index_topic(unique: UniqueName) -> str:
    return f"__index_{unique('of')}"


@pytest.fixture
def start(kafka: EmbeddedKafka, tmp_path: Path, index_topic: str) -> Start:
    """Start a gateway whose tenant may delete topics; each is another process."""

    @contextmanager
    def started() -> Iterator[GatewayProcess]:
        directory = tmp_path / f"gateway-{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        options: dict[str, Any] = {
            "tenants": [INITECH],
            "has_admin": True,
            "proxy": {"partition_index": {"topic": index_topic}},
            "adjust": lambda config: config["tenants"][0].update(virtual_partitions=RULES),
        }
        with GatewayProcess(directory, kafka.bootstrap, **options) as process:
            yield process

    return started


@pytest.fixture
def topic(direct: RawClient, unique: UniqueName) -> str:
    return unique("even")


def create(gateway: GatewayProcess, direct: RawClient, topic: str) -> None:
    admin = AdminClient(gateway.endpoint("initech").for_confluent)
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            admin.create_topics([NewTopic(topic, 12, 1)])[topic].result(WAIT_S)
        except KafkaException as error:  # Until the one before it is gone.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS or time.monotonic() >= deadline:
                raise
            time.sleep(0.1)
        else:
            break
    await_topic(direct, physical_name("initech", topic), 4)


def send(endpoint: Endpoint, topic: str, partition: int, count: int) -> None:
    told: list[Any] = []
    producer = Producer(endpoint.for_confluent | {"linger.ms": 20, "batch.num.messages": 500})
    for _ in range(count):
        producer.produce(topic, b"v", partition=partition, on_delivery=lambda error, _: told.append(error))
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    assert told == [None] * count


def consume(endpoint: Endpoint, topic: str, group: str, count: int, *, idle_s: float = 1.0) -> None:
    """Read so many records as a group, stay for a while, and commit where all partitions are."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline, until = time.monotonic() + WAIT_S, None
        while count or until is None or time.monotonic() < until:
            assert time.monotonic() < deadline, count
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None
                count -= 1
            if not count and until is None and consumer.assignment():
                until = time.monotonic() + idle_s
        consumer.commit(asynchronous=False)


def lags(kafka_tool: KafkaTools, gateway: GatewayProcess, directory: Path, group: str) -> dict[int, int]:
    shell = ToolShell(kafka_tool, gateway.endpoint("initech"), directory)
    rows = shell(tools.CONSUMER_GROUPS, "--describe", "--group", group)
    return {int(row["PARTITION"]): int(row["LAG"]) for row in rows if row["LAG"] != "-"}


def ends(gateway: GatewayProcess, topic: str) -> dict[int, int]:
    """Return where all virtual partitions end; a gateway that has read enough for one answer is asked again."""
    new = ListOffsetsRequest
    some = [new.ListOffsetsPartition(partition_index=one, timestamp=-1) for one in range(12)]
    request = new(replica_id=-1, topics=[new.ListOffsetsTopic(name=topic, partitions=some)])
    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        while True:
            (named,) = client.request(request, 7).topics
            codes = {one.error_code for one in named.partitions}
            if codes == {0}:
                return {one.partition_index: one.offset for one in named.partitions}
            assert codes <= {0, ErrorCode.KAFKA_STORAGE_ERROR}


def entries(kafka: EmbeddedKafka, index_topic: str) -> dict[tuple[bytes, int], Any]:
    """Return the last entry of each physical partition, as the topic has them; None: it was deleted."""
    found: dict[tuple[bytes, int], Any] = {}
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": "reader", "enable.partition.eof": True}
    with closing(Consumer(settings | {"auto.offset.reset": "earliest"})) as consumer:
        consumer.assign([TopicPartition(index_topic, 0, 0)])
        while True:
            message = consumer.poll(WAIT_S)
            assert message is not None
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF
                return found
            place = read_key(message.key())
            if place is not None:
                found[place] = None if message.value() is None else read_value(message.value())


def await_entry(kafka: EmbeddedKafka, index_topic: str, topic: str, end: int) -> Any:
    """Wait until the index covers the first physical partition of a topic up to an offset."""
    place = physical_name("initech", topic).encode(), 0
    deadline = time.monotonic() + WAIT_S + GONE_MS / 1000
    while True:
        entry = entries(kafka, index_topic).get(place)
        if entry is not None and entry.end >= end:
            return entry
        assert time.monotonic() < deadline, entry
        time.sleep(0.5)


def test_the_lag_of_a_stopped_group_is_exact_after_a_restart(
    start: Start,
    kafka: EmbeddedKafka,
    direct: RawClient,
    kafka_tool: KafkaTools,
    topic: str,
    index_topic: str,
    unique: UniqueName,
    tmp_path: Path,
) -> None:
    """One record of a virtual partition, then 40,000 of its neighbour."""
    group = unique("group")
    with start() as gateway:
        endpoint = gateway.endpoint("initech")
        create(gateway, direct, topic)
        send(endpoint, topic, IDLE, 1)
        send(endpoint, topic, BUSY, 1)
        consume(endpoint, topic, group, 2)
        send(endpoint, topic, BUSY, MANY)
        entry = await_entry(kafka, index_topic, topic, MANY - STEP)
        expected = dict.fromkeys(range(12), 0) | {IDLE: 1, BUSY: MANY + 2}
        assert ends(gateway, topic) == expected
    assert (entry.begin, entry.ends[1]) == (0, 1)

    with start() as gateway:
        assert ends(gateway, topic) == expected
        lag = lags(kafka_tool, gateway, tmp_path, group)
        assert lag[IDLE] == 0
        assert lag == dict.fromkeys(lag, 0) | {BUSY: MANY}
        # What follows is read from the last entry on, by the request itself.
        send(gateway.endpoint("initech"), topic, BUSY, 3 * STEP)
        assert ends(gateway, topic)[IDLE] == 1
        assert value(gateway, RECORDS, outcome="distrusted") == 0


def test_the_lag_of_a_running_group_is_exact(
    start: Start,
    kafka: EmbeddedKafka,
    direct: RawClient,
    kafka_tool: KafkaTools,
    topic: str,
    index_topic: str,
    unique: UniqueName,
    tmp_path: Path,
) -> None:
    """Its consumers are moved beyond the last records of idle partitions, and commit that."""
    group = unique("group")
    with start() as gateway:
        endpoint = gateway.endpoint("initech")
        create(gateway, direct, topic)
        send(endpoint, topic, IDLE, 1)
        send(endpoint, topic, BUSY, MANY)
        consume(endpoint, topic, group, MANY + 1, idle_s=3.0)
        await_entry(kafka, index_topic, topic, MANY - STEP)
        lag = lags(kafka_tool, gateway, tmp_path, group)
        assert (lag.keys() >= {IDLE, BUSY}, set(lag.values())) == (True, {0})

    with start() as gateway:
        lag = lags(kafka_tool, gateway, tmp_path, group)
        assert (lag.keys() >= {IDLE, BUSY}, set(lag.values())) == (True, {0})
        assert ends(gateway, topic)[IDLE] in range(1, MANY)


def test_a_topic_that_was_made_anew_is_another_log(
    start: Start, kafka: EmbeddedKafka, direct: RawClient, topic: str, index_topic: str
) -> None:
    with start() as gateway:
        endpoint = gateway.endpoint("initech")
        create(gateway, direct, topic)
        send(endpoint, topic, BUSY, 100)
        send(endpoint, topic, IDLE, 1)
        send(endpoint, topic, BUSY, MANY)
        await_entry(kafka, index_topic, topic, MANY - STEP)
        assert ends(gateway, topic)[IDLE] == 101
        admin = AdminClient(endpoint.for_confluent)
        admin.delete_topics([topic])[topic].result(WAIT_S)

    with start() as gateway:
        endpoint = gateway.endpoint("initech")
        create(gateway, direct, topic)
        send(endpoint, topic, IDLE, 1)
        send(endpoint, topic, BUSY, 2 * MANY)
        # Before the gateway has read the log, it ends at the floor; then behind its own record.
        assert ends(gateway, topic)[IDLE] in {1, (2 * MANY + 1) // STEP * STEP - STEP}
        await_entry(kafka, index_topic, topic, 2 * MANY - STEP)
        assert ends(gateway, topic)[IDLE] == 1


def test_entries_that_are_wrong_or_none_are_ignored(
    start: Start, kafka: EmbeddedKafka, direct: RawClient, topic: str, index_topic: str
) -> None:
    with start() as gateway:
        endpoint = gateway.endpoint("initech")
        create(gateway, direct, topic)
        send(endpoint, topic, IDLE, 1)
        send(endpoint, topic, BUSY, MANY)
        entry = await_entry(kafka, index_topic, topic, MANY - STEP)
    key = b"partition:%b:0" % physical_name("initech", topic).encode()
    wrong = {
        "version": 1,
        "topic_id": entry.topic_id.hex(),
        "from": 0,
        "to": MANY + 1,
        "last_batch": {"offset": MANY - 10, "leader_epoch": 0, "crc": 12345},
        "ends": {"0": MANY + 1, "1": 30_000},
        "moved": {},
    }
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for data in (None, b"{", b"\0" * 100_000, json.dumps(wrong | {"version": 9}), json.dumps(wrong)):
        producer.produce(index_topic, data, key=key)
    producer.produce(index_topic, b"no batch of a gateway's", key=b"scanner")
    assert producer.flush(WAIT_S) == 0

    with start() as gateway:
        deadline = time.monotonic() + WAIT_S
        while value(gateway, RECORDS, outcome="unreadable") < 4:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        # The log disproves the last one, and the index is built anew.
        while ends(gateway, topic)[IDLE] != 1:
            assert time.monotonic() < deadline + GONE_MS / 1000
            assert ends(gateway, topic)[IDLE] != 30_000
            time.sleep(0.5)
        assert value(gateway, RECORDS, outcome="distrusted") >= 1


def commit(gateway: GatewayProcess, group: str, topic: str, offset: int, **member: Any) -> set[int]:
    """Commit an offset of both partitions; return the errors."""
    new = OffsetCommitRequest
    some = [
        new.OffsetCommitRequestPartition(partition_index=one, committed_offset=offset) for one in (BUSY, IDLE)
    ]
    topics = [new.OffsetCommitRequestTopic(name=topic, partitions=some)]
    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        (named,) = client.request(new(group_id=group, topics=topics, **member), 7).topics
    return {one.error_code for one in named.partitions}


def test_a_commit_moves_an_end_only_where_it_is_accepted_and_the_log_is_so_long(
    start: Start,
    warm: EmbeddedKafka,
    direct: RawClient,
    topic: str,
    index_topic: str,
    unique: UniqueName,
) -> None:
    group, end = unique("group"), 2 * STEP + STEP // 2
    zombie = {"generation_id_or_member_epoch": 7, "member_id": "gone"}
    outside = {"generation_id_or_member_epoch": -1, "member_id": ""}
    with start() as gateway:
        create(gateway, direct, topic)
        send(gateway.endpoint("initech"), topic, IDLE, 1)
        send(gateway.endpoint("initech"), topic, BUSY, end)
        deadline = time.monotonic() + WAIT_S
        while ends(gateway, topic)[IDLE] != 1:  # Until the gateway has read the log.
            assert time.monotonic() < deadline
            time.sleep(0.2)
        refused = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
        assert commit(gateway, group, topic, STEP, **zombie) <= refused
        assert commit(gateway, group, topic, 1_000 * STEP, **outside) == {0}
        assert ends(gateway, topic)[IDLE] == 1
    place = physical_name("initech", topic).encode(), 0
    assert entries(warm, index_topic)[place].moved == {}

    with start() as gateway:
        assert commit(gateway, group, topic, STEP, **outside) == {0}
        assert ends(gateway, topic)[IDLE] == STEP
    assert entries(warm, index_topic)[place].moved == {1: STEP}


def test_the_topic_is_hidden_and_is_not_there_without_virtual_partitions(
    start: Start,
    kafka: EmbeddedKafka,
    direct: RawClient,
    topic: str,
    index_topic: str,
    tmp_path: Path,
) -> None:
    directory = tmp_path / "plain"
    directory.mkdir()
    options: dict[str, Any] = {
        "tenants": [INITECH],
        "proxy": {"partition_index": {"topic": index_topic}},
    }
    with GatewayProcess(directory, kafka.bootstrap, **options):
        time.sleep(3.0)
    (found,) = metadata_of(direct, index_topic)
    assert found.error_code == KafkaError.UNKNOWN_TOPIC_OR_PART

    with start() as gateway:
        await_topic(direct, index_topic, 1)
        admin = AdminClient(gateway.endpoint("initech").for_confluent)
        assert index_topic not in admin.list_topics(timeout=WAIT_S).topics
        assert gateway.await_event(0, event="partition_index_topic_created")["topic"] == index_topic
