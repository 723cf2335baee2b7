"""Batches by columns and batches by Spark make the same tables of the same journal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.errors import FutureSchemaError
from bifrost.pipeline.jobs.meter import Meter
from bifrost.pipeline.metering.column_change import ColumnChange
from bifrost.pipeline.metering.journal_records import KNOWN_VERSION
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.spark.tables import Tables
from support.journal.journal_records import DAY_MS, HOUR_MS, NOON_MS, Journal

Topic = Callable[..., DataFrame]
Record = dict[str, Any] | bytes | None


class Gateways:
    """Write a journal as in bad times: redelivered, late, corrupt, with fields that are new."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._journals = [Journal(f"gw-{n}", epoch) for n in (1, 2) for epoch in (1, 2)]
        self._sent: list[dict[str, Any]] = []

    def batch(self, count: int, *, repeats: float) -> list[Record]:
        """Return records, of which a share came before."""
        return [
            self._chance.choice(self._sent) if self._sent and self._chance.random() < repeats else self._new()
            for _ in range(count)
        ]

    def _new(self) -> Record:
        chance, journal = self._chance, self._chance.choice(self._journals)
        end_ms = NOON_MS + chance.randrange(3 * DAY_MS)
        tenant, topic = chance.choice(["acme", "globex"]), chance.choice(["a", "b", 'quoted "é"'])
        counts = {"requests": chance.randrange(100), "bytes_in": chance.randrange(1 << 44)}
        record: dict[str, Any] = chance.choice(
            [
                lambda: journal.topic(tenant, topic, end_ms, **counts, error_codes={"29": 1, "3": 2}),
                lambda: journal.topic(tenant, topic, end_ms, records_in=3, batches=[{"codec": "lz4"}, {}]),
                lambda: journal.requests(tenant, end_ms, **counts, gateway_times=[1, 2]),
                lambda: journal.connections(tenant, end_ms, connection_ms=5),
                lambda: journal.event(chance.choice([None, tenant]), end_ms, before={"x": "y"}, after={}),
                lambda: journal.snapshot(tenant, topic, end_ms, bytes=chance.choice([None, 1 << 50])),
                lambda: journal.drop(1, 5, end_ms),
            ]
        )()
        self._sent.append(record)
        return self._spoil(record)

    def _spoil(self, record: dict[str, Any]) -> Record:
        chance = self._chance.random()
        if chance > 0.12:
            return record
        self._sent.pop()
        changes: list[Record] = [
            None,
            json.dumps(record).encode()[:-1],
            record | {"novelty": {"a": [1, "\n"]}},
            record | {"sequence": "7"},
            record | {"schema_version": 0},
            record | {"kind": "gossip"},
            record | {"interval_start_ms": 0},
            json.dumps(record).replace(":", " :\n").encode(),
            json.dumps(record, ensure_ascii=False).replace("acme", "ac\tme").encode(),
        ]
        return self._chance.choice(changes)


def contents(tables: Tables) -> dict[str, list[str]]:
    """All rows of all tables; as text, since a row with a map has no order."""
    return {
        name: sorted(str(row) for row in tables.read(name).select(*schema.fieldNames()).collect())
        for name, schema in tables.schemas.items()
    }


@pytest.mark.timeout(600)
def test_the_tables_are_the_same_as_spark_s(spark: SparkSession, topic: Topic, tmp_path: Path) -> None:
    gateways = Gateways(11)
    batches = [
        gateways.batch(120, repeats=0),
        gateways.batch(60, repeats=0.1),
        gateways.batch(60, repeats=0),
    ]
    ours, theirs = (open_tables(spark, str(tmp_path / name), "parquet") for name in ("columns", "rows"))
    meters = [Meter(ours, 3600), Meter(theirs, 3600, by_columns=False)]

    for number, batch in enumerate(batches):
        notes = [meter.apply(topic(batch, first_offset=number * 1000), number) for meter in meters]
        assert notes[0] == notes[1]
        assert notes[0].rejected

    assert ours.head().facts == theirs.head().facts
    assert contents(ours) == contents(theirs)
    assert len(contents(ours)["usage_hourly"]) > 50


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return open_tables(spark, str(tmp_path / "t a b l e s"), "parquet")


def test_a_batch_without_repeats_is_added_by_columns(tables: Tables, topic: Topic, tmp_path: Path) -> None:
    records = [Journal("gw", epoch).topic("acme", "t", bytes_in=1) for epoch in range(5)]
    change = tables.begin()
    columns = ColumnChange(change, str(tables.files.local_root), str(tmp_path), NOON_MS)

    assert columns.add(topic([*records, b"broken"]))
    change.commit(writer="test", batch=0, facts={})

    assert (columns.records, columns.late, columns.newest_ms) == (5, 0, NOON_MS)
    assert columns.days() == columns.days("usage") == ["2026-10-05"]
    assert len(columns.odd) == 1
    assert [row.produced_bytes for row in tables.read("usage_daily").collect()] == [5]


def test_a_batch_with_a_repeat_leaves_nothing(tables: Tables, topic: Topic, tmp_path: Path) -> None:
    record = Journal().topic("acme", "t", NOON_MS + HOUR_MS, bytes_in=1)
    Meter(tables, 60).apply(topic([record]), 0)
    files = {*Path(str(tables.files.local_root)).rglob("*.parquet")}
    change = tables.begin()

    columns = ColumnChange(change, str(tables.files.local_root), str(tmp_path), None)

    assert not columns.add(topic([Journal("other").topic("acme", "t"), record]))
    assert {*Path(str(tables.files.local_root)).rglob("*.parquet")} == files
    assert change.directories("usage", ["2026-10-05"]) == tables.begin().directories("usage", ["2026-10-05"])


def test_a_version_of_the_future_leaves_no_files(tables: Tables, topic: Topic) -> None:
    journal = Journal()

    with pytest.raises(FutureSchemaError):
        Meter(tables, 60).apply(
            topic([journal.topic("a", "t"), journal.topic("a", "t") | {"schema_version": KNOWN_VERSION + 1}]),
            0,
        )

    assert not list(Path(str(tables.files.local_root)).rglob("*.parquet"))
