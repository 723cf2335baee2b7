"""`validate` over topics in which records are planted that break their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.validate import Validated, ValidateOptions, run_validate
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.scan_options import ScanOptions
from support.journal.journal_records import Journal
from support.records.configured_tenants import tenant_of
from support.records.filtered_batches import EncryptionFilter, filter_config
from support.records.schema_answers import of_schema
from support.records.stored_batches import BEGIN_MS, Planter, rows, settings_of, write_keks
from support.registry_server import RegistryServer

RECORD = {"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "long"}]}
PROTO = 'syntax = "proto3"; message Order { int64 amount = 1; }'
JSON_SCHEMA = {"type": "object", "required": ["amount"]}
GOOD = {"AVRO": b"\x02", "JSON": b'{"amount": 1}', "PROTOBUF": b"\0\x08\x01"}
BAD = {"AVRO": b"\x02\x02", "JSON": b'{"secret": 1}', "PROTOBUF": b"\0\x08"}


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    server = RegistryServer()
    yield server
    server.close()


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("pay", 1), ("old", 1)))
    with planter.client:
        yield planter


def filters(registry: RegistryServer, planter: Planter, *topics: str) -> list[dict[str, Any]]:
    keks = {"kms_provider": "KeyFile", "key_id": "pay", "key_file": str(planter.keks)}
    check = {"registry_url": registry.url, "registry_timeout_ms": 20_000, "enforce": False}
    return [
        {"name": "SchemaValidator", "config": check, "rules": [{"topics": [*topics]}]},
        {"name": "EnvelopeEncryption", "config": keks, "rules": [{"topics": ["sealed"]}]},
    ]


def options(
    kafka: EmbeddedKafka, out: Path, prefix: str, own: list[dict[str, Any]], **more: Any
) -> ValidateOptions:
    scan = ScanOptions(settings_of(kafka.bootstrap), str(out))
    return ValidateOptions(scan, ConfiguredTenants([tenant_of(own, prefix=prefix)]), **more)


def test_records_of_each_kind_that_break_their_schema_are_found(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, registry: RegistryServer, tmp_path: Path
) -> None:
    for kind, schema in (("AVRO", RECORD), ("JSON", JSON_SCHEMA), ("PROTOBUF", PROTO)):
        topic = f"checked-{kind.lower()}"
        number = registry.add(f"{kind.lower()}-value", schema, kind)
        planter.create(topic, 1)
        named = [b"\0" + number.to_bytes(4, "big") + one for one in (GOOD[kind], BAD[kind])]
        planter.plant(topic, planter.batch(topic, [named[0], named[1], None], producer_id=5))
    own = filters(registry, planter, "avro", "json", "protobuf")

    done = run_validate(spark, options(kafka, tmp_path, "checked-", own), told)

    names = ("checked-avro", "checked-json", "checked-protobuf")
    assert done == Validated(3, 6, 3, 0, tuple((name, 1) for name in names))
    found = rows(tmp_path / "broken.csv")
    assert [(row["topic"], row["first_offset"], row["producer_id"]) for row in found] == [
        (name, "1", "5") for name in names
    ]
    assert all(row["first_timestamp"].startswith("2025-10-09") and row["reason"] for row in found)
    assert b"secret" not in b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())


def test_sealed_topics_are_opened_and_the_journal_names_who_produced(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    planter: Planter,
    registry: RegistryServer,
    metered: Callable[..., None],
    tmp_path: Path,
) -> None:
    number = registry.add("sealed-value", JSON_SCHEMA, "JSON")
    good, bad = (b"\0" + number.to_bytes(4, "big") + json.dumps(one).encode() for one in ({"amount": 1}, 1))
    planter.create("opened-sealed", 1)
    planter.plant("opened-sealed", planter.batch("opened-sealed", [good, bad]), kek="pay")
    planter.plant("opened-sealed", planter.batch("opened-sealed", [bad]))
    planter.plant("opened-sealed", planter.batch("opened-sealed", [good]), kek="old")
    seen = Journal().topic("acme", "sealed", BEGIN_MS + 5_000, physical_topic="opened-sealed", records_in=3)
    metered(seen)
    chosen = options(
        kafka, tmp_path / "o", "opened-", filters(registry, planter, "*"), tables=str(tmp_path / "t")
    )

    done = run_validate(spark, chosen, told)

    assert done == Validated(1, 1, 2, 1, (("opened-sealed", 3),))
    broken, unreadable = rows(tmp_path / "o" / "broken.csv")
    assert (broken["principals"], broken["records"]) == ("User:acme", "2")
    assert (broken["first_offset"], broken["last_offset"]) == ("1", "2")
    assert unreadable["reason"] == "the job was given no KEK of 'file:old'"


def test_values_are_checked_with_their_sealed_fields_opened(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, registry: RegistryServer, tmp_path: Path
) -> None:
    tagged = {
        "type": "object",
        "properties": {"card": {"type": "string", "pattern": "^[0-9 ]+$", "confluent:tags": ["PII"]}},
    }
    number = registry.add("fields-value", tagged, "JSON")
    more = {"mode": "fields", "format": "schema", "sealed_tags": ["PII"], "registry_url": registry.url}
    config = filter_config(planter.keks, "pay", **more)
    good, bad = (of_schema(number, b'{"card":"%s"}' % one) for one in (b"4111 1111", b"secret"))
    planter.create("checked-fields", 1)
    seal = EncryptionFilter(config, planter.cluster, "checked-fields", "fields")
    planter.client.produce(
        "checked-fields", 0, seal.sealed(planter.batch("checked-fields", [good, bad, None]))
    )
    planter.plant("checked-fields", planter.batch("checked-fields", [good]))
    own = filters(registry, planter, "fields")
    own[1] = {
        "name": "EnvelopeEncryption",
        "config": {"kms_provider": "KeyFile", "key_id": "pay", "key_file": str(planter.keks)} | more,
        "rules": [{"topics": ["fields"]}],
    }

    done = run_validate(spark, options(kafka, tmp_path, "checked-", own), told)

    assert done == Validated(1, 3, 1, 0, (("checked-fields", 1),))
    (row,) = rows(tmp_path / "broken.csv")
    assert (row["first_offset"], row["kind"]) == ("1", "broken")
    assert row["reason"].endswith("it breaks the schema at /properties/card/pattern")


def test_what_stands_in_the_way_is_one_line(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    planter: Planter,
    registry: RegistryServer,
    tmp_path: Path,
) -> None:
    planter.create("blocked-orders", 1)
    planter.plant("blocked-orders", planter.batch("blocked-orders", [b"\0\0\0\0\x01x"]))
    named = options(kafka, tmp_path, "blocked-", filters(registry, planter, "orders"))
    with pytest.raises(PipelineError, match="no SchemaValidator of --config is for a topic"):
        run_validate(spark, replace(named, tenants=ConfiguredTenants([tenant_of([])])), told)
    planter.create("blocked-others", 1)
    with pytest.raises(PipelineError, match="no SchemaValidator of --config is for blocked-others"):
        run_validate(spark, replace(named, scan=replace(named.scan, topics=("blocked-others",))), told)
