"""Adds a batch to the tables by columns: the rows that its tasks wrote, and the sums of hours and days.

Rows become valid in the same commit as the sums with them, so a sum in the tables is always the sum of their rows, and
to add to it is the same as to compute it again. A batch with a record that came before is not for this way: nothing of
it is added here, and Spark looks at it record by record.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.types import StringType

from bifrost.pipeline.metering.column_batch import (
    HOW_TO_WRITE,
    Part,
    Target,
    find_odd,
    is_known,
    read_numbers,
    read_part_sums,
    write_columns,
)
from bifrost.pipeline.metering.journal_columns import DAY_MS
from bifrost.pipeline.metering.metered_tables import TABLES, table_schemas
from bifrost.pipeline.metering.storage_columns import (
    SNAPSHOT_COLUMNS,
    daily_storage,
    hourly_storage,
)
from bifrost.pipeline.metering.summed_columns import (
    COUNTS,
    daily_sums,
    read_sums,
    rows_of_day,
    stored_sums,
    sum_again,
)
from bifrost.pipeline.metering.sums import USAGE_KEYS, storage_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bifrost.pipeline.spark.tables import Transaction

HOURLY = ("hour", *USAGE_KEYS, *COUNTS)


class ColumnChange:
    """A batch of `meter` as a change of tables on this machine."""

    def __init__(self, change: Transaction, root: str, scratch: str, watermark_ms: int | None) -> None:
        """Prepare it; nothing is read or written yet.

        Args:
            change: what it becomes part of.
            root: the directory of the tables.
            scratch: an empty directory.
            watermark_ms: records that ended before this time are late; None: none is.
        """
        self._change, self._root, self._scratch = change, Path(root), scratch
        self._batch = change.new_directory()
        self._target = Target(root, self._batch, scratch, watermark_ms, secrets.randbits(64))
        self._parts: list[Part] = []

    def add(self, source: DataFrame) -> bool:
        """Add the valid rows and the usage by hour and day; return whether the batch may be added like this.

        Args:
            source: rows of Spark's Kafka source.
        """
        self._parts = write_columns(source, self._target)
        numbers = read_numbers(self._parts, self._scratch)
        numbers.merge()
        if numbers.has_repeats or any(is_known(numbers, self._stored(table)) for table in TABLES.values()):
            self.discard()
            return False
        for kind, table in TABLES.items():
            self._change.append_written(table, {day: self._place(table, day) for day in self.days(kind)})
        self._add_usage()
        self._add_storage()
        return True

    def discard(self) -> None:
        """Delete what was written."""
        for table in table_schemas():
            shutil.rmtree(self._root / table / self._batch, ignore_errors=True)

    def days(self, kind: str | None = None) -> list[str]:
        """Return the days of a kind, or of all."""
        kinds = TABLES if kind is None else [kind]
        return sorted({day for part in self._parts for one in kinds for day in part.days.get(one, [])})

    @property
    def records(self) -> int:
        """The records of the batch, without those that Spark has to read."""
        return sum(part.records - part.odd for part in self._parts)

    @property
    def late(self) -> int:
        """The late ones among them."""
        return sum(part.late for part in self._parts)

    @property
    def newest_ms(self) -> int | None:
        """The latest end among them."""
        return max((part.newest_ms for part in self._parts if part.newest_ms is not None), default=None)

    @property
    def odd(self) -> list[str]:
        """Directories of the rows that Spark has to read."""
        return find_odd(self._parts, self._scratch)

    def _place(self, table: str, day: str) -> str:
        return f"{table}/{self._batch}/part={day}"

    def _stored(self, table: str) -> list[str]:
        stored = self._change.directories(table, self.days())
        return [str(path) for directories in stored.values() for path in self._files(directories)]

    def _files(self, directories: Iterable[str]) -> list[Path]:
        return sorted(path for one in directories for path in (self._root / one).glob("*.parquet"))

    def _add_usage(self) -> None:
        sums = read_part_sums(self._parts, self._scratch)
        if not sums:
            return
        added, days = pa.concat_tables(sums), self.days("usage")
        stored = self._change.directories("usage_hourly", days)
        for day in days:
            before = read_sums(_read(path, "usage_hourly", HOURLY) for path in self._files(stored[day]))
            hourly = sum_again(pa.concat_tables([*before, _of_day(added, day)]), "hour")
            self._store("usage_hourly", day, stored_sums(hourly, "hour", day))
            self._store("usage_daily", day, stored_sums(daily_sums(hourly), "day", day))
        self._replace(("usage_hourly", "usage_daily"), days, days)

    def _add_storage(self) -> None:
        """Compute again the storage of the days that have new snapshots, and of the days after them."""
        days = [np.datetime64(day, "D") for day in self.days("snapshot")]
        # What a snapshot covers depends on the one before it, so the day after may change as well.
        stored = sorted({str(day + more) for day in days for more in (0, 1)})
        read = sorted({str(day + more) for day in days for more in (-1, 0, 1)})
        paths = [
            path for one in self._change.directories("snapshots", read).values() for path in self._files(one)
        ]
        if not paths:
            return
        hourly = hourly_storage(
            pa.concat_tables([_read(path, "snapshots", SNAPSHOT_COLUMNS) for path in paths])
        )
        written = []
        for day in stored:
            of_day = _of_day(hourly, day)
            if of_day.num_rows:
                written.append(day)
                columns = [storage_schema(time).fieldNames() for time in ("hour", "day")]
                self._store("storage_hourly", day, rows_of_day(of_day, columns[0], day))
                self._store("storage_daily", day, rows_of_day(daily_storage(of_day), columns[1], day))
        self._replace(("storage_hourly", "storage_daily"), written, stored)

    def _replace(self, tables: Iterable[str], written: list[str], days: list[str]) -> None:
        for table in tables:
            self._change.replace_written(table, {day: self._place(table, day) for day in written}, days)

    def _store(self, table: str, day: str, rows: pa.Table) -> None:
        folder = self._root / self._place(table, day)
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, folder / "part-0.zstd.parquet", **HOW_TO_WRITE)


def _of_day(sums: pa.Table, day: str) -> pa.Table:
    begin_ms = int(np.datetime64(day, "ms").astype(np.int64))
    hour_ms = sums["hour_ms"]
    return sums.filter(pc.and_(pc.greater_equal(hour_ms, begin_ms), pc.less(hour_ms, begin_ms + DAY_MS)))


def _read(path: Path, table: str, columns: Iterable[str]) -> pa.Table:
    """Return columns of a file of a table; texts are dictionaries, and columns that the file lacks are null."""
    texts = [name for name in columns if isinstance(table_schemas()[table][name].dataType, StringType)]
    there = {*pq.ParquetFile(path).schema_arrow.names}
    named = [name for name in texts if name in there]
    file = pq.ParquetFile(path, read_dictionary=named, coerce_int96_timestamp_unit="us")
    rows = file.read(columns=[name for name in columns if name in there])
    for name in columns:
        if name not in there:
            kind = pa.dictionary(pa.int32(), pa.string()) if name in texts else pa.int64()
            rows = rows.append_column(name, pa.nulls(rows.num_rows, kind))
    return rows
