"""The tables of a job: any process may read them; one writer changes them, batch by batch, wholly or not at all.

    DIR/_commits/00000000000000000007.json    what is valid: for each table and day, the directories that hold it
    DIR/usage/7-2f1c.../part=2026-11-21/      rows of one day, written by commit 7; Parquet

A commit writes new directories beside the old ones, and then one file that names the valid directories from now on.
That file appears in one step, and only the first of two writers can create the next number; so a job that is killed at
any moment leaves the tables as the last commit left them. Directories that no commit of the last hours names are
deleted later. With Delta Lake (`table_format: delta`) the tables keep their own log, and the commits only say how far
each writer has come; there a batch becomes visible table by table.

Every table has a column `day` (`2026-11-21`), by which it is divided.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from bifrost.pipeline.errors import StoreError
from bifrost.pipeline.spark.hadoop_files import FileIsThereError, HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from bifrost.pipeline.spark.spark_session import TableFormat

COMMITS = "_commits"
MAX_PIECES = 16
"""Directories of a day in a table before they are merged into one: each costs a reader a listing and a file."""
KEPT_COMMITS = 20
"""Old commits that are kept for an operator who looks for the cause of a problem."""
KEPT_MS = 6 * 3_600_000
"""Time for which directories that are not valid any more are kept for earlier readers, in milliseconds."""
SWEEP_EVERY = 200
"""Commits between two deletions of directories that are not valid any more."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The valid directories of the tables, and each writer's progress."""

    version: int = 0
    table_format: str = ""
    writers: dict[str, int] = field(default_factory=dict)
    """The last batch of each writer, by its ID."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts that the writer keeps beside its tables; values of JSON."""
    tables: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """For each table and day the directories that hold it."""

    def to_json(self) -> str:
        """Return the text of the commit's file."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, sort_keys=True)


class Tables:
    """The tables below one directory."""

    def __init__(
        self, spark: SparkSession, root: str, schemas: dict[str, StructType], table_format: TableFormat
    ) -> None:
        """Open the tables; nothing is read or created yet.

        Args:
            spark: reads and writes them.
            root: the directory, on any file system that Spark can reach.
            schemas: the columns of each table; a column that an older file lacks is null.
            table_format: of the data files.
        """
        self.spark = spark
        self.schemas = schemas
        self.table_format = table_format
        self.files = HadoopFiles(spark, root)

    def head(self) -> Commit:
        """Return the newest commit.

        Raises:
            StoreError: the tables are of the other format, or the commit cannot be read.
        """
        names = self.files.names(COMMITS)
        if not names:
            return Commit(table_format=self.table_format)
        try:
            commit = Commit(**json.loads(self.files.read(f"{COMMITS}/{names[-1]}")))
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{self.files.path(COMMITS)}/{names[-1]} is no commit of these tables"
            ) from error
        if commit.table_format != self.table_format:
            raise StoreError(
                f"the tables in {self.files.root} are {commit.table_format}: say --table-format {commit.table_format}"
            )
        return commit

    def read(self, table: str, days: Iterable[str] | None = None, *, at: Commit | None = None) -> DataFrame:
        """Return a table's rows.

        Args:
            table: its name.
            days: only these; None: all.
            at: as of this commit; None: now.
        """
        if self.table_format == "delta":
            return self._read_delta(table, days)
        valid = (at or self.head()).tables.get(table, {})
        wanted = sorted(valid) if days is None else sorted(set(days) & set(valid))
        paths = [self.files.path(one) for day in wanted for one in valid[day]]
        if not paths:
            return self._empty(table)
        return self.spark.read.schema(self.schemas[table]).parquet(*paths)

    def _read_delta(self, table: str, days: Iterable[str] | None) -> DataFrame:
        if not self.files.exists(f"{table}/_delta_log"):
            return self._empty(table)
        frame = self.spark.read.format("delta").load(self.files.path(table))
        missing = [one for one in self.schemas[table] if one.name not in frame.columns]
        frame = frame.withColumns({one.name: F.lit(None).cast(one.dataType) for one in missing})
        return frame if days is None else frame.where(frame.day.isin(sorted(days)))

    def _empty(self, table: str) -> DataFrame:
        # Spark's optimizer knows that it has no rows, and leaves out what is done with them.
        columns = [F.lit(None).cast(one.dataType).alias(one.name) for one in self.schemas[table]]
        return self.spark.range(1).where(F.lit(False)).select(*columns)

    def begin(self) -> Transaction:
        """Begin a change of the tables."""
        return Transaction(self, self.head())

    def sweep(self, now_ms: int | None = None) -> int:
        """Delete directories that have not been valid for hours; return their number."""
        now = int(time.time() * 1000) if now_ms is None else now_ms
        for name in self.files.names(COMMITS)[:-KEPT_COMMITS]:
            self.files.delete(f"{COMMITS}/{name}")
        if self.table_format == "delta":
            return 0
        valid = {
            "/".join(one.split("/")[:2])
            for days in self.head().tables.values()
            for ds in days.values()
            for one in ds
        }
        old = [
            f"{table}/{name}"
            for table in self.schemas
            for name, modified in self.files.listing(table)
            if modified < now - KEPT_MS and f"{table}/{name}" not in valid
        ]
        for one in old:
            self.files.delete(one)
        return len(old)


class Transaction:
    """A change of some tables that becomes valid by `commit`, or never."""

    def __init__(self, tables: Tables, before: Commit) -> None:
        self.before = before
        self._tables = tables
        self._staged = {
            name: {day: list(ds) for day, ds in days.items()} for name, days in before.tables.items()
        }

    def read(self, table: str, days: Iterable[str] | None = None) -> DataFrame:
        """Return a table's rows, including the changes of this transaction so far."""
        return self._tables.read(table, days, at=Commit(tables=self._staged))

    def append(self, table: str, frame: DataFrame) -> None:
        """Add rows."""
        if self._tables.table_format == "delta":
            path = self._tables.files.path(table)
            # A table that an earlier version of the journal made lacks the columns that came later.
            rows = frame.write.format("delta").mode("append").option("mergeSchema", "true")
            rows.partitionBy("day").save(path)
            return
        self.append_written(table, self._write(table, frame))

    def append_written(self, table: str, written: Mapping[str, str]) -> None:
        """Add rows that were written already.

        Args:
            table: its name; its format is Parquet.
            written: the directory of each day, as `new_directory` and `part=DAY` below it name it.
        """
        staged = self._staged.setdefault(table, {})
        for day, directory in written.items():
            staged.setdefault(day, []).append(directory)
        full = [day for day, directories in staged.items() if len(directories) >= MAX_PIECES]
        if full:
            self.replace(table, self.read(table, full), full)

    def replace(self, table: str, frame: DataFrame, days: Sequence[str]) -> None:
        """Replace all rows of `days`; a day without new rows becomes empty."""
        if self._tables.table_format == "delta":
            self._replace_delta(table, frame, days)
            return
        self.replace_written(table, self._write(table, frame), days)

    def replace_written(self, table: str, written: Mapping[str, str], days: Sequence[str]) -> None:
        """Replace all rows of `days` by rows that were written already, as for `append_written`."""
        assert set(written) <= set(days), f"rows of {sorted(set(written) - set(days))} in a change of {days}"
        staged = self._staged.setdefault(table, {})
        for day in days:
            staged.pop(day, None)
        staged.update({day: [directory] for day, directory in written.items()})

    def commit(self, *, writer: str, batch: int, facts: dict[str, Any]) -> Commit:
        """Make the change valid.

        Args:
            writer: the writer's ID; the numbers of its batches increase.
            batch: the number of the batch.
            facts: facts to keep beside the tables.
        Raises:
            StoreError: another writer changed the tables meanwhile; nothing of this change is valid.
        """
        files = self._tables.files
        after = Commit(
            version=self.before.version + 1,
            table_format=self._tables.table_format,
            writers={**self.before.writers, writer: batch},
            facts=facts,
            tables=self._staged,
        )
        try:
            files.create(f"{COMMITS}/{after.version:020}.json", after.to_json())
        except FileIsThereError as error:
            raise StoreError(
                f"another job writes the tables in {files.root} too: stop one of them"
            ) from error
        if after.version % SWEEP_EVERY == 0:
            self._tables.sweep()
        return after

    def new_directory(self) -> str:
        """Return the name of a new directory, in any table."""
        return f"{self.before.version + 1}-{uuid.uuid4().hex[:12]}"

    def directories(self, table: str, days: Iterable[str]) -> dict[str, list[str]]:
        """Return the directories of a table's days, including the changes of this transaction so far."""
        staged = self._staged.get(table, {})
        return {day: list(staged.get(day, [])) for day in days}

    def _write(self, table: str, frame: DataFrame) -> dict[str, str]:
        """Write rows into a new directory; return the directory of each day."""
        directory = f"{table}/{self.new_directory()}"
        columns = self._tables.schemas[table].fieldNames()
        # `day` stays in the files: readers open the directories themselves, so they do not get it from their names.
        rows = frame.select(*columns).withColumn("part", frame["day"])
        # At most as many parts as shuffle partitions: a topic with many partitions would make as many small files.
        parts = int(self._tables.spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        rows.coalesce(parts).write.partitionBy("part").parquet(self._tables.files.path(directory))
        names = self._tables.files.names(directory)
        return {
            name.removeprefix("part="): f"{directory}/{name}" for name in names if name.startswith("part=")
        }

    def _replace_delta(self, table: str, frame: DataFrame, days: Sequence[str]) -> None:
        path = self._tables.files.path(table)
        writer = (
            frame.select(*self._tables.schemas[table].fieldNames()).write.format("delta").partitionBy("day")
        ).option("mergeSchema", "true")
        if self._tables.files.exists(f"{table}/_delta_log"):
            named = ", ".join(f"'{day}'" for day in days)
            writer = writer.option("replaceWhere", f"day IN ({named})")
        writer.mode("overwrite").save(path)
