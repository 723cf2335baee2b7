"""Gateways whose filters see the records, beside one without filters: each has a tenant with topics of its own."""

import base64
import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.certificates import make_certificate
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory, free_port
from bench.records.batches import full_batch
from bench.records.registry import registry
from bench.subjects import Subject
from bench.topics import BATCH_BYTES, CONSUMED, PRODUCED, RECORD_BYTES, SINGLE, Topics

PLAIN, OTHERS = "no filters", "no rule matches"
BATCHES, VALUES, IDS = "sealed batches", "sealed values", "schema IDs"
BOTH = "encryption and validation"
READ_MIB = 64
KEK = "bench"


@dataclass
class Filtered:
    """What is compared, before one Kafka."""

    laboratory: Laboratory
    direct: Subject
    ways: dict[str, Subject]
    """Gateways, by what their filters do."""
    topics: Topics
    registry_url: str
    key_file: Path
    running: ExitStack = field(repr=False)


def filters_of(registry_url: str, key_file: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the filters of each gateway; all but those of OTHERS are for all topics."""
    seal = {"kms_provider": "KeyFile", "key_id": KEK, "key_file": str(key_file)}

    def sealing(mode: str) -> dict[str, Any]:
        return {"name": "EnvelopeEncryption", "config": seal | {"mode": mode}}

    def validating(level: str) -> dict[str, Any]:
        return {"name": "SchemaValidator", "config": {"registry_url": registry_url, "level": level}}

    return {
        PLAIN: [],
        OTHERS: [sealing("batches") | {"rules": [{"topics": ["payments*"]}]}],
        BATCHES: [sealing("batches")],
        VALUES: [sealing("values")],
        IDS: [validating("id")],
        BOTH: [validating("schema"), sealing("batches")],
    }


def start(running: ExitStack, directory: Path) -> Filtered:
    """Start Kafka and the gateways, and fill their topics; they end with `running`."""
    certificate = make_certificate(directory)
    kafka = running.enter_context(BenchKafka(certificate, free_port()))
    laboratory = Laboratory.of(kafka, certificate, directory)
    key_file = directory / "keks"
    key_file.touch(mode=0o600)
    key_file.write_text(f"{KEK} 1 {base64.b64encode(bytes(range(32))).decode()}\n")
    url = running.enter_context(registry([PRODUCED, CONSUMED, SINGLE]))
    topics = Topics(READ_MIB, *full_batch(BATCH_BYTES, RECORD_BYTES))
    found = Filtered(laboratory, laboratory.direct()[0], {}, topics, url, key_file, running)
    found.ways = {name: add_gateway(found, name) for name in filters_of(url, key_file)}
    plain = found.ways[PLAIN]
    # The direct way has the topics of the gateway without filters.
    found.direct.spaces = [type(plain.spaces[0])(plain.spaces[0].tenant)]
    topics.make([found.direct, *found.ways.values()])
    return found


def add_gateway(found: Filtered, filters: str, *, name: str = "", limits: str = "") -> Subject:
    """Start another gateway with filters of that kind; `name` makes its tenant another one than theirs."""
    chosen = filters_of(found.registry_url, found.key_file)[filters]
    started = found.laboratory.gateway(
        tenant=(name or filters).replace(" ", "-").lower(),
        name=name or filters,
        of_tenants=f"filters: {json.dumps(chosen)}" if chosen else "",
        limits=limits,
    )
    subject, _ = found.running.enter_context(started)
    subject.makes_own_topics = True
    return subject
