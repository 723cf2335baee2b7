"""Fields that schemas of a registry tell, on a real Kafka: sealed by tag, and masked for consumers."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import fastavro
import pytest
from confluent_kafka import KafkaError

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.confluent_producing import produce_values
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.encryption.key_files import encryption, write_key_file
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.schema_answers import of_schema
from support.records.stored_records import stored_records
from support.registry_server import RegistryServer

WAIT_S = 60.0
SEALED, MASKED = "env-tagged-fields", "masked-avro-fields"
PII = {"confluent:tags": ["PII"]}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "email", "type": "string"} | PII,
        {"name": "phones", "type": {"type": "array", "items": ["null", "string"]}} | PII,
        {"name": "note", "type": ["null", "string"]},
    ],
}
NUMBERS = {"type": "record", "name": "Order", "fields": [{"name": "age", "type": "int"} | PII]}
USER = {"type": "object", "properties": {"email": {"type": "string"} | PII}}
VALUE = {"id": 7, "email": "TOP-SECRET@b.c", "phones": ["TOP-SECRET-1", None], "note": "TOP-SECRET-2"}


def avro(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def unavro(data: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(ORDER), None)


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(
    kafka: EmbeddedKafka, registry: RegistryServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    key_file = write_key_file(tmp_path_factory.mktemp("tag-keks") / "keks", "payments")
    hash_file = key_file.with_name("hash")
    hash_file.write_bytes(b"h" * 32)
    hash_file.chmod(0o600)
    asks = {"format": "schema", "registry_url": registry.url, "unknown_schema_cache_ms": 1}

    def adjust(config: dict[str, Any]) -> None:
        tagged = {"mode": "fields", "sealed_tags": ["PII"], "sealed_fields": ["note"]} | asks
        config["tenants"][0]["filters"] = [
            {
                "name": "Masking",
                "config": asks
                | {
                    "fields": [
                        {"path": "email", "action": "last_four"},
                        {"path": "phones[*]", "action": "hash"},
                        {"path": "id", "action": "set_null"},
                    ],
                    "hash_key_file": str(hash_file),
                },
                "rules": [{"topics": [MASKED]}],
            },
            encryption(key_file, SEALED, cache_expiry_seconds=10, **tagged),
        ]

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(tmp_path_factory.mktemp("tagged"), kafka.bootstrap, **options) as process:
        yield process


def stored_values(broker: Endpoint) -> list[bytes | None]:
    return [one.value for one in stored_records(broker, physical_name("globex", SEALED))]


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_tagged_fields_of_avro_and_json_are_sealed_and_come_back(
    gateway: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic, codec: str
) -> None:
    fresh_topic("globex", SEALED)
    endpoint = gateway.endpoint("globex")
    order, user = registry.add(f"{SEALED}-value", ORDER), registry.add(f"{SEALED}-value", USER, "JSON")
    values = [of_schema(order, avro(ORDER, VALUE | {"id": number})) for number in range(50)]
    values.append(of_schema(user, b'{"email": "TOP-SECRET@b.c", "n": 1.50}'))

    options = {"compression.type": codec, "enable.idempotence": True}
    assert produce_values(endpoint, SEALED, *values, None, **options) == [None] * 52

    assert [one.value() for one in read(endpoint, SEALED, 52)] == [*values, None]
    *seen, text, tombstone = stored_values(broker)
    assert tombstone is None
    assert text is not None
    for number, one in enumerate(seen):
        assert one is not None
        assert b"TOP-SECRET" not in one
        found = unavro(one)
        assert (found["id"], found["phones"][1]) == (number, None)
        assert found["email"].startswith("bifrost:sealed:")
    assert b"TOP-SECRET" not in text
    assert json.loads(text[5:])["n"] == 1.5


def test_what_cannot_be_sealed_is_refused_with_the_reason(
    gateway: GatewayProcess, registry: RegistryServer, broker: Endpoint, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", SEALED)
    endpoint = gateway.endpoint("globex")
    numbers = registry.add(f"{SEALED}-value", NUMBERS)
    foreign = registry.add("another-value", ORDER | {"doc": "another"})

    for value in (
        of_schema(numbers, avro(NUMBERS, {"age": 5})),
        of_schema(foreign, avro(ORDER, VALUE)),
        of_schema(999, b"TOP-SECRET"),
        b"TOP-SECRET, no ID",
        of_schema(registry.add(f"{SEALED}-value", ORDER), b"TOP-SECRET"),
    ):
        assert [one and one.code() for one in produce_values(endpoint, SEALED, value)] == [
            KafkaError.INVALID_RECORD
        ]
    assert stored_values(broker) == []


def test_fields_of_avro_are_masked_for_consumers(
    gateway: GatewayProcess, registry: RegistryServer, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", MASKED)
    endpoint = gateway.endpoint("globex")
    order = registry.add(f"{MASKED}-value", ORDER)
    values = [of_schema(order, avro(ORDER, VALUE)), b"no ID", None]

    assert produce_values(endpoint, MASKED, *values) == [None] * 3

    first, unreadable, tombstone = (one.value() for one in read(endpoint, MASKED, 3))
    assert first is not None
    found = unavro(first)
    assert (found["id"], found["email"], found["note"]) == (0, "****@b.c", "TOP-SECRET-2")
    assert (len(found["phones"][0]), found["phones"][1]) == (64, None)
    assert unreadable is None
    assert tombstone is None


def test_the_registry_is_counted(gateway: GatewayProcess, registry: RegistryServer) -> None:
    assert admin_port.value(gateway, "kafka_proxy_schema_look_ups_total", registry=registry.url) > 0
