"""SchemaValidator with a real registry, Apicurio: `make records` runs it."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, HOST, GatewayProcess, free_ports
from support.records.record_columns import batch_of

APICURIO = os.environ.get("BIFROST_APICURIO", "")
pytestmark = [
    pytest.mark.skipif(
        not APICURIO, reason="make records does this, with Apicurio's folder in BIFROST_APICURIO"
    ),
    pytest.mark.timeout(600),
]
START_S = 300.0
TOPIC = "apicurio"
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
USER = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["age"]}
MONEY = 'syntax = "proto3"; package shop; message Money { int64 units = 1; }'
PAYMENT = 'syntax = "proto3"; package shop; import "money.proto"; message Payment { Money amount = 1; }'


class Apicurio:
    """A registry in memory; it needs Java 21."""

    def __init__(self, log: Path) -> None:
        port = free_ports(2)
        self.url = f"http://{HOST}:{port}/apis/ccompat/v7"
        options = {"http.host": HOST, "http.port": port, "management.host": HOST, "management.port": port + 1}
        java = os.environ.get("BIFROST_APICURIO_JAVA", "java")
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                [
                    java,
                    "-Xmx512m",
                    "-XX:+UseSerialGC",
                    *(f"-Dquarkus.{name}={value}" for name, value in options.items()),
                    "-jar",
                    str(next(Path(APICURIO).glob("*run*.jar"))),
                ],
                stdout=out,
                stderr=out,
            )

    def await_start(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + START_S
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/subjects", timeout=10).close()
                return
            except (urllib.error.URLError, OSError):
                assert self._process.poll() is None, "Apicurio has ended: see its log"
                assert time.monotonic() < deadline
                time.sleep(0.5)

    def add(self, subject: str, schema: str, kind: str = "AVRO", *references: str) -> int:
        """Register a schema, with references to subjects of the name that imports have for them."""
        used = [{"name": one, "subject": one, "version": 1} for one in references]
        body = json.dumps({"schema": schema, "schemaType": kind, "references": used}).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(
            f"{self.url}/subjects/{subject}/versions", body, headers, method="POST"
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(json.load(answer)["id"])

    def remove(self, subject: str) -> None:
        """Delete a subject."""
        request = urllib.request.Request(f"{self.url}/subjects/{subject}", method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()

    def close(self) -> None:
        """Stop."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    registry = Apicurio(tmp_path_factory.mktemp("apicurio") / "log")
    try:
        registry.await_start()
        yield registry
    finally:
        registry.close()


@pytest.fixture(scope="module")
def validating(
    kafka: EmbeddedKafka, apicurio: Apicurio, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        options = {"registry_url": apicurio.url, "schema_cache_ms": "1s", "unknown_schema_cache_ms": 1}
        config["tenants"][0]["filters"] = [
            {"name": "SchemaValidator", "config": options, "rules": [{"topics": [f"{TOPIC}*"]}]}
        ]

    directory = tmp_path_factory.mktemp("validating")
    with GatewayProcess(directory, kafka.bootstrap, tenants=[GLOBEX], adjust=adjust) as process:
        yield process


def sent(gateway: GatewayProcess, topic: str, schema_id: int, payload: bytes) -> ErrorCode:
    value = b"\0" + schema_id.to_bytes(4, "big") + payload
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        request = produce_request(topic, batch_of([ColumnRecord(0, 0, None, value)]))
        response = client.request(request, PRODUCE_BY_NAME)
    [partition] = response.responses[0].partition_responses
    return ErrorCode(partition.error_code)


def test_schemas_of_every_kind_are_read(
    validating: GatewayProcess, apicurio: Apicurio, fresh_topic: FreshTopic
) -> None:
    apicurio.add("money.proto", MONEY, "PROTOBUF")
    for kind, schema, references, good, wrong in (
        ("AVRO", json.dumps(ORDER), (), b"\x54", b"\x54\0"),
        ("JSON", json.dumps(USER), (), b'{"age": 3}', b"{}"),
        ("PROTOBUF", PAYMENT, ("money.proto",), b"\0\x0a\2\x08\7", b"\0\x0a\2\x08"),
    ):
        topic = f"{TOPIC}-{kind.lower()}"
        fresh_topic("globex", topic)
        number = apicurio.add(f"{topic}-value", schema, kind, *references)
        assert sent(validating, topic, number, good) == ErrorCode.NONE
        assert sent(validating, topic, number, wrong) == ErrorCode.INVALID_RECORD


def test_a_schema_that_was_deleted_is_not_of_the_subject_any_more(
    validating: GatewayProcess, apicurio: Apicurio, fresh_topic: FreshTopic
) -> None:
    topic = f"{TOPIC}-deleted"
    fresh_topic("globex", topic)
    number = apicurio.add(f"{topic}-value", '"string"')
    apicurio.remove(f"{topic}-value")

    assert sent(validating, topic, number, b"\2a") == ErrorCode.INVALID_RECORD


def test_ids_of_others_and_none_at_all_are_refused(
    validating: GatewayProcess, apicurio: Apicurio, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", TOPIC)
    other = apicurio.add("another-value", '"double"')

    assert sent(validating, TOPIC, other, bytes(8)) == ErrorCode.INVALID_RECORD
    assert sent(validating, TOPIC, 4_000_000_000, b"") == ErrorCode.INVALID_RECORD
