"""`validate`: which stored records break the schemas of their topics, by producer and time.

OUT/broken.parquet/  broken.csv   a row by topic, partition, filter, kind, producer and hour: offsets, times, how many
OUT/index.html                    the same for people

The rules are those of the SchemaValidator filters of a configuration, and the filter itself applies them. No file shows
what a record contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.config.records.record_filter import FilterName
from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.in_use import with_shown_times
from bifrost.pipeline.stored.kek_texts import KmsAccess
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.stored_topics import choose_topics, map_ranges, plan_ranges
from bifrost.pipeline.stored.topic_client import TopicClient
from bifrost.pipeline.stored.validating.producers import with_principals
from bifrost.pipeline.stored.validating.schema_breaks import (
    BROKEN,
    GROUP_COLUMNS,
    SCHEMA,
    UNREADABLE,
    VALID,
    TopicCheck,
    break_rows,
)
from bifrost.transforms.record_transform import Direction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

MAX_SHOWN = 200
"""Rows on the page; the files have all."""


@dataclass(frozen=True, slots=True)
class ValidateOptions:
    """What is checked, and by what."""

    scan: ScanOptions
    """With neither topics nor patterns: all topics that a SchemaValidator is for."""
    tenants: ConfiguredTenants
    opens: tuple[Kek, ...] = ()
    """KEKs that stored envelopes name, beside those of the configuration."""
    access: KmsAccess = field(default_factory=KmsAccess)
    cluster: str = ""
    """What binds sealed records to the cluster; empty: as the configuration says, else Kafka's ID of it."""
    tables: str = ""
    """Where `meter` keeps the journal's tables; empty: producers are told by their IDs alone."""
    table_format: TableFormat = "parquet"


@dataclass(frozen=True, slots=True)
class Validated:
    """The result."""

    topics: int
    valid: int
    """Records that all filters of their topic let pass."""
    broken: int
    """Records that a filter would refuse; one that two would refuse counts twice."""
    unreadable: int
    """Batches that cannot be read or opened."""
    by_topic: tuple[tuple[str, int], ...]
    """How many broken records and unreadable batches each topic has that has some."""


def run_validate(spark: SparkSession, options: ValidateOptions, say: Callable[[str], None]) -> Validated:
    """Find the stored records that break a schema, and write down which.

    Raises:
        PipelineError: there is nothing to check, or a broker, registry or KEK does not answer.
    """
    scan = options.scan
    with TopicClient(scan.settings) as client:
        checks = plan_checks(client, options)
        ranges = plan_ranges(client, sorted(checks), scan.since_ms, scan.until_ms)
    say(f"reading {len(checks)} topics, {sum(one.end - one.start for one in ranges)} offsets")
    rows = map_ranges(spark, scan.settings, ranges, partial(break_rows, checks), SCHEMA)
    found = _added_up(rows).persist()
    try:
        with told_in_one_line():
            found.count()
        sums = {row.kind: row.n for row in found.groupBy("kind").agg(F.sum("records").alias("n")).collect()}
        broken = _with_producers(spark, found.where(F.col("kind") != VALID), options).persist()
        files = HadoopFiles(spark, scan.out)
        broken.write.mode("overwrite").parquet(files.path("broken.parquet"))
        write_csv(broken.orderBy("topic", "partition", "first_offset"), files, "broken.csv")
        newest = broken.orderBy(F.desc("last_timestamp"), "topic", "partition").limit(MAX_SHOWN)
        files.write("index.html", _page(with_shown_times(newest).collect(), len(checks)))
        topics = broken.groupBy("topic").agg(F.sum("records").alias("n")).orderBy("topic").collect()
        broken.unpersist()
    finally:
        found.unpersist()
    by_topic = tuple((row.topic, row.n) for row in topics)
    valid, wrong, unreadable = (sums.get(kind, 0) for kind in (VALID, BROKEN, UNREADABLE))
    return Validated(len(checks), valid, wrong, unreadable, by_topic)


def plan_checks(client: TopicClient, options: ValidateOptions) -> dict[str, list[TopicCheck]]:
    """Return by topic what its records are checked by, for each tenant that has filters for it.

    Raises:
        PipelineError: a topic does not exist, or no filter is for it.
    """
    scan, tenants = options.scan, options.tenants
    is_named = bool(scan.topics or scan.patterns)
    names = choose_topics(client, scan.topics, scan.patterns) if is_named else choose_topics(client, ())
    found: dict[str, list[TopicCheck]] = {}
    for one in tenants.topics(names, FilterName.SCHEMA_VALIDATOR, (Direction.PRODUCE,)):
        seals = tenants.seals(one.physical, options.access)
        made = TopicCheck(
            one.tenant,
            one.path,
            one.physical,
            options.cluster or seals.cluster or client.cluster_id,
            tuple((each.shown_name, each.config) for each in one.filters),
            (*seals.keks, *options.opens),
            seals.sealing,
        )
        found.setdefault(one.physical, []).append(made)
    without = [one for one in scan.topics if one not in found]
    if without:
        raise PipelineError(f"no SchemaValidator of --config is for {without[0]}")
    if not found:
        raise PipelineError("no SchemaValidator of --config is for a topic that these brokers have")
    return found


def _added_up(rows: DataFrame) -> DataFrame:
    return rows.groupBy(*GROUP_COLUMNS).agg(
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
        F.min("first_timestamp_ms").alias("first_timestamp_ms"),
        F.max("last_timestamp_ms").alias("last_timestamp_ms"),
        F.sum("records").alias("records"),
        F.min_by("reason", "first_offset").alias("reason"),
    )


def _with_producers(spark: SparkSession, broken: DataFrame, options: ValidateOptions) -> DataFrame:
    """Return rows with their times and, where there is a journal, with those who may have produced them."""
    if options.tables:
        usage = open_tables(spark, options.tables, options.table_format).read("usage")
        broken = with_principals(broken, usage)
    else:
        broken = broken.withColumn("principals", F.lit(""))
    times = {f"{name}_timestamp": F.timestamp_millis(f"{name}_timestamp_ms") for name in ("first", "last")}
    return broken.withColumns(times).drop("first_timestamp_ms", "last_timestamp_ms")


def _page(rows: Sequence[Row], topics: int) -> str:
    heads = (
        "topic",
        "partition",
        "filter",
        "produced by",
        "producer ID",
        "epoch",
        "first offset",
        "last offset",
        "first record",
        "last record",
        "records",
        "why (of the first one)",
    )
    shown = [
        (
            row.topic,
            row.partition,
            row.kind if row.kind == UNREADABLE else row["filter"],
            row.principals or "unknown",
            "none" if row.producer_id < 0 else str(row.producer_id),
            "" if row.producer_epoch < 0 else str(row.producer_epoch),
            row.first_offset,
            row.last_offset,
            row.first_shown,
            row.last_shown,
            row.records,
            row.reason,
        )
        for row in rows
    ]
    table = Table(heads, shown, "Nothing: all records are valid.", ("first record", "last record"))
    return render_tables("Records that break a schema", f"{topics} topics", [("Not valid", table)])
