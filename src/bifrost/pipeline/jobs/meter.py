"""`meter`: makes tables from the journal's topic: its records, each once, and usage and storage by hour and day.

    topic -> batch -> by columns -> usage, events, snapshots, drops     records that are certainly valid and new
             |     |             -> usage_hourly, usage_daily, ...      with their sums added
             |     by rows -> rejects
             |             -> usage, events, ...      what is not there yet (gateway_id, epoch, sequence)
             |             -> usage_hourly, ...       made anew for the hours that the batch touched
             one commit of all tables

Each record counts exactly once: a record that is in the tables is never added again, whichever side delivered it twice;
and all tables of a batch, rows and their sums, become valid in one step (`tables.py`). So a batch that is repeated,
after a kill or with a new checkpoint, changes nothing. Late records are accepted however late they are: they are
marked, and count in their own hours and days. `metering/column_change.py` has the way by columns.
"""

from __future__ import annotations

import datetime
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.pipeline.errors import FutureSchemaError, PipelineError
from bifrost.pipeline.metering import sums
from bifrost.pipeline.metering.journal_records import (
    KINDS,
    KNOWN_VERSION,
    are_all_new,
    future_record,
    read_records,
    rejected,
    rows_of,
    unseen,
)
from bifrost.pipeline.metering.journal_topic import FILES_SCHEMA, check_topic, stream_files, stream_topic
from bifrost.pipeline.metering.metered_tables import KEYS, TABLES, open_tables
from bifrost.pipeline.spark.progress import LiveProgress, PlainProgress, follow
from bifrost.pipeline.spark.tables import Tables, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

WRITER = "meter"


@dataclass(frozen=True, slots=True)
class MeterOptions:
    """The input and the options of `meter`."""

    tables: str
    """The directory of the tables."""

    bootstrap: str = ""
    """The upstream's brokers; empty when the journal is read from files."""

    topic: str = JOURNAL_TOPIC
    files: str = ""
    """A directory of Parquet files with the columns of Spark's Kafka source, in place of the topic."""

    checkpoint: str = ""
    """The directory where Spark stores its progress; empty: beside the tables."""

    properties: Mapping[str, str] = field(default_factory=dict)
    """Settings of the Kafka client: security above all."""

    is_once: bool = False
    """End when all present records were read; else go on."""

    trigger_s: int = 60
    """Time between the starts of two batches, in seconds: each batch rewrites the hours that it touches."""

    max_records: int = 500_000
    """The largest batch, in records of the topic: bounds memory and the work that is repeated after a kill."""

    max_files: int = 4
    """The largest batch, in files."""

    lateness_s: int = 600
    """Records that are older than the newest one by more than this are marked as late, in seconds."""


@dataclass(slots=True)
class BatchNotes:
    """Remarks on a batch, for the progress display."""

    records: int = 0
    rejected: int = 0
    late: int = 0

    def __str__(self) -> str:
        said = [
            f"{count:,} {name}" for count, name in ((self.rejected, "rejected"), (self.late, "late")) if count
        ]
        return ", ".join(said)


class Meter:
    """Applies batches to the tables."""

    def __init__(self, tables: Tables, lateness_s: int, *, by_columns: bool = True) -> None:
        """Prepare it.

        Args:
            tables: what is changed.
            lateness_s: records that are older than the newest one by more than this are late, in seconds.
            by_columns: whether batches are added by columns where that is possible; else Spark looks at each record.
        """
        self._tables = tables
        self._root = _root_of_columns(tables) if by_columns else ""
        self._lateness_ms = lateness_s * 1000
        self.notes: dict[int, BatchNotes] = {}
        """Remarks on the finished batches, by their number."""
        self.failure: PipelineError | None = None
        """Why a batch failed: clearer and shorter than Spark's own error."""

    def __call__(self, source: DataFrame, batch: int) -> None:
        """Process a batch, as Spark's `foreachBatch` calls it."""
        try:
            self.apply(source, batch)
        except PipelineError as error:
            self.failure = error
            raise

    def apply(self, source: DataFrame, batch: int) -> BatchNotes:
        """Process a batch.

        Args:
            source: rows of Spark's Kafka source.
            batch: its number.
        Raises:
            FutureSchemaError: a record is of an unknown version; nothing was changed.
            StoreError: another job writes the tables.
        """
        change = self._tables.begin()
        watermark_ms = change.before.facts.get("watermark_ms")
        found = self._add_columns(change, source, watermark_ms) if self._root else None
        found = found or self._add_rows(change, source, watermark_ms)
        if found.notes.records:
            reached = [found.newest_ms - self._lateness_ms] if found.newest_ms is not None else []
            reached += [watermark_ms] if watermark_ms is not None else []
            change.commit(writer=WRITER, batch=batch, facts={"watermark_ms": max(reached, default=None)})
        # Bounded: the display shows only the last batches.
        recent = {number: kept for number, kept in self.notes.items() if number > batch - 100}
        self.notes = recent | {batch: found.notes}
        return found.notes

    def _add_columns(
        self, change: Transaction, source: DataFrame, watermark_ms: int | None
    ) -> _Survey | None:
        """Add a batch by columns, and what that leaves by Spark; return None if it is all for Spark."""
        from bifrost.pipeline.metering.column_change import ColumnChange

        with tempfile.TemporaryDirectory(prefix="bifrost-meter-") as scratch:
            columns = ColumnChange(change, self._root, scratch, watermark_ms)
            try:
                if not columns.add(source):
                    return None
                found = _Survey([], [], [], columns.newest_ms, BatchNotes(columns.records, 0, columns.late))
                if columns.odd:
                    rest = self._tables.spark.read.schema(FILES_SCHEMA).parquet(*columns.odd)
                    found = found.joined(self._add_rows(change, rest, watermark_ms))
            except BaseException:
                columns.discard()
                raise
            return found

    def _add_rows(self, change: Transaction, source: DataFrame, watermark_ms: int | None) -> _Survey:
        """Add a batch by Spark, which looks at each record."""
        read = read_records(source).persist()
        try:
            found = _survey(read, watermark_ms)
            if found.notes.records:
                self._add(change, read, found, watermark_ms)
                _sum_up(change, found)
        finally:
            read.unpersist()
        return found

    def _add(self, change: Transaction, read: DataFrame, found: _Survey, watermark_ms: int | None) -> None:
        before = {table: change.read(table, found.days) for table in TABLES.values()}
        is_new = are_all_new(read, [table.select(*KEYS) for table in before.values()])
        for kind in found.kinds:
            rows = rows_of(read, kind, watermark_ms)
            change.append(TABLES[kind], rows if is_new else unseen(rows, before[TABLES[kind]]))
        if found.notes.rejected:
            bad = rejected(read)
            days = [row.day for row in bad.select("day").distinct().collect()]
            change.append(
                "rejects", unseen(bad, change.read("rejects", days), ("topic", "partition", "offset"))
            )


def _root_of_columns(tables: Tables) -> str:
    """Return the directory of the tables if tasks can write into it as columns, else an empty text.

    They can if they run on this machine, and the tables are Parquet files on it. What they need besides Spark may be
    missing where an earlier release was installed.
    """
    if not all(find_spec(name) for name in ("pandas", "pyarrow")):
        return ""
    is_embedded = str(tables.spark.sparkContext.master).startswith("local")
    return (tables.files.local_root or "") if is_embedded and tables.table_format == "parquet" else ""


def _refuse_the_future(read: DataFrame) -> NoReturn:
    found = read.agg(future_record().alias("first")).collect()[0]["first"]
    raise FutureSchemaError(
        f"{found.topic}, partition {found.partition}, offset {found.offset}: a record of schema version "
        f"{found.version}, this release reads up to {KNOWN_VERSION}: update Bifrost here and start again, "
        "nothing is lost"
    )


@dataclass(frozen=True, slots=True)
class _Survey:
    """The contents of a batch."""

    days: list[str]
    hours: list[int]
    """Their beginnings, in seconds since 1970."""
    kinds: list[str]
    newest_ms: int | None
    notes: BatchNotes

    def joined(self, other: _Survey) -> _Survey:
        """Return what two parts of a batch contain."""
        ends = [one.newest_ms for one in (self, other) if one.newest_ms is not None]
        notes = BatchNotes(
            self.notes.records + other.notes.records,
            self.notes.rejected + other.notes.rejected,
            self.notes.late + other.notes.late,
        )
        return _Survey(other.days, other.hours, other.kinds, max(ends, default=None), notes)


def _survey(read: DataFrame, watermark_ms: int | None) -> _Survey:
    """Find out which hours a batch touches, in one pass; those have to be computed again.

    Raises:
        FutureSchemaError: a record is of an unknown version.
    """
    late = F.lit(False) if watermark_ms is None else F.col("interval_end_ms") < F.lit(watermark_ms)
    # A rejected record has no hour. Few groups of numbers alone: such aggregates cost least for each row.
    parts = (
        read.groupBy("hour", F.when(F.col("hour").isNotNull(), F.col("kind")).alias("kind"))
        .agg(
            F.max("interval_end_ms").alias("newest_ms"),
            F.count(F.lit(1)).alias("records"),
            F.count(F.when(late, 1)).alias("late"),
            F.count(F.when(F.col("version") > KNOWN_VERSION, 1)).alias("future"),
        )
        .withColumn("day", F.date_format("hour", "yyyy-MM-dd"))
        .withColumn("hour", F.unix_seconds("hour"))
        .collect()
    )
    if any(part.future for part in parts):
        _refuse_the_future(read)
    sound = [part for part in parts if part.hour is not None]
    records = sum(part.records for part in parts)
    return _Survey(
        days=sorted({part.day for part in sound}),
        hours=sorted({part.hour for part in sound}),
        kinds=[kind for kind in KINDS if any(part.kind == kind for part in sound)],
        newest_ms=max((part.newest_ms for part in sound), default=None),
        notes=BatchNotes(
            records, records - sum(part.records for part in sound), sum(part.late for part in sound)
        ),
    )


def _sum_up(change: Transaction, found: _Survey) -> None:
    """Compute again the sums of the hours and days that a batch touched."""
    days = found.days
    if "usage" in found.kinds:
        touched = F.col("hour").isin(*(F.timestamp_seconds(F.lit(hour)) for hour in found.hours))
        # Parquet has the least and the most of a number in a file, not of a time: so files of other hours are not read.
        near = F.col("interval_end_ms").between(found.hours[0] * 1000, (found.hours[-1] + 3600) * 1000)
        untouched = change.read("usage_hourly", days).where(~touched)
        hourly = sums.hourly_usage(change.read("usage", days).where(near & touched))
        change.replace("usage_hourly", untouched.unionByName(hourly), days)
        change.replace("usage_daily", sums.daily_usage(change.read("usage_hourly", days)), days)
    if "snapshot" in found.kinds:
        # What a look at the cluster covers depends on the one before it, so the day after may change as well.
        stored = sorted({*days, *(_day(day, 1) for day in days)})
        snapshots = change.read("snapshots", {*stored, *(_day(day, -1) for day in days)})
        storage = sums.hourly_storage(snapshots).where(F.col("day").isin(stored))
        change.replace("storage_hourly", storage, stored)
        change.replace("storage_daily", sums.daily_storage(change.read("storage_hourly", stored)), stored)


def _day(day: str, more: int) -> str:
    return str(datetime.date.fromisoformat(day) + datetime.timedelta(days=more))


def run_meter(
    spark: SparkSession,
    options: MeterOptions,
    table_format: TableFormat,
    progress: PlainProgress | LiveProgress,
) -> Meter:
    """Run the job until all records were read, or until it is stopped.

    Raises:
        PipelineError: the job cannot start or go on; one line says why.
    """
    meter = Meter(open_tables(spark, options.tables, table_format), options.lateness_s)
    if options.files:
        source = stream_files(spark, options.files, max_files=options.max_files)
    else:
        check_topic(spark, options.bootstrap, options.topic, options.properties)
        source = stream_topic(
            spark,
            options.bootstrap,
            options.topic,
            max_records=options.max_records,
            properties=options.properties,
        )
    checkpoint = options.checkpoint or f"{options.tables.rstrip('/')}/_checkpoint"
    writer: Any = (
        source.writeStream.foreachBatch(meter).option("checkpointLocation", checkpoint).queryName(WRITER)
    )
    trigger = (
        {"availableNow": True} if options.is_once else {"processingTime": f"{options.trigger_s} seconds"}
    )
    query = writer.trigger(**trigger).start()
    try:
        with progress:
            follow(query, progress, lambda batch: str(meter.notes.get(batch, "")))
    except StreamingQueryException as error:
        raise meter.failure or PipelineError(_explain(error, options, checkpoint)) from error
    except KeyboardInterrupt:
        _stop(query)
    return meter


def _stop(query: Any) -> None:
    """Stop between two batches if the current one is nearly done, because an uncommitted batch is repeated."""
    deadline = time.monotonic() + 10
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.2)
    query.stop()


def _explain(error: Any, options: MeterOptions, checkpoint: str) -> str:
    text = str(error)
    if "KAFKA_DATA_LOSS" in text or "OffsetOutOfRange" in text or "failOnDataLoss" in text:
        return (
            f"{options.topic} has lost records that were not read yet (retention, or it was made anew): "
            "counts would be wrong. "
            f"Read on from what is left with another --checkpoint than {checkpoint}"
        )
    causes = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\t", "==="))
    ]
    return f"the job ended: {causes[0] if causes else type(error).__name__}"
