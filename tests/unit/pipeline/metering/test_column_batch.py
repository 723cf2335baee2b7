"""A task's part of a batch: files of the tables, and what the driver must know. `tests/spark` runs it inside Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bifrost.pipeline.metering import column_batch
from bifrost.pipeline.metering.column_batch import (
    Part,
    PartWriter,
    Target,
    find_odd,
    is_known,
    read_numbers,
    read_part_sums,
)
from bifrost.pipeline.metering.metered_tables import table_schemas
from support.journal.journal_records import DAY_MS, NOON_MS, Journal, rows_of

SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)


def batch(records: Iterable[dict[str, Any] | bytes | None]) -> pa.RecordBatch:
    columns = [list(one) for one in zip(*rows_of(records), strict=True)]
    return pa.RecordBatch.from_arrays(
        [pa.array(one, field.type) for one, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


@pytest.fixture
def target(tmp_path: Path) -> Target:
    (tmp_path / "scratch").mkdir()
    return Target(str(tmp_path / "tables"), "1-abc", str(tmp_path / "scratch"), NOON_MS, 7)


def write(target: Target, *batches: Iterable[dict[str, Any] | bytes | None], name: str = "0") -> Part:
    writer = PartWriter(target, name)
    for one in batches:
        writer.add(batch(one))
    return writer.close()


def stored(target: Target, table: str, day: str) -> pa.Table:
    paths = sorted(Path(target.tables, table, target.batch, f"part={day}").glob("*.parquet"))
    return pa.concat_tables([pq.ParquetFile(path).read() for path in paths])


def test_rows_lie_in_their_tables_and_days(target: Target) -> None:
    journal = Journal()
    records = [
        journal.topic("acme", "orders", NOON_MS - 1, bytes_in=5),
        journal.topic("acme", "orders", NOON_MS + DAY_MS, bytes_in=7),
        journal.event(None),
        journal.snapshot("acme", "orders"),
        journal.drop(1, 2),
    ]

    part = write(target, records[:2], records[2:])

    assert (part.records, part.odd, part.late, part.newest_ms) == (5, 0, 1, NOON_MS + DAY_MS)
    assert part.days == {
        "usage": ["2026-10-05", "2026-10-06"],
        "event": ["2026-10-05"],
        "snapshot": ["2026-10-05"],
        "drop": ["2026-10-05"],
    }
    first = stored(target, "usage", "2026-10-05")
    assert first.column_names == table_schemas()["usage"].fieldNames()
    assert first.select(["day", "bytes_in", "is_late"]).to_pylist() == [
        {"day": "2026-10-05", "bytes_in": 5, "is_late": True}
    ]
    assert stored(target, "usage", "2026-10-06")["is_late"].to_pylist() == [False]
    sums = pa.concat_tables(read_part_sums([part], target.scratch))
    assert sorted(zip(sums["produced_bytes"].to_pylist(), sums["late_rows"].to_pylist(), strict=True)) == [
        (5, 1),
        (7, 0),
    ]


def test_rows_that_are_odd_are_kept_as_they_came(target: Target) -> None:
    good = Journal().topic("acme", "orders")

    part = write(target, [good, b"broken", None], [b"1"])

    assert (part.records, part.odd) == (4, 3)
    files = [path for one in find_odd([part], target.scratch) for path in sorted(Path(one).iterdir())]
    rows = pa.concat_tables([pq.read_table(path) for path in files]).to_pylist()
    assert [(row["value"], row["offset"]) for row in rows] == [(b"broken", 1), (None, 2), (b"1", 0)]
    assert {*rows[0]} == set(SCHEMA.names)


def test_pages_that_are_full_are_written(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_batch, "PAGE_ROWS", 4)
    journal = Journal()
    records = [journal.topic("acme", f"t{n}", bytes_in=n) for n in range(11)]

    part = write(target, records[:5], [*records[5:7], b"odd"], records[7:])

    assert (part.records, part.odd) == (12, 1)
    assert stored(target, "usage", "2026-10-05")["bytes_in"].to_pylist() == list(range(11))
    assert sum(one.num_rows for one in read_part_sums([part], target.scratch)) == 11


def test_files_that_are_open_have_a_bound(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_batch, "MAX_OPEN_FILES", 2)
    monkeypatch.setattr(column_batch, "PAGE_ROWS", 3)
    journal = Journal()
    records = [journal.topic("acme", "t", NOON_MS + n % 3 * DAY_MS, bytes_in=n) for n in range(9)]

    part = write(target, records)

    assert len(part.days["usage"]) == 3
    for place, day in enumerate(part.days["usage"]):
        assert stored(target, "usage", day)["bytes_in"].to_pylist() == [place, place + 3, place + 6]


def test_records_that_came_twice_or_before_are_found(target: Target) -> None:
    journal = Journal()
    records = [journal.topic("acme", "t") for _ in range(4)]
    one, other = write(target, records[:2], name="0"), write(target, records[2:], name="1")
    files = [str(path) for path in Path(target.tables).rglob("*.parquet")]

    numbers = read_numbers([one, other], target.scratch)
    numbers.merge()
    assert not numbers.has_repeats
    assert is_known(numbers, files)
    assert not is_known(numbers, [])
    again = read_numbers([one, write(target, records[1:2], name="2")], target.scratch)
    again.merge()
    assert again.has_repeats
    within = read_numbers([write(target, [records[0], records[0]], name="3")], target.scratch)
    assert within.has_repeats
    new = read_numbers([write(target, [journal.topic("acme", "t")], name="4")], target.scratch)
    assert not is_known(new, files)


def test_a_task_without_rows_has_nothing_to_say(target: Target) -> None:
    part = write(target)

    assert part == Part(name="0")
    assert read_part_sums([part], target.scratch) == []
    assert find_odd([part], target.scratch) == []
    assert not read_numbers([part], target.scratch).merge()
