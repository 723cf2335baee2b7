"""Sealed fields on a real Kafka: consumers get what producers sent, and the broker has JSON without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.clients.confluent_producing import produce_values
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    fetch_request,
    produce_request,
)
from support.encryption.key_files import encryption, rotate, write_key_file
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.record_columns import batch_of
from support.records.stored_records import stored_records

WAIT_S = 60.0
FIELDS = "env-fields"
SECRET = b"TOP-SECRET"
VALUE = b'{"id": %d, "customer": {"email": "TOP-SECRET@b.c", "country": "DE"}, "cards": [{"number": "TOP-SECRET"}]}'


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_key_file(tmp_path_factory.mktemp("field-keks") / "keks", "payments")


@pytest.fixture(scope="module")
def encrypting(
    kafka: EmbeddedKafka, key_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        sealed = {"mode": "fields", "sealed_fields": ["customer.email", "cards.number"]}
        config["tenants"][0]["filters"] = [encryption(key_file, FIELDS, cache_expiry_seconds=10, **sealed)]

    with GatewayProcess(
        tmp_path_factory.mktemp("fields"), kafka.bootstrap, tenants=[GLOBEX], adjust=adjust
    ) as process:
        yield process


@pytest.fixture
def endpoint(encrypting: GatewayProcess, fresh_topic: FreshTopic) -> Endpoint:
    fresh_topic("globex", FIELDS)
    return encrypting.endpoint("globex")


def stored_values(broker: Endpoint) -> list[bytes | None]:
    return [one.value for one in stored_records(broker, physical_name("globex", FIELDS))]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_clients_read_what_they_sent_and_the_broker_has_json_without_it(
    endpoint: Endpoint, broker: Endpoint, codec: str
) -> None:
    values = [VALUE % number for number in range(100)]
    options = {"compression.type": codec, "enable.idempotence": True}

    assert produce_values(endpoint, FIELDS, *values, None, **options) == [None] * 101

    assert [one.value() for one in read(endpoint, FIELDS, 101)] == [*values, None]
    *seen, tombstone = stored_values(broker)
    assert tombstone is None
    for number, one in enumerate(seen):
        assert one is not None
        assert SECRET not in one
        found = json.loads(one)
        assert (found["id"], found["customer"]["country"]) == (number, "DE")
        assert found["customer"]["email"].startswith("bifrost:sealed:")


def test_a_value_without_its_fields_in_json_is_refused(endpoint: Endpoint, broker: Endpoint) -> None:
    told = produce_values(endpoint, FIELDS, b"TOP-SECRET, no JSON")

    assert [one and one.code() for one in told] == [KafkaError.INVALID_RECORD]
    assert stored_values(broker) == []


def test_plaintext_and_fields_from_elsewhere_are_an_error_and_no_data(
    encrypting: GatewayProcess, endpoint: Endpoint, broker: Endpoint
) -> None:
    assert produce_values(endpoint, FIELDS, VALUE % 1) == [None]
    [sealed] = stored_values(broker)
    moved = batch_of([ColumnRecord(0, 0, b"another key", sealed)])

    for data in (batch_of([ColumnRecord(0, 0, b"key", VALUE % 2)]), moved):
        with RawClient(broker) as direct:
            request = produce_request(physical_name("globex", FIELDS), data)
            answer = direct.request(request, PRODUCE_BY_NAME).responses[0].partition_responses[0]
        with RawClient.authenticated(encrypting.broker_endpoint("globex")) as client:
            response = client.request(fetch_request(FIELDS, offset=answer.base_offset), FETCH_BY_NAME)
        (partition,) = response.responses[0].partitions
        assert (partition.error_code, bytes(partition.records or b"")) == (ErrorCode.CORRUPT_MESSAGE, b"")


def test_a_rotated_kek_opens_what_both_versions_sealed(
    endpoint: Endpoint, encrypting: GatewayProcess, key_file: Path
) -> None:
    assert produce_values(endpoint, FIELDS, VALUE % 1) == [None]
    rotate(key_file, "payments", 2)

    assert produce_values(endpoint, FIELDS, VALUE % 2) == [None]

    assert [one.value() for one in read(endpoint, FIELDS, 2)] == [VALUE % 1, VALUE % 2]
