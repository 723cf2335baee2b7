"""EnvelopeEncryption on a real Kafka: what clients send comes back, and what the broker has says nothing of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    create_topic,
    fetch_request,
    produce_request,
)
from support.encryption.key_files import encryption, replace, rotate, write_key_file
from support.encryption.sealing import with_checksum
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic, StartGateway, UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.java.java_transactions import COMMITTED, read_committed, send_three_transactions
from support.pages.console import SHARE_CONSUMER
from support.physical_names import physical_name
from support.records.record_columns import batch_of, plenty

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
WAIT_S = 60.0
SEALED, VALUES, OLD, SKIPPED, FREE = "env-sealed", "env-values", "env-old", "env-skipped", "env-free"
SECRET = b"TOP-SECRET"
HEADERS = [("trace", SECRET)]
COMPACTED = {"cleanup.policy": "compact"}


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_key_file(tmp_path_factory.mktemp("keks") / "keks", "payments", "shredded")


@pytest.fixture(scope="module")
def encrypting(
    kafka: EmbeddedKafka, key_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            {
                "name": "RecordHeaders",
                "config": {"add": [{"key": "region", "value": "eu"}]},
                "rules": [{"topics": [SEALED], "direction": "produce"}],
            },
            encryption(key_file, SEALED, label="sealed"),
            encryption(key_file, VALUES, label="values", mode="values"),
            encryption(key_file, OLD, label="old", accept_plaintext_before="2040-01-01"),
            encryption(key_file, SKIPPED, key="shredded", label="skipped", on_missing_key="skip"),
        ]

    directory = tmp_path_factory.mktemp("encrypting")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, kafka.bootstrap, **options) as process:
        yield process


@pytest.fixture
def endpoint(encrypting: GatewayProcess, fresh_topic: FreshTopic) -> Endpoint:
    for topic in (SEALED, OLD, SKIPPED, FREE):
        fresh_topic("globex", topic)
    return encrypting.endpoint("globex")


def send(endpoint: Endpoint, topic: str, values: list[bytes], **options: Any) -> list[KafkaError | None]:
    """Produce values, each with a key and a header, and return the errors."""
    producer = Producer(endpoint.for_confluent | {"linger.ms": 20} | options)
    told: list[KafkaError | None] = []
    for value in values:
        producer.produce(
            topic, value, SECRET + b" key", headers=HEADERS, callback=lambda e, _: told.append(e)
        )
    producer.flush(WAIT_S)
    return [one for one in told if one is not None]


def stored(broker: Endpoint, topic: str, offset: int = 0) -> bytes:
    """Return what the broker has of a topic of the tenant."""
    with RawClient(broker) as direct:
        response = direct.request(fetch_request(physical_name("globex", topic), offset=offset), FETCH_BY_NAME)
    (partition,) = response.responses[0].partitions
    assert partition.error_code == ErrorCode.NONE
    return bytes(partition.records)


def unpacked(records: bytes) -> bytes:
    """Return all that can be read in records."""
    found = []
    for batch in split_batches(memoryview(records), is_whole=False):
        for one in read_columns(batch, plenty()).records():
            found += [
                one.key or b"",
                one.value or b"",
                *(text or b"" for header in one.headers for text in header),
            ]
    return b"\n".join(found)


@pytest.mark.parametrize("codec", CODECS)
def test_librdkafka_reads_what_it_sent_and_the_broker_cannot(
    endpoint: Endpoint, broker: Endpoint, codec: str
) -> None:
    values = [SECRET + b" %d" % number for number in range(300)]
    assert send(endpoint, SEALED, values, **{"compression.type": codec, "enable.idempotence": True}) == []

    found = read(endpoint, SEALED, 300)

    assert [(one.offset(), one.key(), one.value()) for one in found] == [
        (number, SECRET + b" key", value) for number, value in enumerate(values)
    ]
    assert [one.headers() for one in found] == [[*HEADERS, ("region", b"eu")]] * 300
    has = unpacked(stored(broker, SEALED))
    assert has
    assert SECRET not in has
    assert b"region" not in has


def test_nothing_of_the_records_is_in_the_broker_s_files(endpoint: Endpoint, kafka: EmbeddedKafka) -> None:
    assert send(endpoint, SEALED, [SECRET] * 50) == []
    assert send(endpoint, FREE, [b"READABLE" + SECRET[3:]]) == []

    files = log_files(kafka)

    assert SECRET not in files[SEALED]
    assert b"READABLE" in files[FREE], "this test sees what is written"


def log_files(kafka: EmbeddedKafka) -> dict[str, bytes]:
    """Return all that the brokers' files have of two topics of the tenant, when all of it is written."""
    found = dict.fromkeys((SEALED, FREE), b"")
    for topic in found:
        for log_dir in kafka.log_dirs:
            for path in log_dir.glob(f"{physical_name('globex', topic)}-*/*"):
                found[topic] += path.read_bytes()
    return found


def test_topics_that_no_rule_matches_are_not_sealed(endpoint: Endpoint, broker: Endpoint) -> None:
    assert send(endpoint, FREE, [b"free"]) == []

    assert b"free" in unpacked(stored(broker, FREE))
    assert [one.value() for one in read(endpoint, FREE, 1)] == [b"free"]


def test_values_of_a_compacted_topic_are_sealed_and_its_keys_are_not(
    encrypting: GatewayProcess, broker: Endpoint
) -> None:
    with RawClient(broker) as direct:
        create_topic(direct, physical_name("globex", VALUES), configs={"cleanup.policy": "compact"})
    records = [ColumnRecord(0, 0, b"a key", SECRET), ColumnRecord(1, 0, b"another", None)]
    with RawClient.authenticated(encrypting.broker_endpoint("globex")) as client:
        for codec in range(len(CODECS)):
            response = client.request(
                produce_request(VALUES, batch_of(records, codec=codec)), PRODUCE_BY_NAME
            )
            assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE

    found = read(encrypting.endpoint("globex"), VALUES, 10)

    assert [(one.key(), one.value()) for one in found] == [(b"a key", SECRET), (b"another", None)] * 5
    has = unpacked(stored(broker, VALUES))
    assert b"a key" in has
    assert SECRET not in has


def fetched(gateway: GatewayProcess, topic: str, offset: int = 0, partition: int = 0) -> tuple[int, bytes]:
    """Return the error code and the records of a partition as a gateway gives them."""
    request = fetch_request(topic, partition=partition, offset=offset)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        (found,) = client.request(request, FETCH_BY_NAME).responses[0].partitions
    return found.error_code, bytes(found.records or b"")


def write(broker: Endpoint, topic: str, records: bytes, partition: int = 0) -> None:
    """Write records at the broker itself."""
    request = produce_request(physical_name("globex", topic), records, partition=partition)
    with RawClient(broker) as direct:
        (answer,) = direct.request(request, PRODUCE_BY_NAME).responses[0].partition_responses
    assert answer.error_code == ErrorCode.NONE


def test_a_batch_that_was_changed_or_moved_is_an_error_and_no_data(
    encrypting: GatewayProcess, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    for topic in (SEALED, OLD):
        fresh_topic("globex", topic, 2)
    own = batch_of([ColumnRecord(0, 0, b"key", SECRET)])
    with RawClient.authenticated(encrypting.broker_endpoint("globex")) as client:
        client.request(produce_request(SEALED, own), PRODUCE_BY_NAME)
    sealed = stored(broker, SEALED)
    assert fetched(encrypting, SEALED)[0] == ErrorCode.NONE

    for at in (100, len(sealed) - 20):
        spoilt = bytearray(sealed)
        spoilt[at] ^= 1
        write(broker, SEALED, with_checksum(spoilt))
    write(broker, SEALED, sealed, partition=1)
    write(broker, OLD, sealed)

    refused = (ErrorCode.CORRUPT_MESSAGE, b"")
    assert fetched(encrypting, SEALED, 1) == refused
    assert fetched(encrypting, SEALED, 2) == refused
    assert fetched(encrypting, SEALED, partition=1) == refused
    assert fetched(encrypting, OLD) == refused
    code, before = fetched(encrypting, SEALED)
    assert code == ErrorCode.NONE
    assert SECRET in unpacked(before), "what stands before a batch that is refused comes first"


def test_plaintext_is_an_error_or_passes_with_a_mark_where_it_is_old(
    endpoint: Endpoint, encrypting: GatewayProcess, broker: Endpoint
) -> None:
    plain = batch_of([ColumnRecord(0, 0, b"key", b"plain")], codec=2)
    for topic in (SEALED, OLD):
        write(broker, topic, plain)
    assert send(endpoint, OLD, [b"sealed"]) == []
    labels = {"tenant": "globex", "filter": "old", "direction": "fetch"}
    before = admin_port.value(encrypting, "kafka_proxy_transform_plaintext_batches_total", **labels)

    assert fetched(encrypting, SEALED) == (ErrorCode.CORRUPT_MESSAGE, b"")
    found = read(endpoint, OLD, 2)

    assert [(one.value(), one.headers()) for one in found] == [
        (b"plain", [("bifrost.plaintext", b"true")]),
        (b"sealed", HEADERS),
    ]
    assert "records_refused" in encrypting.log()
    after = admin_port.value(encrypting, "kafka_proxy_transform_plaintext_batches_total", **labels)
    assert after > before


@pytest.mark.parametrize("java", ["3.9.1", "4.3.1"], indirect=True)
def test_java_transactions_come_back_without_those_that_were_aborted(
    java: JavaClients, endpoint: Endpoint, broker: Endpoint, unique: UniqueName
) -> None:
    send_three_transactions(java, endpoint, SEALED, transactional_id=unique("env"), compression_type="zstd")

    assert read_committed(java, endpoint, SEALED) == COMMITTED
    assert b"commit" not in stored(broker, SEALED)


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_members_of_share_groups_get_opened_records(
    java: JavaClients, kafka_tool: KafkaTools, endpoint: Endpoint, unique: UniqueName, tmp_path: Path
) -> None:
    group = unique("env-shared")
    producer, admin = java.producer(endpoint), java.admin(endpoint)
    java("send", producer, SEALED, ["one", "two"])
    java("read_groups_from_the_start", admin, group)
    config = write_client_properties(tmp_path / "client.properties", endpoint.for_java)

    printed = kafka_tool(
        SHARE_CONSUMER,
        *("--bootstrap-server", endpoint.bootstrap, "--command-config", str(config)),
        *("--topic", SEALED, "--group", group, "--max-messages", "2", "--timeout-ms", "40000"),
    ).stdout

    assert printed.splitlines() == ["one", "two"]


def test_a_missing_key_is_an_error_that_names_it_or_is_skipped(
    endpoint: Endpoint,
    encrypting: GatewayProcess,
    key_file: Path,
    start_gateway: StartGateway,
    tmp_path: Path,
) -> None:
    """The gateways whose data key is in the cache go on; one that comes new has to ask."""
    for topic, values in ((SEALED, [b"one"]), (SKIPPED, [b"one", b"two"])):
        assert send(endpoint, topic, values) == []
    lines = key_file.read_text().splitlines(keepends=True)
    own = write_key_file(tmp_path / "keks", "payments")
    replace(own, "".join(line for line in lines if line.startswith("payments")))
    rotate(own, "shredded", 2)

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            encryption(own, SEALED, key="shredded", label="failing"),
            encryption(own, SKIPPED, key="shredded", label="skipping", on_missing_key="skip"),
        ]

    other = start_gateway(tenants=[GLOBEX], adjust=adjust, has_admin=True)
    assert send(other.endpoint("globex"), SKIPPED, [b"three"]) == []

    assert [one.value() for one in read(other.endpoint("globex"), SKIPPED, 1)] == [b"three"]
    assert fetched(other, SEALED) == (ErrorCode.CORRUPT_MESSAGE, b"")
    log = other.log()
    assert "offset 0: the KEK file:payments is unknown" in log
    labels = {"tenant": "globex", "filter": "skipping", "direction": "fetch"}
    assert admin_port.value(other, "kafka_proxy_transform_skipped_batches_total", **labels) >= 1
    assert [one.value() for one in read(endpoint, SKIPPED, 2)] == [b"one", b"two"]


def test_a_rotated_kek_is_used_without_a_restart(
    fresh_topic: FreshTopic, broker: Endpoint, start_gateway: StartGateway, tmp_path: Path
) -> None:
    fresh_topic("globex", SEALED)
    path = write_key_file(tmp_path / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [encryption(path, SEALED, cache_expiry_seconds=10)]

    gateway: GatewayProcess = start_gateway(tenants=[GLOBEX], adjust=adjust)
    endpoint = gateway.endpoint("globex")
    assert send(endpoint, SEALED, [b"first"]) == []
    rotate(path, "payments", 2)
    sent = 1
    deadline = time.monotonic() + WAIT_S
    while kek_version(stored(broker, SEALED, sent - 1)) != 2:
        assert time.monotonic() < deadline
        time.sleep(1)
        assert send(endpoint, SEALED, [b"more"]) == []
        sent += 1

    assert [one.value() for one in read(endpoint, SEALED, sent)] == [b"first"] + [b"more"] * (sent - 1)


def kek_version(records: bytes) -> int:
    """Return the version of the KEK of the first batch."""
    sealed = read_sealed(next(split_batches(memoryview(records), is_whole=False)), plenty())
    assert sealed is not None
    return read_wrapped_dek(sealed.dek_header).kek_version
