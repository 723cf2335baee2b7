"""`census`: which versions of which KEKs the stored records need, from their envelopes alone; no key is needed.

OUT/census.parquet/  census.csv    a row by topic, partition, kind, KEK, version and day: offsets, times, how much
OUT/keks.csv                       a row for each version of a KEK: what is lost without it
OUT/index.html                     the same for people
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.in_use import KEK, PLACE, keks_in_use, totals_of_keks, with_shown_times
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.sealing_facts import PLAIN, SEALED, UNREADABLE
from bifrost.pipeline.stored.stored_topics import choose_topics, plan_ranges, sealing_facts
from bifrost.pipeline.stored.topic_client import TopicClient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

MAX_SHOWN = 200
"""Rows of a table on the page; the files have all."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The result."""

    topics: int
    keks: tuple[tuple[str, int, int], ...]
    """Each KEK, version and number of records that need it."""
    plain: int
    """Records that no envelope hides."""
    unreadable: int
    """Batches that cannot be read; what they need is not known."""


def run_census(spark: SparkSession, options: ScanOptions, say: Callable[[str], None]) -> Counted:
    """Find out which KEKs stored batches need, and write it down.

    Raises:
        PipelineError: the topics cannot be read.
    """
    with TopicClient(options.settings) as client:
        topics = choose_topics(client, options.topics, options.patterns)
        ranges = plan_ranges(client, topics, options.since_ms, options.until_ms)
    if not ranges:
        raise PipelineError("there is nothing in these topics at these times")
    say(f"reading {len(topics)} topics, {sum(one.end - one.start for one in ranges)} offsets")
    facts = sealing_facts(spark, options.settings, ranges)
    used = keks_in_use(facts).persist()
    try:
        with told_in_one_line():
            used.count()
        order = (*PLACE, "kind", *KEK, "day")
        files = HadoopFiles(spark, options.out)
        used.write.mode("overwrite").parquet(files.path("census.parquet"))
        write_csv(used.orderBy(*order), files, "census.csv")
        totals = totals_of_keks(used).orderBy(*KEK).coalesce(1)
        write_csv(totals, files, "keks.csv")
        kinds = {row.kind: row for row in _by_kind(used).collect()}
        needed = with_shown_times(totals).collect()
        files.write("index.html", _page(used, needed, kinds, topics))
    finally:
        used.unpersist()
    return Counted(
        len(topics),
        tuple((row.kek, row.kek_version, row.records) for row in needed),
        plain=kinds[PLAIN].records if PLAIN in kinds else 0,
        unreadable=kinds[UNREADABLE].batches if UNREADABLE in kinds else 0,
    )


def _by_kind(used: DataFrame) -> DataFrame:
    return used.groupBy("kind").agg(F.sum("batches").alias("batches"), F.sum("records").alias("records"))


def _page(used: DataFrame, needed: Sequence[Row], kinds: dict[str, Row], topics: Sequence[str]) -> str:
    grouped = (
        used.where(F.col("kind").isin(*SEALED))
        .groupBy("topic", *KEK)
        .agg(
            F.count_distinct("partition").alias("partitions"),
            F.sum("records").alias("records"),
            F.min("first_timestamp").alias("first_timestamp"),
            F.max("last_timestamp").alias("last_timestamp"),
        )
        .orderBy(*KEK, "topic")
        .limit(MAX_SHOWN)
    )
    places = with_shown_times(grouped).collect()
    keks = [(one.kek, one.kek_version, one.topics, one.batches, one.records, *_times(one)) for one in needed]
    rows = [
        (one.kek, one.kek_version, one.topic, one.partitions, one.records, *_times(one)) for one in places
    ]
    others = [(kind, row.batches, row.records) for kind, row in sorted(kinds.items())]
    sections = [
        (
            "What is lost without a version of a KEK",
            Table(
                ("KEK", "version", "topics", "batches", "records", "first record", "last record"),
                keks[:MAX_SHOWN],
                "Nothing is encrypted.",
                ("KEK", "first record", "last record"),
            ),
        ),
        (
            "Where it is in use",
            Table(
                ("KEK", "version", "topic", "partitions", "records", "first record", "last record"),
                rows,
                "Nowhere.",
                ("KEK", "first record", "last record"),
            ),
        ),
        ("All batches", Table(("kind", "batches", "records"), others, "There are none.", ("kind",))),
    ]
    return render_tables("KEKs in use", f"{len(topics)} topics, from their envelopes", sections)


def _times(row: Row) -> tuple[str, str]:
    return row.first_shown, row.last_shown
