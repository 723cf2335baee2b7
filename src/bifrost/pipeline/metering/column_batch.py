"""A batch of the journal as Arrow columns: tasks write the valid rows, and tell the driver about them.

    Spark's source -> task (Python) -> TABLE/BATCH/part=DAY/*.parquet      rows, not valid before the commit
                                    -> SCRATCH/*.sums                      their usage by hour
                                    -> SCRATCH/*.numbers                   their sequence numbers
                                    -> SCRATCH/*.odd                       rows that Spark has to read
                                    -> a line for the driver               counts, days, files

Tasks write into the directory of the tables itself, so both must be on this machine. With an embedded master no task
is tried a second time, and each file has the name of its task.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bifrost.pipeline.metering.journal_columns import (
    DAY_MS,
    PAGE_ROWS,
    parse_rows,
    parsed_fields,
    take_page,
)
from bifrost.pipeline.metering.journal_parser import JournalParser
from bifrost.pipeline.metering.metered_tables import TABLES, table_schemas
from bifrost.pipeline.metering.sequence_sets import SequenceSets
from bifrost.pipeline.metering.summed_columns import constant, hourly_sums, stamps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_OPEN_FILES = 64
"""Files that a task writes at a time; a file is of one table and day."""
SOURCE = ("key", "value", "topic", "partition", "offset", "timestamp")
HOW_TO_WRITE: dict[str, Any] = {
    "compression": "zstd",
    # As Spark writes times, so that all files of a table are alike.
    "use_deprecated_int96_timestamps": True,
    "store_schema": False,
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where a batch is written, and what its tasks must know."""

    tables: str
    batch: str
    """The directory of the batch in each table."""
    scratch: str
    watermark_ms: int | None
    seed: int
    """Of hash tables of names."""


@dataclass(slots=True)
class Part:
    """What a task found in its rows."""

    records: int = 0
    odd: int = 0
    late: int = 0
    has_repeats: bool = False
    """Whether a record came twice."""
    newest_ms: int | None = None
    days: dict[str, list[str]] = field(default_factory=dict)
    """The days of each kind."""
    name: str = ""
    """Of the task's files in the scratch directory."""


def write_columns(source: DataFrame, target: Target) -> list[Part]:
    """Write a batch's valid rows below the tables' directory; return what its tasks found."""
    lines = source.select(*SOURCE).mapInArrow(partial(_write_part, target), "line string")
    return [Part(**json.loads(row.line)) for row in lines.collect()]


def _write_part(target: Target, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do a task's work, in a worker process of Spark's."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    writer = PartWriter(target, f"{context.partitionId():05}-{context.taskAttemptId()}")
    for batch in batches:
        writer.add(batch)
    line = json.dumps(asdict(writer.close()))
    yield pa.RecordBatch.from_pydict({"line": [line]})


class PartWriter:
    """Writes the rows of a task."""

    def __init__(self, target: Target, name: str) -> None:
        self._target, self._part = target, Part(name=name)
        self._parser = JournalParser(parsed_fields(), PAGE_ROWS, target.seed)
        self._page: list[pa.RecordBatch] = []
        self._numbers = SequenceSets()
        self._files: dict[Path, pq.ParquetWriter] = {}
        self._closed: set[Path] = set()
        self._sums: pa.ipc.RecordBatchStreamWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Parse rows; write those of each page that is full."""
        begin = 0
        while begin < batch.num_rows:
            end = min(batch.num_rows, begin + self._parser.room)
            parse_rows(self._parser, batch["value"], batch["key"], begin, end)
            self._page.append(batch.slice(begin, end - begin))
            if not self._parser.room:
                self._write()
            begin = end

    def close(self) -> Part:
        """Write the last page, and close all files."""
        if self._page:
            self._write()
        for writer in self._files.values():
            writer.close()
        if self._sums is not None:
            self._sums.close()
        numbers = self._numbers.to_table()
        self._part.has_repeats = self._numbers.has_repeats
        with (
            pa.OSFile(str(self._scratch("numbers")), "wb") as file,
            pa.ipc.new_stream(file, numbers.schema) as out,
        ):
            out.write_table(numbers)
        return self._part

    def _write(self) -> None:
        rows = pa.Table.from_batches(self._page)
        self._page = []
        page = take_page(self._parser, rows["key"].is_valid().to_numpy())
        self._part.records += rows.num_rows
        if page.odd.any():
            self._write_odd(rows.filter(pa.array(page.odd)))
        for kind, table in page.tables.items():
            self._write_kind(kind, self._marked(table))

    def _marked(self, table: pa.Table) -> pa.Table:
        """Return a page's rows of a kind with `is_late`; count them."""
        part, watermark_ms = self._part, self._target.watermark_ms
        ends = table["interval_end_ms"].to_numpy()
        late = np.zeros(len(ends), bool) if watermark_ms is None else ends < watermark_ms
        newest_ms = int(ends.max())
        part.newest_ms = newest_ms if part.newest_ms is None else max(part.newest_ms, newest_ms)
        part.late += int(late.sum())
        self._numbers.add(table)
        return table.append_column("is_late", pa.array(late))

    def _write_kind(self, kind: str, table: pa.Table) -> None:
        days = table["hour_ms"].to_numpy() // DAY_MS
        for day in np.unique(days):
            of_day = table if (days == day).all() else table.filter(pa.array(days == day))
            name = str(np.datetime64(int(day), "D"))
            known = self._part.days.setdefault(kind, [])
            if name not in known:
                known.append(name)
            self._write_day(TABLES[kind], name, of_day)
        if kind == "usage":
            sums = hourly_sums(table).combine_chunks()
            if self._sums is None:
                self._sums = pa.ipc.new_stream(str(self._scratch("sums")), sums.schema)
            self._sums.write_table(sums)

    def _write_day(self, table: str, day: str, rows: pa.Table) -> None:
        folder = Path(self._target.tables, table, self._target.batch, f"part={day}")
        if folder not in self._files and len(self._files) == MAX_OPEN_FILES:
            for writer in self._files.values():
                writer.close()
            self._files.clear()
        rows = rows.append_column("day", constant(day, rows.num_rows))
        rows = rows.append_column("hour", stamps(rows["hour_ms"]))
        rows = rows.select(table_schemas()[table].fieldNames())
        if folder not in self._files:
            folder.mkdir(parents=True, exist_ok=True)
            count = sum(one.parent == folder for one in self._closed)
            path = folder / f"part-{self._part.name}-{count}.zstd.parquet"
            self._closed.add(path)
            self._files[folder] = pq.ParquetWriter(path, rows.schema, **HOW_TO_WRITE)
        self._files[folder].write_table(rows)

    def _write_odd(self, rows: pa.Table) -> None:
        count = self._part.odd
        self._part.odd += rows.num_rows
        folder = self._scratch("odd")
        folder.mkdir(exist_ok=True)
        pq.write_table(rows, folder / f"{count}.parquet", **HOW_TO_WRITE)

    def _scratch(self, what: str) -> Path:
        return Path(self._target.scratch, f"{self._part.name}.{what}")


def read_numbers(parts: list[Part], scratch: str) -> SequenceSets:
    """Return the sequence numbers of a batch."""
    numbers = SequenceSets()
    for part in parts:
        with pa.memory_map(str(Path(scratch, f"{part.name}.numbers"))) as file:
            numbers.add_words(pa.ipc.open_stream(file).read_all())
        numbers.has_repeats |= part.has_repeats
    return numbers


def read_part_sums(parts: list[Part], scratch: str) -> list[pa.Table]:
    """Return the usage of a batch by hour, as its tasks summed it up."""
    paths = [Path(scratch, f"{part.name}.sums") for part in parts]
    tables = []
    for path in paths:
        if path.exists():
            with pa.OSFile(str(path)) as file:
                tables.append(pa.ipc.open_stream(file).read_all())
    return tables


def find_odd(parts: list[Part], scratch: str) -> list[str]:
    """Return the directories of the rows that Spark has to read."""
    return [str(Path(scratch, f"{part.name}.odd")) for part in parts if part.odd]


def is_known(numbers: SequenceSets, files: list[str]) -> bool:
    """Return whether one of some records is in files of a table."""
    if not files:
        return False
    from pyarrow import dataset

    stored = dataset.dataset(files, format="parquet")
    for batch in stored.to_batches(columns=["gateway_id", "epoch", "sequence"], filter=numbers.reach()):
        if numbers.meets(pa.Table.from_batches([batch])):
            return True
    return False
