import json
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.record_filter import RecordFilter
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored import job_schemas
from bifrost.pipeline.stored.topic_log import StoredBatch, split_raw
from bifrost.pipeline.stored.validating import schema_breaks
from bifrost.pipeline.stored.validating.schema_breaks import BROKEN, UNREADABLE, VALID, TopicCheck, break_rows
from bifrost.records.codec.columns import ColumnRecord
from support.encryption.in_thread import in_thread
from support.encryption.sealing import with_header
from support.records.record_columns import batch_of
from support.registry_server import RegistryServer

AT_MS = 1_760_000_000_000
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    server = RegistryServer()
    server.add("orders-value", SCHEMA, "JSON")
    yield server
    server.close()


def config_of(server: RegistryServer, **keys: Any) -> FilterConfig:
    config = {"registry_url": server.url, "registry_timeout_ms": 20_000} | keys
    return RecordFilter.model_validate({"name": "SchemaValidator", "config": config}).config


def check_of(server: RegistryServer, **keys: Any) -> TopicCheck:
    return TopicCheck("acme", "orders", "t", "c", (("strict", config_of(server, **keys)),), ())


def named(value: object, schema_id: int = 1) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + json.dumps(value).encode()


def stored(*values: bytes | None, at_ms: int = AT_MS, offset: int = 0, **more: Any) -> StoredBatch:
    records = [ColumnRecord(i, i, None, value) for i, value in enumerate(values)]
    data = with_header(batch_of(records, base_timestamp_ms=at_ms, **more), base_offset=offset, leader_epoch=3)
    return StoredBatch("t", 0, offset, offset + len(values) - 1, at_ms, memoryview(data))


def rows(check: TopicCheck, *batches: StoredBatch) -> list[dict[str, Any]]:
    def run() -> list[dict[str, Any]]:
        found = [one for batch in break_rows({"t": [check]}, iter(batches)) for one in batch.to_pylist()]
        return sorted(found, key=lambda row: (row["kind"], row["first_offset"]))

    return in_thread(run)


def test_broken_records_are_added_up_by_producer_and_hour(server: RegistryServer) -> None:
    good, bad = named({"age": 3}), named({"age": "3"})
    batches = [
        stored(good, bad, None, bad, producer=(7, 1, 0)),
        stored(bad, offset=4, producer=(7, 1, 4)),
        stored(bad, good, offset=5, at_ms=AT_MS + 3_600_000),
    ]

    first, second, *valid = rows(check_of(server), *batches)

    assert (first["kind"], first["filter"], first["hour"]) == (BROKEN, "strict", "2025-10-09 08:00")
    assert (first["producer_id"], first["producer_epoch"], first["records"]) == (7, 1, 3)
    assert (first["first_offset"], first["last_offset"]) == (1, 4)
    assert (first["first_timestamp_ms"], first["last_timestamp_ms"]) == (AT_MS, AT_MS + 3)
    assert first["reason"] == (
        "value: it does not read under its schema: it breaks the schema at /properties/age/type"
    )
    assert (second["producer_id"], second["records"], second["hour"]) == (-1, 1, "2025-10-09 09:00")
    assert [(row["kind"], row["records"]) for row in valid] == [(VALID, 2), (VALID, 1)]


def test_each_record_is_found_whatever_else_is_wrong_with_its_batch(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bifrost.transforms.schema_validator.MAX_REJECTIONS", 2)
    values = [named({"age": "x"}) for _ in range(5)] + [named(1, 9), b"none", named({"age": 1})]

    broken, valid = rows(check_of(server, enforce=False, fail="open"), stored(*values))

    assert (broken["records"], valid["records"]) == (7, 1)


def test_the_rules_of_the_filter_count_too(server: RegistryServer) -> None:
    check = check_of(server, level="rules", checks=[{"name": "adult", "expression": "value.age >= 18"}])

    broken, valid = rows(check, stored(named({"age": 17}), named({"age": 18})))

    assert (broken["reason"], valid["records"]) == ("it breaks the rule adult", 1)


def test_a_batch_that_cannot_be_read_is_a_row_of_its_own(server: RegistryServer) -> None:
    one = stored(named({"age": 3}))
    spoilt = bytearray(one.data)
    spoilt[-1] ^= 1
    (data,) = split_raw(memoryview(bytes(spoilt)))

    (row,) = rows(check_of(server), one._replace(data=data))

    assert (row["kind"], row["records"], row["first_offset"]) == (UNREADABLE, 1, 0)
    assert "checksum" in row["reason"]


def test_a_schema_that_cannot_be_used_breaks_its_records(server: RegistryServer) -> None:
    number = server.add("orders-value", "no type of Avro")

    (row,) = rows(check_of(server), stored(named(1, number), None))

    assert (row["records"], row["reason"]) == (
        2,
        "schema 2 cannot be used: it is no Avro schema (UnknownType)",
    )


def test_rows_are_given_before_there_are_too_many(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_breaks, "MAX_GROUPS", 1)

    found = rows(check_of(server), stored(b"x"), stored(b"y", offset=1))

    assert [row["first_offset"] for row in found] == [0, 1]


def test_a_registry_that_is_away_ends_the_job(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.status = 503
    monkeypatch.setattr(job_schemas, "ATTEMPTS", 1)

    with pytest.raises(PipelineError, match="the schema registry"):
        rows(check_of(server, fail="open"), stored(named(1)))
