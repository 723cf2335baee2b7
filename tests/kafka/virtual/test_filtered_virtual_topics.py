"""Filters of records for topics with virtual partitions: they see each partition as its clients do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, await_topic, records_of
from support.clients.record_batches import TIMESTAMP_MS
from support.encryption.key_files import encryption, write_key_file
from support.gateways import admin_port
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.record_columns import batch_of
from support.records.transforms import BY_VALUE
from support.registry_server import RegistryServer
from support.virtual_topics import PHYSICAL, RULES, SIZES, WAIT_S

BAD = "even-bad"
MARK = "bifrost.quarantine."
PERSON = {"id": 7, "email": "a@b.c"}
SHARING = [1, 1 + PHYSICAL["even"], 1 + 2 * PHYSICAL["even"]]
"""Virtual partitions of one physical."""


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        yield server


@pytest.fixture(scope="module")
def dividing(
    warm: EmbeddedKafka, registry: RegistryServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder: Path = tmp_path_factory.mktemp("filtering")
    (folder / "own.py").write_text(BY_VALUE)
    key_file = write_key_file(folder / "keks", "payments")

    def of(name: str, topics: str, direction: str | None = None, **config: Any) -> dict[str, Any]:
        rule = {"topics": [topics]} | ({} if direction is None else {"direction": direction})
        return {"name": name, "label": name, "config": config, "rules": [rule]}

    def adjust(config: dict[str, Any]) -> None:
        url = {"registry_url": registry.url, "unknown_schema_cache_ms": 1}
        own = {"transform_file": str(folder / "own.py"), "timeout_ms": "5s", "max_memory_bytes": "64MiB"}
        config["tenants"][0]["virtual_partitions"] = RULES
        config["tenants"][0]["filters"] = [
            of("RecordHeaders", "even-*", "produce", add=[{"key": "region", "value": "eu"}]),
            of("Masking", "even-masked*", fields=[{"path": "email", "action": "set_null"}]),
            of("SchemaValidator", "even-checked*", "produce", quarantine_topic=BAD, **url),
            of("PythonTransform", "even-python*", "produce", **own),
            encryption(key_file, "even-fields*", mode="fields", sealed_fields=["email"]),
        ]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(folder, warm.bootstrap, **options) as process:
        yield process


def new_topic(endpoint: Endpoint, direct: RawClient, name: str) -> str:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, SIZES["even"], 1)])[name].result(WAIT_S)
    await_topic(direct, physical_name("globex", name), PHYSICAL["even"])
    return name


def send(
    endpoint: Endpoint, topic: str, values: list[bytes], partitions: list[int] = SHARING, **options: Any
) -> list[KafkaError | None]:
    """Send the values to each partition; return what became of each record."""
    told: list[KafkaError | None] = []
    producer = Producer(endpoint.for_confluent | {"linger.ms": 20, **options})
    if "transactional.id" in options:
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
    for value in values:
        for partition in partitions:
            producer.produce(topic, value, partition=partition, callback=lambda error, _: told.append(error))
    producer.flush(WAIT_S)
    if "transactional.id" in options:
        producer.commit_transaction(WAIT_S)
    return told


def read(endpoint: Endpoint, topic: str, group: str, count: int) -> list[Message]:
    """Read so many records, and see that no more come."""
    own = {"group.id": group, "auto.offset.reset": "earliest"}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        found = consumer.consume(count, WAIT_S)
        assert consumer.poll(1.0) is None
    assert [one.error() for one in found] == [None] * count
    return found


@pytest.mark.parametrize("kind", ["idempotent", "plain", "transactional"])
def test_masked_records_are_seen_masked_and_stored_whole(
    endpoint: Endpoint, direct: RawClient, unique: UniqueName, kind: str
) -> None:
    topic = new_topic(endpoint, direct, unique("even-masked"))
    own: dict[str, Any] = {"enable.idempotence": kind != "plain"}
    own |= {"transactional.id": unique("txn")} if kind == "transactional" else {}
    values = [json.dumps(PERSON | {"id": number}).encode() for number in range(20)]

    assert set(send(endpoint, topic, values, **own)) == {None}
    found = read(endpoint, topic, unique("group"), len(SHARING) * len(values))

    seen: dict[int, list[Any]] = {one: [] for one in SHARING}
    for message in found:
        seen[message.partition()].append(json.loads(message.value()))
        assert message.headers() == [("region", b"eu")]
    assert seen == {one: [{"id": number, "email": None} for number in range(20)] for one in SHARING}
    assert b"a@b.c" in records_of(direct, physical_name("globex", topic), SHARING[0])


@pytest.mark.parametrize("kind", ["idempotent", "transactional"])
def test_sealed_fields_are_opened_and_the_rest_stays_readable(
    endpoint: Endpoint, direct: RawClient, unique: UniqueName, kind: str
) -> None:
    topic = new_topic(endpoint, direct, unique("even-fields"))
    own: dict[str, Any] = {"transactional.id": unique("txn")} if kind == "transactional" else {}
    values = [json.dumps(PERSON | {"id": number}).encode() for number in range(20)]

    assert set(send(endpoint, topic, values, **own)) == {None}
    found = read(endpoint, topic, unique("group"), len(SHARING) * len(values))

    seen: dict[int, list[Any]] = {one: [] for one in SHARING}
    for message in found:
        seen[message.partition()].append(message.value())
    assert seen == dict.fromkeys(SHARING, values)
    stored = records_of(direct, physical_name("globex", topic), SHARING[0])
    assert (b"a@b.c" in stored, b"bifrost:sealed:" in stored) == (False, True)


def test_a_schema_that_is_missing_refuses_the_records_of_its_virtual_partition(
    client: RawClient,
    endpoint: Endpoint,
    direct: RawClient,
    registry: RegistryServer,
    unique: UniqueName,
) -> None:
    """They are put aside in a topic that has virtual partitions too."""
    topic = new_topic(endpoint, direct, unique("even-checked"))
    bad = new_topic(endpoint, direct, BAD)
    good = b"\0" + registry.add(f"{topic}-value", "string").to_bytes(4, "big") + b"\x02a"
    first, second, third = SHARING
    batches = {
        first: batch_of([ColumnRecord(0, 0, b"k", good)], base_timestamp_ms=TIMESTAMP_MS),
        second: batch_of(
            [ColumnRecord(0, 0, b"k", good), ColumnRecord(1, 0, b"k", b"bad")], base_timestamp_ms=TIMESTAMP_MS
        ),
        third: batch_of([ColumnRecord(0, 0, b"k", good)], base_timestamp_ms=TIMESTAMP_MS),
    }
    new = ProduceRequest
    data = [new.PartitionProduceData(index=index, records=one) for index, one in batches.items()]
    request = new(
        acks=-1, timeout_ms=10_000, topic_data=[new.TopicProduceData(name=topic, partition_data=data)]
    )
    (answer,) = client.request(request, PRODUCE_BY_NAME).responses

    told = {one.index: one for one in answer.partition_responses}
    assert {index: one.error_code for index, one in told.items()} == {
        first: ErrorCode.NONE,
        second: ErrorCode.INVALID_RECORD,
        third: ErrorCode.NONE,
    }
    assert [one.batch_index for one in told[second].record_errors] == [1]
    assert {one.partition() for one in read(endpoint, topic, unique("group"), 2)} == {first, third}
    (aside,) = read(endpoint, bad, unique("aside"), 1)
    assert aside.value() == b"bad"
    assert dict(aside.headers())[f"{MARK}partition"] == str(second).encode()


@pytest.mark.parametrize("kind", ["plain", "transactional"])
def test_a_transform_of_the_operator_runs_once_for_each_batch(
    endpoint: Endpoint, direct: RawClient, dividing: GatewayProcess, unique: UniqueName, kind: str
) -> None:
    """Though the gateway asks the broker for a producer, or about a claim, before the records go on."""
    topic = new_topic(endpoint, direct, unique(f"even-python-{kind}"))
    own: dict[str, Any] = {"transactional.id": unique("txn")} if kind == "transactional" else {}
    own |= {} if own else {"enable.idempotence": False}
    label = {"filter": "PythonTransform", "tenant": "globex", "direction": "produce"}
    name = "kafka_proxy_transform_records_total"
    before = admin_port.value(dividing, name, **label)

    assert set(send(endpoint, topic, [b"a", b"b"], **own)) == {None}
    found = read(endpoint, topic, unique("group"), 2 * len(SHARING))

    assert {one.partition() for one in found} == set(SHARING)
    assert admin_port.value(dividing, name, **label) - before == 2 * len(SHARING)


def test_topics_without_a_filter_go_on(endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> None:
    topic = unique("odd")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, SIZES["odd"], 1)])[topic].result(WAIT_S)
    await_topic(direct, physical_name("globex", topic), PHYSICAL["odd"])

    assert set(send(endpoint, topic, [b"a"], [1, 1 + PHYSICAL["odd"]])) == {None}
    assert [one.headers() for one in read(endpoint, topic, unique("group"), 2)] == [None, None]
