"""Filters of records on a real Kafka: headers and policies, with every codec and the clients that users have."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.clients.record_batches import build_batch
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients, JavaError
from support.java.java_transactions import COMMITTED, read_committed, send_three_transactions
from support.pages.console import SHARE_CONSUMER
from support.physical_names import physical_name

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 60.0
OPEN, STRICT, FREE, AGREED = "chain-open", "chain-strict", "chainless", "agreed"
HEADERS = [("internal", b"secret"), ("trace", b"t1")]

FILTERS = [
    {
        "name": "RecordHeaders",
        "label": "edge",
        "config": {
            "add": [{"key": "region", "value": "eu"}],
            "remove": ["internal"],
            "rename": [{"key": "trace", "to": "traceparent"}],
        },
        "rules": [{"topics": ["chain-*"], "direction": "produce"}],
    },
    {
        "name": "ProducePolicy",
        "config": {"require_key": True, "max_record_bytes": "10 KiB", "acks": ["all", "0"]},
        "rules": [{"topics": [STRICT], "principals": ["User:globex"]}],
    },
    {
        "name": "ProducePolicy",
        "label": "agreed",
        "config": {"required_headers": ["trace"], "compression": ["none", "lz4"]},
        "rules": [{"topics": [AGREED]}],
    },
    {
        "name": "RecordHeaders",
        "label": "seen",
        "config": {"add": [{"key": "seen", "value": "yes"}]},
        "rules": [{"topics": ["chain-*"], "direction": "fetch"}],
    },
]


def with_filters(config: dict[str, Any]) -> None:
    config["tenants"][0]["filters"] = FILTERS


@pytest.fixture(scope="module")
def filtering(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("filtering")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": with_filters, "has_admin": True}
    with GatewayProcess(directory, kafka.bootstrap, **options) as process:
        yield process


@pytest.fixture
def endpoint(filtering: GatewayProcess, fresh_topic: FreshTopic) -> Endpoint:
    for topic in (OPEN, STRICT, FREE, AGREED):
        fresh_topic("globex", topic)
    return filtering.endpoint("globex")


def end_offset(broker: Endpoint, topic: str) -> int:
    """Return how many records and markers of a topic of the tenant the broker has."""
    with closing(Consumer(broker.for_confluent | {"group.id": "unused"})) as consumer:
        place = TopicPartition(physical_name("globex", topic), 0)
        return int(consumer.get_watermark_offsets(place, timeout=WAIT_S)[1])


STORED = [("traceparent", b"t1"), ("region", b"eu")]
SEEN = [*STORED, ("seen", b"yes")]


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_sends_and_reads_what_the_filters_make(
    endpoint: Endpoint, broker: Endpoint, codec: str
) -> None:
    producer = Producer(
        endpoint.for_confluent
        | {"compression.type": codec, "linger.ms": 50, "enable.idempotence": True, "batch.num.messages": 100}
    )
    told: list[Any] = []
    for number in range(500):
        producer.produce(
            OPEN, b"v%d" % number, b"k%d" % number, headers=HEADERS, callback=lambda *one: told.append(one)
        )
    producer.flush(WAIT_S)

    assert [error for error, _ in told if error] == []
    stored, seen = read(broker, physical_name("globex", OPEN), 500), read(endpoint, OPEN, 500)
    assert [(one.key(), one.value()) for one in stored] == [
        (b"k%d" % number, b"v%d" % number) for number in range(500)
    ]
    assert [one.headers() for one in stored] == [STORED] * 500
    assert [(one.offset(), one.key(), one.value(), one.timestamp()) for one in seen] == [
        (one.offset(), one.key(), one.value(), one.timestamp()) for one in stored
    ]
    assert [one.headers() for one in seen] == [SEEN] * 500


@pytest.mark.parametrize("codec", [None, *CODECS[1:]])
def test_kafka_python_sends_and_reads_what_the_filters_make(endpoint: Endpoint, codec: str | None) -> None:
    with closing(KafkaProducer(compression_type=codec, linger_ms=20, **endpoint.for_python)) as producer:
        sent = [producer.send(OPEN, b"v%d" % number, headers=HEADERS) for number in range(50)]
        assert all(one.get(WAIT_S) for one in sent)
    with closing(KafkaConsumer(**endpoint.for_python)) as consumer:
        place = PythonTopicPartition(OPEN, 0)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        records: list[Any] = []
        deadline = time.monotonic() + WAIT_S
        while len(records) < 50:
            assert time.monotonic() < deadline, records
            records += consumer.poll(timeout_ms=200).get(place, [])

    assert [one.value for one in records] == [b"v%d" % number for number in range(50)]
    assert [list(one.headers) for one in records] == [SEEN] * 50


def test_rejected_records_never_reach_the_broker_and_others_do(endpoint: Endpoint, broker: Endpoint) -> None:
    producer = Producer(endpoint.for_confluent | {"linger.ms": 5})
    told: dict[tuple[str, bytes], KafkaError | None] = {}

    def note(error: KafkaError | None, message: Message) -> None:
        told[message.topic(), message.value()] = error

    producer.produce(STRICT, b"without a key", callback=note)
    producer.produce(OPEN, b"without a key", callback=note)
    producer.flush(WAIT_S)
    producer.produce(STRICT, b"x" * 20_000, b"key", callback=note)
    producer.flush(WAIT_S)
    producer.produce(STRICT, b"fine", b"key", callback=note)
    producer.flush(WAIT_S)

    codes = {key: None if error is None else error.code() for key, error in told.items()}
    assert codes == {
        (STRICT, b"without a key"): KafkaError.INVALID_RECORD,
        (OPEN, b"without a key"): None,
        (STRICT, b"x" * 20_000): KafkaError.INVALID_RECORD,
        (STRICT, b"fine"): None,
    }
    assert [one.value() for one in read(broker, physical_name("globex", STRICT), 1)] == [b"fine"]
    assert end_offset(broker, STRICT) == 1


def test_a_client_is_told_which_records_are_wrong(endpoint: Endpoint, filtering: GatewayProcess) -> None:
    records = build_batch([b"one", b"two"])
    with RawClient.authenticated(filtering.broker_endpoint("globex")) as client:
        response = client.request(produce_request(STRICT, records), PRODUCE_BY_NAME)

    (topic,) = response.responses
    (partition,) = topic.partition_responses
    assert partition.error_code == ErrorCode.INVALID_RECORD
    assert [(one.batch_index, one.batch_index_error_message) for one in partition.record_errors] == [
        (0, "ProducePolicy: the record has no key"),
        (1, "ProducePolicy: the record has no key"),
    ]


def test_acks_are_refused_by_policy(endpoint: Endpoint, broker: Endpoint) -> None:
    producer = Producer(endpoint.for_confluent | {"acks": "1"})
    told: list[Any] = []
    producer.produce(STRICT, b"v", b"k", callback=lambda *one: told.append(one[0].code()))
    producer.flush(WAIT_S)

    assert told == [KafkaError.POLICY_VIOLATION]
    assert end_offset(broker, STRICT) == 0


def test_headers_and_compression_are_required_by_policy(endpoint: Endpoint, broker: Endpoint) -> None:
    told: dict[bytes, int | None] = {}

    def send(value: bytes, codec: str, headers: list[tuple[str, bytes]]) -> None:
        # A batch that compression makes no smaller is sent without it.
        own = {"compression.type": codec, "linger.ms": 0}
        producer = Producer(endpoint.for_confluent | own)
        producer.produce(
            AGREED,
            value,
            headers=headers,
            callback=lambda error, message: told.update({message.value(): error and error.code()}),
        )
        assert producer.flush(WAIT_S) == 0

    send(b"fine" * 100, "lz4", HEADERS)
    send(b"gzip" * 100, "gzip", HEADERS)
    send(b"bare" * 100, "lz4", HEADERS[:1])

    assert told == {
        b"fine" * 100: None,
        b"gzip" * 100: KafkaError.POLICY_VIOLATION,
        b"bare" * 100: KafkaError.INVALID_RECORD,
    }
    assert [one.headers() for one in read(broker, physical_name("globex", AGREED), 1)] == [HEADERS]
    assert end_offset(broker, AGREED) == 1


def test_without_an_answer_a_rejection_ends_the_connection(
    endpoint: Endpoint, filtering: GatewayProcess, broker: Endpoint
) -> None:
    with RawClient.authenticated(filtering.broker_endpoint("globex")) as client:
        client.send(produce_request(STRICT, build_batch([b"no key"]), acks=0), PRODUCE_BY_NAME)
        assert client.receives_end(WAIT_S)
    assert end_offset(broker, STRICT) == 0


def test_topics_that_no_rule_matches_keep_their_bytes(
    endpoint: Endpoint, filtering: GatewayProcess, broker: Endpoint
) -> None:
    producer = Producer(endpoint.for_confluent)
    producer.produce(FREE, b"value", headers=HEADERS)
    producer.flush(WAIT_S)

    for place, topic in ((broker, physical_name("globex", FREE)), (endpoint, FREE)):
        assert [one.headers() for one in read(place, topic, 1)] == [HEADERS]


@pytest.mark.parametrize("java", ["3.9.1", "4.3.1"], indirect=True)
def test_java_transactions_pass_the_filters(
    java: JavaClients, endpoint: Endpoint, broker: Endpoint, unique: UniqueName
) -> None:
    send_three_transactions(java, endpoint, OPEN, transactional_id=unique("chain"), compression_type="lz4")

    assert read_committed(java, endpoint, OPEN) == COMMITTED
    stored = read(broker, physical_name("globex", OPEN), 60, **{"isolation.level": "read_uncommitted"})
    assert {str(one.headers()) for one in stored} == {str([("region", b"eu")])}
    assert end_offset(broker, OPEN) == 63


@pytest.mark.needs_api(ApiKey.SHARE_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_members_of_share_groups_get_what_the_filters_make(
    java: JavaClients, kafka_tool: KafkaTools, endpoint: Endpoint, unique: UniqueName, tmp_path: Path
) -> None:
    group = unique("chain-shared")
    producer, admin = java.producer(endpoint), java.admin(endpoint)
    java("send", producer, OPEN, ["one", "two"])
    java("read_groups_from_the_start", admin, group)
    config = write_client_properties(tmp_path / "client.properties", endpoint.for_java)

    printed = kafka_tool(
        SHARE_CONSUMER,
        *("--bootstrap-server", endpoint.bootstrap, "--command-config", str(config)),
        *("--topic", OPEN, "--group", group, "--max-messages", "2", "--timeout-ms", "40000"),
        *("--formatter-property", "print.headers=true"),
    ).stdout

    assert printed.splitlines() == [f"region:eu,seen:yes\t{value}" for value in ("one", "two")]


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_producers_are_told_what_is_wrong_and_go_on(
    java: JavaClients, endpoint: Endpoint, broker: Endpoint
) -> None:
    producer = java.producer(endpoint, enable_idempotence="true")
    with pytest.raises(JavaError, match=r"InvalidRecordException: .*the record has no key"):
        java("send", producer, STRICT, ["without a key"])

    java("send", producer, OPEN, ["one", "two"])

    assert end_offset(broker, STRICT) == 0
    assert end_offset(broker, OPEN) == 2


def test_metrics_count_what_each_transform_does(endpoint: Endpoint, filtering: GatewayProcess) -> None:
    def value(name: str, label: str, direction: str) -> float:
        labels = {"tenant": "globex", "filter": label, "direction": direction}
        return admin_port.value(filtering, f"kafka_proxy_transform_{name}_total", **labels)

    producer = Producer(endpoint.for_confluent | {"linger.ms": 5})
    producer.produce(STRICT, b"without a key")
    producer.produce(OPEN, b"value")
    producer.flush(WAIT_S)
    read(endpoint, OPEN, 1)

    assert value("batches", "edge", "produce") >= 2
    assert value("records", "edge", "produce") >= 2
    assert value("rejections", "ProducePolicy", "produce") >= 1
    assert value("records", "seen", "fetch") >= 1
    assert value("seconds", "edge", "produce") > 0
