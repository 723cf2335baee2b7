"""Batches applied to the tables: each record counts once, however often and however late it comes."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.errors import FutureSchemaError, StoreError
from bifrost.pipeline.jobs.meter import Meter
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.spark.spark_session import TableFormat
from bifrost.pipeline.spark.tables import Tables
from support.journal.journal_records import DAY_MS, HOUR_MS, NOON_MS, Journal

Topic = Callable[..., DataFrame]


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return open_tables(spark, str(tmp_path / "tables"), "parquet")


def produced(tables: Tables, table: str = "usage_daily") -> dict[str, int]:
    frame = tables.read(table).groupBy("day").sum("produced_bytes")
    return {row[0]: row[1] for row in frame.collect()}


@pytest.mark.parametrize("table_format", ["parquet", "delta"])
def test_a_journal_becomes_tables(
    table_format: TableFormat, spark: SparkSession, tmp_path: Path, topic: Topic
) -> None:
    tables = open_tables(spark, str(tmp_path), table_format)
    journal = Journal()
    records: list[dict[str, Any] | bytes] = [
        journal.topic("acme", "orders", bytes_in=100),
        journal.topic("acme", "orders", NOON_MS + HOUR_MS, bytes_in=10),
        journal.event(None),
        journal.snapshot("acme", "orders", replica_bytes=5),
        journal.drop(1, 2),
        b"broken",
    ]

    notes = Meter(tables, 60).apply(topic(records), 0)

    counts = {name: tables.read(name).count() for name in tables.schemas}
    assert counts == {
        "usage": 2,
        "events": 1,
        "snapshots": 1,
        "drops": 1,
        "rejects": 1,
        "usage_hourly": 2,
        "usage_daily": 1,
        "storage_hourly": 1,
        "storage_daily": 1,
    }
    assert (notes.records, notes.rejected, notes.late, str(notes)) == (6, 1, 0, "1 rejected")
    assert produced(tables) == {"2026-10-05": 110}
    assert tables.head().facts == {"watermark_ms": NOON_MS + HOUR_MS - 60_000}


def test_what_comes_again_changes_nothing(tables: Tables, topic: Topic) -> None:
    journal = Journal()
    records: list[dict[str, Any] | bytes] = [journal.topic("acme", "orders", bytes_in=1) for _ in range(5)]
    meter = Meter(tables, 60)
    meter.apply(topic([*records, b"broken"]), 0)

    # The same batch after a kill, and the same records redelivered behind others in another one.
    meter.apply(topic([*records, b"broken"]), 0)
    meter.apply(topic([*records[2:], journal.topic("acme", "orders", bytes_in=1)], first_offset=6), 1)

    assert produced(tables) == {"2026-10-05": 6}
    assert tables.read("usage").count() == 6
    assert tables.read("rejects").count() == 1


def test_two_gateways_and_two_starts_of_one_are_told_apart(tables: Tables, topic: Topic) -> None:
    journals = [Journal("a", 1), Journal("a", 2), Journal("b", 1)]

    Meter(tables, 60).apply(topic([one.topic("acme", "t", bytes_in=1) for one in journals]), 0)

    assert produced(tables) == {"2026-10-05": 3}


def test_what_is_late_is_counted_in_its_own_day_and_marked(tables: Tables, topic: Topic) -> None:
    journal = Journal()
    meter = Meter(tables, 60)
    meter.apply(topic([journal.topic("acme", "t", NOON_MS + DAY_MS, bytes_in=1)]), 0)

    notes = meter.apply(topic([journal.topic("acme", "t", NOON_MS, bytes_in=10)], first_offset=1), 1)

    assert notes.late == 1
    assert produced(tables) == {"2026-10-05": 10, "2026-10-06": 1}
    late = {row.day: row.late_rows for row in tables.read("usage_daily").collect()}
    assert late == {"2026-10-05": 1, "2026-10-06": 0}
    assert tables.head().facts["watermark_ms"] == NOON_MS + DAY_MS - 60_000, "the watermark never goes back"


def test_an_hour_that_is_not_touched_stays_as_it_is(tables: Tables, topic: Topic) -> None:
    journal = Journal()
    meter = Meter(tables, 60)
    meter.apply(
        topic([journal.topic("acme", "t", NOON_MS + n * HOUR_MS, bytes_in=10**n) for n in range(3)]), 0
    )
    meter.apply(topic([journal.topic("acme", "t", NOON_MS + HOUR_MS, bytes_in=5)], first_offset=3), 1)

    hours = tables.read("usage_hourly").orderBy("hour").collect()
    assert [row.produced_bytes for row in hours] == [1, 15, 100]
    assert produced(tables) == {"2026-10-05": 116}


def test_looks_at_midnight_are_joined_over_the_days(tables: Tables, topic: Topic) -> None:
    midnight = NOON_MS + 12 * HOUR_MS
    one, other = Journal("gw-1"), Journal("gw-2")
    meter = Meter(tables, 60)
    meter.apply(topic([one.snapshot("acme", "t", midnight + 30_000, replica_bytes=100)]), 0)
    assert tables.read("storage_daily").collect()[0].byte_ms == 6_000_000

    # The other gateway's look comes late and covers half of what the first one's does.
    meter.apply(topic([other.snapshot("acme", "t", midnight, replica_bytes=100)], first_offset=1), 1)

    days = {row.day: row.byte_ms for row in tables.read("storage_daily").collect()}
    assert days == {"2026-10-05": 6_000_000, "2026-10-06": 3_000_000}


def test_a_journal_of_version_1_and_one_of_version_2_are_summed_up_together(
    tables: Tables, topic: Topic
) -> None:
    old, new = Journal("old"), Journal("new")
    records = [
        old.topic("acme", "orders", bytes_in=1) | {"schema_version": 1},
        old.requests("acme", requests=3) | {"schema_version": 1},
        new.topic("acme", "orders", bytes_in=10),
        new.requests("acme", requests=30),
        new.access("acme", "group", "billing", requests=30),
    ]

    Meter(tables, 60).apply(topic(records), 0)

    assert produced(tables) == {"2026-10-05": 11}
    (row,) = tables.read("usage_daily").groupBy().sum("requests", "topic_requests", "rows").collect()
    assert tuple(row) == (33, 0, 5)
    versions = tables.read("usage").groupBy("schema_version").count().collect()
    assert {row.schema_version: row["count"] for row in versions} == {1: 2, 2: 3}
    (row,) = tables.read("usage").where("scope = 'group'").collect()
    assert (row.resource_name, row.requests) == ("billing", 30)


def test_a_version_of_the_future_stops_it_before_anything_is_counted(tables: Tables, topic: Topic) -> None:
    journal = Journal()
    meter = Meter(tables, 60)

    with pytest.raises(
        FutureSchemaError, match=r"journal, partition 0, offset 1: .* version 3, .* update Bifrost here"
    ):
        meter(topic([journal.topic("acme", "t"), journal.topic("acme", "t") | {"schema_version": 3}]), 0)

    assert tables.head().version == 0
    assert isinstance(meter.failure, FutureSchemaError)


def test_a_second_meter_on_the_same_tables_is_refused(tables: Tables, topic: Topic) -> None:
    batch = topic([Journal().topic("acme", "t", bytes_in=1)])
    begin = tables.begin
    late = begin()
    Meter(tables, 60).apply(batch, 0)
    tables.begin = lambda: late  # type: ignore[method-assign]

    with pytest.raises(StoreError, match="stop one of them"):
        Meter(tables, 60).apply(batch, 0)

    assert produced(tables) == {"2026-10-05": 1}


def test_an_empty_batch_is_nothing(tables: Tables, topic: Topic) -> None:
    assert Meter(tables, 60).apply(topic([]), 0).records == 0
    assert tables.head().version == 0


def test_days_are_those_of_utc(tables: Tables, topic: Topic) -> None:
    Meter(tables, 60).apply(topic([Journal().topic("acme", "t", NOON_MS + 12 * HOUR_MS + 1, bytes_in=1)]), 0)

    assert list(produced(tables)) == ["2026-10-06"]
    assert datetime.datetime.fromtimestamp((NOON_MS + 12 * HOUR_MS) / 1000, datetime.UTC).day == 6
