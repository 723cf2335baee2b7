"""Records as Arrow columns: what is certainly valid, and what is left to Spark."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bifrost.pipeline.metering.journal_columns import (
    HOUR_MS,
    MAX_COUNTER,
    Page,
    parse_rows,
    parsed_fields,
    take_page,
)
from bifrost.pipeline.metering.journal_parser import JournalParser
from bifrost.pipeline.metering.journal_records import KNOWN_VERSION
from bifrost.pipeline.metering.metered_tables import TABLES, table_schemas
from support.journal.journal_records import NOON_MS, Journal, rows_of


def page_of(*records: dict[str, Any] | bytes | None, keys: list[bytes | None] | None = None) -> Page:
    rows = rows_of(records)
    values = pa.array([row[1] for row in rows], pa.binary())
    named = pa.array(keys or [row[0] for row in rows], pa.binary())
    parser = JournalParser(parsed_fields(), 100, 7)
    parse_rows(parser, values, named, 0, len(rows))
    return take_page(parser, named.is_valid().to_numpy(zero_copy_only=False))


def test_each_kind_becomes_rows_of_its_table() -> None:
    journal = Journal()
    page = page_of(
        journal.topic("a", "t", bytes_in=5, error_codes={"29": 2}, batches=[{"codec": "lz4", "bytes": 3}]),
        journal.event(None, before={"x": "1"}),
        journal.snapshot("a", "t", partitions=[{"partition": 0, "leader": 1, "replicas": [1, 2]}]),
        journal.drop(0, 1),
    )

    assert not page.odd.any()
    for kind, table in page.tables.items():
        columns = {*table_schemas()[TABLES[kind]].fieldNames()} - {"day", "hour", "is_late"}
        assert {*table.column_names} == columns | {"hour_ms"}
        table.validate(full=True)
    rows = {kind: table.to_pylist()[0] for kind, table in page.tables.items()}
    assert rows["usage"]["topic"] == "t"
    assert rows["usage"]["bytes_in"] == 5
    assert rows["usage"]["bytes_out"] is None
    assert rows["usage"]["error_codes"] == [("29", 2)]
    assert rows["usage"]["batches"][0]["codec"] == "lz4"
    assert rows["event"]["before"] == [("x", "1")]
    assert rows["snapshot"]["partitions"][0]["replicas"] == [1, 2]
    assert rows["drop"]["last_sequence"] == 1


def test_an_interval_counts_in_the_hour_in_which_it_ends() -> None:
    journal = Journal()
    page = page_of(journal.topic("a", "t"), journal.topic("a", "t", NOON_MS + 1), journal.event(None))

    assert page.tables["usage"]["hour_ms"].to_pylist() == [NOON_MS - HOUR_MS, NOON_MS]
    assert page.tables["event"]["hour_ms"].to_pylist() == [NOON_MS]


def spoiled(**changes: Any) -> dict[str, Any]:
    return Journal().topic("acme", "orders") | changes


@pytest.mark.parametrize(
    "record",
    [
        None,
        b'{"schema_version": 1, "kind": "usage"',
        spoiled(schema_version=KNOWN_VERSION + 1),
        spoiled(schema_version=None),
        spoiled(kind="gossip"),
        spoiled(kind="event"),
        spoiled(kind=None),
        spoiled(gateway_id=None),
        spoiled(epoch=-1),
        spoiled(sequence=-1),
        spoiled(sequence=None),
        spoiled(tenant="../../etc"),
        spoiled(tenant="x" * 65),
        spoiled(interval_end_ms=5),
        spoiled(interval_start_ms=5),
        spoiled(interval_start_ms=NOON_MS + 1),
        spoiled(interval_end_ms=4_102_444_800_001),
        Journal().topic("acme", "orders", bytes_in=-1),
        Journal().topic("acme", "orders", bytes_in=MAX_COUNTER),
        Journal().event("acme") | {"usage": {"gateway_time_us": -1}},
        Journal().snapshot("acme", "orders", bytes=-1),
        Journal().snapshot("acme", "orders", partition_count=-1),
        {name: one for name, one in spoiled().items() if name != "tenant"},
    ],
)
def test_what_is_not_certainly_valid_is_left_to_spark(record: Any) -> None:
    good = Journal("gw-2").topic("acme", "orders", bytes_in=1)

    page = page_of(good, record, good, keys=[b"acme", None if record is None else b"acme", b"acme"])

    assert page.odd.tolist() == [False, True, False]
    assert page.tables["usage"].num_rows == 2


def test_a_key_must_be_the_tenant() -> None:
    record, event = spoiled(), Journal().event(None)

    page = page_of(record, record, event, event, keys=[b"globex", None, b"", None])

    assert page.odd.tolist() == [True, True, True, False]


def test_a_tenant_is_not_needed_where_the_record_is_of_none() -> None:
    page = page_of(Journal().event(None), Journal().drop(1, 2))

    assert not page.odd.any()
    assert page.tables["event"]["tenant"].to_pylist() == [None]


def test_a_page_may_be_of_several_batches() -> None:
    texts = [json.dumps(Journal("gw", epoch).topic("a", "t")).encode() for epoch in range(9)]
    values, keys = pa.array(texts, pa.binary()), pa.array([b"a"] * 9, pa.binary())
    parser = JournalParser(parsed_fields(), 100, 7)
    for begin in (0, 3, 6):
        parse_rows(parser, values, keys, begin, begin + 3)

    page = take_page(parser, np.ones(9, bool))

    assert page.tables["usage"]["epoch"].to_pylist() == list(range(9))
