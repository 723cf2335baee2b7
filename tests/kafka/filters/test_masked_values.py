"""Masking on a real Kafka: who sees what, with every codec."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name

WAIT_S = 60.0
PEOPLE, STRICT = "masked-people", "masked-strict"
KEY = b"0123456789abcdef" * 2
AUDITOR = "masked-auditor"
PERSON = {"id": 7, "email": "a@b.c", "cards": [{"number": "4111111111111111", "ok": 1.50}], "name": "Ann"}
SEEN = {
    "id": 7,
    "email": hmac.new(KEY, b"a@b.c", hashlib.sha256).hexdigest(),
    "cards": [{"number": "****1111", "ok": 1.50}],
    "name": "hidden",
}


@pytest.fixture(scope="module")
def masking(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory, files = tmp_path_factory.mktemp("masking"), tmp_path_factory.mktemp("masking-files")
    key = files / "hash.key"
    key.write_bytes(KEY + b"\n")
    key.chmod(0o600)
    fields = [
        {"path": "email", "action": "hash"},
        {"path": "cards.number", "action": "last_four"},
        {"path": "name", "action": "constant", "value": "hidden"},
    ]
    config = {"fields": fields, "hash_key_file": str(key), "unmasked": [f"User:{AUDITOR}"]}

    password = files / "auditor.password"
    password.write_text("auditor-pw")

    def adjust(found: dict[str, Any]) -> None:
        (globex,) = found["tenants"]
        globex["auth"]["credentials"].append({"username": AUDITOR, "password_file": str(password)})
        globex["filters"] = [
            {"name": "Masking", "config": config, "rules": [{"topics": [PEOPLE]}]},
            {
                "name": "Masking",
                "label": "strict",
                "config": config | {"unreadable": "error"},
                "rules": [{"topics": [STRICT]}],
            },
        ]

    with GatewayProcess(directory, kafka.bootstrap, tenants=[GLOBEX], adjust=adjust) as process:
        yield process


@pytest.fixture
def endpoint(masking: GatewayProcess, fresh_topic: FreshTopic) -> Endpoint:
    for topic in (PEOPLE, STRICT):
        fresh_topic("globex", topic)
    return masking.endpoint("globex")


def send(endpoint: Endpoint, topic: str, *values: bytes | None, codec: str = "none") -> None:
    producer = Producer(endpoint.for_confluent | {"compression.type": codec, "linger.ms": 50})
    told: list[Any] = []
    for value in values:
        producer.produce(topic, value, b"key", callback=lambda *one: told.append(one[0]))
    producer.flush(WAIT_S)
    assert told == [None] * len(values)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_consumers_see_masks_and_the_auditor_sees_all(
    endpoint: Endpoint, broker: Endpoint, codec: str
) -> None:
    person = json.dumps(PERSON).encode()
    send(endpoint, PEOPLE, *[person] * 300, None, b"plain text", b"\0\0\0\0\1" + person, codec=codec)

    stored = [one.value() for one in read(broker, physical_name("globex", PEOPLE), 303)]
    seen = read(endpoint, PEOPLE, 303)
    auditor = replace(endpoint, username=AUDITOR, password="auditor-pw")

    assert stored == [*[person] * 300, None, b"plain text", b"\0\0\0\0\1" + person]
    assert [one.value() for one in read(auditor, PEOPLE, 303)] == stored
    assert [json.loads(one.value()) for one in seen[:300]] == [SEEN] * 300
    assert [one.value() for one in seen[300:302]] == [None, None]
    assert seen[302].value()[:5] == b"\0\0\0\0\1"
    assert json.loads(seen[302].value()[5:]) == SEEN
    assert [(one.offset(), one.key()) for one in seen] == [(number, b"key") for number in range(303)]


def test_a_number_that_is_not_masked_keeps_its_digits(endpoint: Endpoint) -> None:
    send(endpoint, PEOPLE, b'{"email":"x","n":10000000000000000000000.10}')

    (seen,) = read(endpoint, PEOPLE, 1)

    assert seen.value().endswith(b',"n":10000000000000000000000.10}')
    assert b'"x"' not in seen.value()


def test_what_is_no_json_is_an_error_where_that_is_asked_for(endpoint: Endpoint) -> None:
    send(endpoint, STRICT, json.dumps(PERSON).encode())
    send(endpoint, STRICT, b"plain text")

    (first,) = read(endpoint, STRICT, 1)
    assert json.loads(first.value()) == SEEN
    with pytest.raises(KafkaException):
        read(endpoint, STRICT, 2)
