"""SchemaValidator on a real Kafka: what is not valid gets its error and never reaches the broker.

The gateway asks a registry over TLS, whose certificate a private CA has signed.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.identity.certificates import Authority
from support.journal.journal_reader import await_journal, events
from support.journal.journal_schema import misfits
from support.physical_names import physical_name
from support.records.record_columns import batch_of
from support.registry_server import RegistryServer

WAIT_S = 60.0
ZSTD = 4
JOURNAL = "validating"
STRICT, IDS, RULES, LAX, OPEN = (
    "schemas-strict",
    "schemas-ids",
    "schemas-rules",
    "schemas-lax",
    "schemas-open",
)
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
USER = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
LABELS = {"tenant": "globex", "direction": "produce"}


def of(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def validator(topic: str, url: str, **config: Any) -> dict[str, Any]:
    return {
        "name": "SchemaValidator",
        "label": topic,
        "config": {"registry_url": url, "unknown_schema_cache_ms": 1} | config,
        "rules": [{"topics": [topic]}],
    }


@pytest.fixture(scope="module")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private CA that vouches for the registry; its key is gone."""
    return tmp_path_factory.mktemp("registry") / "ca.pem"


@pytest.fixture(scope="module")
def registry(ca_file: Path) -> Iterator[RegistryServer]:
    authority = Authority("registry CA")
    authority.write(ca_file)
    certificate = authority.server("127.0.0.1").write(ca_file.parent, "registry")
    with closing(RegistryServer(certificate)) as server:
        yield server


@pytest.fixture(scope="module")
def validating(
    kafka: EmbeddedKafka,
    registry: RegistryServer,
    ca_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    check = {"name": "adult", "expression": "value.age >= 18"}

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            validator(STRICT, registry.url),
            validator(IDS, registry.url, level="id"),
            validator(RULES, registry.url, level="rules", checks=[check]),
            validator(LAX, registry.url, enforce=False),
            validator(OPEN, registry.url, fail="open"),
        ]
        for one in config["tenants"][0]["filters"]:
            one["config"]["registry_ca_file"] = str(ca_file)

    directory = tmp_path_factory.mktemp("validating")
    journal = {"interval_ms": 300, "snapshot_interval_ms": 0, "partitions": 3, "gateway_id": JOURNAL}
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    options["proxy"] = {"journal": journal, "limits": {"max_record_wait_ms": 4_000}}
    with GatewayProcess(directory, kafka.bootstrap, **options) as process:
        yield process


def sent(
    gateway: GatewayProcess,
    topic: str,
    *values: bytes | None,
    version: int = PRODUCE_BY_NAME,
    codec: int = 0,
    headers: tuple[Header, ...] = (),
) -> Any:
    """Produce a batch and return the answer of its partition."""
    records = [ColumnRecord(at, 0, b"k", value, headers) for at, value in enumerate(values)]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        response = client.request(produce_request(topic, batch_of(records, codec=codec)), version)
    [partition] = response.responses[0].partition_responses
    return partition


def stored(broker: Endpoint, topic: str) -> list[bytes | None]:
    """Return the values that the broker has."""
    place = TopicPartition(physical_name("globex", topic), 0, 0)
    options = {"group.id": "unused", "enable.auto.commit": False}
    with closing(Consumer(broker.for_confluent | options)) as consumer:
        end = consumer.get_watermark_offsets(place, timeout=WAIT_S)[1]
        consumer.assign([place])
        messages = consumer.consume(end, WAIT_S) if end else []
        assert len(messages) == end
        return [message.value() for message in messages]


def test_an_invalid_message_gets_its_error_and_never_reaches_the_broker(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", STRICT)
    order = registry.add(f"{STRICT}-value", ORDER)
    good, wrong = of(order, b"\x54"), of(order, b"\x54secret")
    results: dict[bytes, int | None] = {}
    producer = Producer(validating.endpoint("globex").for_confluent | {"linger.ms": 0})
    for value in (good, wrong, b"no schema", of(4_000_000, b"\x54"), good):
        producer.produce(
            STRICT,
            value,
            on_delivery=lambda error, message: results.update({message.value(): error and error.code()}),
        )
        assert producer.flush(WAIT_S) == 0

    assert results == {
        good: None,
        wrong: KafkaError.INVALID_RECORD,
        b"no schema": KafkaError.INVALID_RECORD,
        of(4_000_000, b"\x54"): KafkaError.INVALID_RECORD,
    }
    assert stored(broker, STRICT) == [good, good]


def test_the_answer_names_the_record_and_why(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", STRICT)
    order = registry.add(f"{STRICT}-value", ORDER)

    partition = sent(validating, STRICT, of(order, b"\x54"), None, of(order, b"\x54secret"))

    assert partition.error_code == ErrorCode.INVALID_RECORD
    [told] = partition.record_errors
    assert told.batch_index == 2
    assert told.batch_index_error_message == (
        f"{STRICT}: value: it does not read under its schema: bytes behind the value at byte 1"
    )
    assert sent(validating, STRICT, of(order, b"\x54"), None).error_code == ErrorCode.NONE
    assert stored(broker, STRICT) == [of(order, b"\x54"), None]


def test_ids_must_be_of_the_topics_subject(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", IDS)
    own, foreign = registry.add(f"{IDS}-value", "string"), registry.add("others-value", "double")

    assert sent(validating, IDS, of(own, b"anything")).error_code == ErrorCode.NONE
    assert sent(validating, IDS, of(foreign, b"x")).error_code == ErrorCode.INVALID_RECORD
    assert stored(broker, IDS) == [of(own, b"anything")]


@pytest.mark.parametrize("topic", [STRICT, IDS])
def test_a_schema_may_be_named_in_a_header(
    validating: GatewayProcess,
    registry: RegistryServer,
    broker: Endpoint,
    fresh_topic: FreshTopic,
    topic: str,
) -> None:
    """By its ID, or by its GUID as clients of Confluent write it; the payload stands alone then."""
    fresh_topic("globex", topic)
    guid, payload = uuid.uuid4(), b"\x54"
    order = registry.add(f"{topic}-value", ORDER, guid=str(guid))
    by_id, by_guid = b"\0" + order.to_bytes(4, "big"), b"\1" + guid.bytes
    wrong = (b"\0\0\x3d\x09\0", b"\1" + uuid.uuid4().bytes, b"\2", b"")

    def code(*named: bytes, value: bytes = payload) -> int:
        headers = tuple((b"__value_schema_id", one) for one in named)
        return int(sent(validating, topic, value, headers=headers).error_code)

    assert [code(one) for one in (by_id, by_guid)] == [ErrorCode.NONE] * 2
    assert {code(one) for one in wrong} == {ErrorCode.INVALID_RECORD}
    assert code(by_id, by_id) == ErrorCode.INVALID_RECORD, "clients differ in which one they read"
    if topic == STRICT:
        assert code(by_guid, value=payload + b"more") == ErrorCode.INVALID_RECORD
    assert stored(broker, topic) == [payload] * 2


def test_rules_hold_for_records_that_read(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", RULES)
    user = registry.add(f"{RULES}-value", USER, "JSON")

    assert sent(validating, RULES, of(user, b'{"age": 18}'), None).error_code == ErrorCode.NONE
    partition = sent(validating, RULES, of(user, b'{"age": 17}'))

    assert partition.record_errors[0].batch_index_error_message == f"{RULES}: it breaks the rule adult"
    assert stored(broker, RULES) == [of(user, b'{"age": 18}'), None]


def test_without_enforcement_records_pass_are_counted_and_are_in_the_journal(
    validating: GatewayProcess, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", LAX)

    assert sent(validating, LAX, b"no schema").error_code == ErrorCode.NONE
    assert stored(broker, LAX) == [b"no schema"]
    metric = "kafka_proxy_transform_unenforced_batches_total"
    admin_port.await_value(lambda: admin_port.value(validating, metric, filter=LAX, **LABELS), 1)
    records = await_journal(broker, JOURNAL, lambda found: bool(events(found, "records")))
    assert [misfits(one) for one in records] == [[]] * len(records)
    [event] = events(records, "records")
    assert event["detail"].startswith(f"{LAX}: value: it names no schema")
    told = ("outcome", "api", "resource_type", "resource_name", "physical_name", "rule", "count")
    assert tuple(event[name] for name in told) == (
        "unenforced",
        "Produce",
        "topic",
        LAX,
        physical_name("globex", LAX),
        LAX,
        1,
    )
    assert event["principal"] == "User:globex"


def test_while_the_registry_is_away_records_wait_or_pass_as_the_operator_wants(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    for topic in (STRICT, OPEN):
        fresh_topic("globex", topic)
    order = registry.add(f"{STRICT}-value", ORDER)
    assert sent(validating, STRICT, of(order, b"\x54")).error_code == ErrorCode.NONE
    unknown = of(3_000_000, b"\x54")
    registry.status = 503
    try:
        closed, known, passed = (
            sent(validating, STRICT, unknown),
            sent(validating, STRICT, of(order, b"\x56")),
            sent(validating, OPEN, unknown),
        )
    finally:
        registry.status = None

    assert closed.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert closed.error_message == f"{STRICT}: the schema registry cannot be asked now"
    assert known.error_code == passed.error_code == ErrorCode.NONE
    assert stored(broker, STRICT) == [of(order, b"\x54"), of(order, b"\x56")]
    assert stored(broker, OPEN) == [unknown]
    metric = "kafka_proxy_transform_unchecked_batches_total"
    admin_port.await_value(lambda: admin_port.value(validating, metric, filter=OPEN, **LABELS), 1)


def test_what_the_registry_answers_is_counted(
    validating: GatewayProcess, registry: RegistryServer, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", STRICT)
    order = registry.add(f"{STRICT}-value", ORDER)
    labels = {"registry": registry.url}
    hits = admin_port.value(validating, "kafka_proxy_schema_cache_hits_total", **labels)

    for _ in range(2):
        assert sent(validating, STRICT, of(order, b"\x54")).error_code == ErrorCode.NONE

    assert admin_port.value(validating, "kafka_proxy_schema_cache_hits_total", **labels) > hits
    for name in ("look_ups", "look_up_seconds", "cache_misses"):
        assert admin_port.value(validating, f"kafka_proxy_schema_{name}_total", **labels) > 0


def test_old_clients_are_told_of_a_policy(validating: GatewayProcess, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", STRICT)

    assert sent(validating, STRICT, b"no schema", version=7).error_code == ErrorCode.POLICY_VIOLATION


TWICE = [{"items": {"$ref": "#/$defs/a"}}] * 2
ENDLESS = {"$defs": {"a": {"allOf": TWICE}}, "$ref": "#/$defs/a"}
"""A value of 50 brackets is compared 2^50 times."""
LARGE = b'{"age": 20, "list": [' + b"1," * 2_000_000 + b"1]}"
READ = "kafka_proxy_schema_process_"
OF_STRICT = {"tenant": "globex", "filter": STRICT}


def reading_process(gateway: GatewayProcess) -> psutil.Process:
    """Return the process that reads large records of one filter."""
    [found] = [
        one
        for one in psutil.Process(gateway.pid).children(recursive=True)
        if "bifrost.schema_process.child" in one.cmdline()
    ]
    return found


def test_large_records_are_read_in_a_process_of_their_own(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", STRICT)
    user = registry.add(f"{STRICT}-value", USER, "JSON")
    before = admin_port.value(validating, f"{READ}batches_total", **OF_STRICT)
    good, wrong = of(user, LARGE), of(user, LARGE.replace(b"age", b"old"))

    assert sent(validating, STRICT, of(user, b'{"age": 1}'), good, codec=ZSTD).error_code == ErrorCode.NONE
    partition = sent(validating, STRICT, good, of(user, b"{}"), wrong, codec=ZSTD)

    assert partition.error_code == ErrorCode.INVALID_RECORD
    assert [(one.batch_index, one.batch_index_error_message) for one in partition.record_errors] == [
        (at, f"{STRICT}: value: it does not read under its schema: it breaks the schema at /required")
        for at in (1, 2)
    ]
    assert [len(one or b"") for one in stored(broker, STRICT)] == [15, len(good)]
    metric = f"{READ}batches_total"
    admin_port.await_value(lambda: admin_port.value(validating, metric, **OF_STRICT), before + 2)
    assert admin_port.value(validating, f"{READ}seconds_total", **OF_STRICT) > 0
    assert admin_port.value(validating, f"{READ}starts_total", **OF_STRICT) >= 1


def test_a_record_without_a_bound_of_time_is_refused_and_other_clients_are_served(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    for topic in (STRICT, IDS):
        fresh_topic("globex", topic)
    endless, own = registry.add(f"{STRICT}-value", ENDLESS, "JSON"), registry.add(f"{IDS}-value", "string")
    sent(validating, IDS, of(own, b"warm"))
    told: list[Any] = []
    attack = threading.Thread(
        target=lambda: told.append(sent(validating, STRICT, of(endless, b"[" * 50 + b"]" * 50)))
    )
    attack.start()
    served = 0
    while attack.is_alive():
        assert sent(validating, IDS, of(own, b"x")).error_code == ErrorCode.NONE
        served += 1
    attack.join()

    # It has a second of a processor, in which a gateway that waits would serve one request.
    assert served >= 10
    assert told[0].error_code == ErrorCode.INVALID_RECORD
    assert told[0].record_errors[0].batch_index_error_message == (
        f"{STRICT}: it takes longer or more memory to read than a record may"
    )
    assert stored(broker, STRICT) == []
    assert admin_port.value(validating, f"{READ}failures_total", reason="time", **OF_STRICT) >= 1


def test_while_the_process_is_away_large_records_wait_or_pass_as_the_operator_wants(
    validating: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    for topic in (STRICT, OPEN):
        fresh_topic("globex", topic)
    user = registry.add(f"{STRICT}-value", USER, "JSON")
    registry.add(f"{OPEN}-value", USER, "JSON")
    large = of(user, LARGE)
    assert sent(validating, STRICT, large, codec=ZSTD).error_code == ErrorCode.NONE
    stopped = reading_process(validating)
    stopped.suspend()
    try:
        closed = sent(validating, STRICT, large, codec=ZSTD)
        small = sent(validating, STRICT, of(user, b'{"age": 1}'))
    finally:
        stopped.kill()

    assert closed.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert small.error_code == ErrorCode.NONE
    deadline = time.monotonic() + WAIT_S
    while sent(validating, STRICT, large, codec=ZSTD).error_code != ErrorCode.NONE:
        assert time.monotonic() < deadline
    assert len(stored(broker, STRICT)) == 3
