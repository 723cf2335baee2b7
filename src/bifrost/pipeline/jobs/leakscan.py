"""`leakscan`: what topics that must be encrypted have in plaintext, by producer, offsets and time; no key is needed.

OUT/leaks.parquet/  leaks.csv     a row by topic, partition, kind, producer ID and epoch
OUT/index.html                    the same for people

It never shows what a record contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.config.records.record_filter import FilterName
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.in_use import PLACE, leaks, with_shown_times
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.stored_topics import choose_topics, plan_ranges, sealing_facts
from bifrost.pipeline.stored.topic_client import TopicClient
from bifrost.transforms.record_transform import Direction

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

MAX_SHOWN = 200
"""Rows on the page; the files have all."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result."""

    topics: int
    leaking: tuple[str, ...]
    """Topics with plaintext, or with batches that cannot be read."""
    batches: int
    producers: int
    """Producers with an ID that wrote them; those without idempotence have none."""


def run_leakscan(
    spark: SparkSession,
    options: ScanOptions,
    say: Callable[[str], None],
    tenants: ConfiguredTenants | None = None,
) -> Scanned:
    """Find what is not sealed in topics that must be encrypted, and write it down.

    Args:
        spark: runs it.
        options: what is read; topics that it names must be encrypted.
        say: tells how far it has come.
        tenants: of a configuration: the topics that their filters encrypt must be encrypted too.
    Raises:
        PipelineError: no topic is named, or the topics cannot be read.
    """
    with TopicClient(options.settings) as client:
        topics = _topics(client, options, tenants)
        policies = {one: client.configs(one).get("cleanup.policy", "") for one in topics}
        ranges = plan_ranges(client, topics, options.since_ms, options.until_ms)
    say(f"reading {len(topics)} topics, {sum(one.end - one.start for one in ranges)} offsets")
    compacted = [one for one, policy in policies.items() if "compact" in policy]
    found = leaks(sealing_facts(spark, options.settings, ranges), compacted).persist()
    try:
        with told_in_one_line():
            found.count()
        files = HadoopFiles(spark, options.out)
        found.write.mode("overwrite").parquet(files.path("leaks.parquet"))
        write_csv(found.orderBy(*PLACE, "first_offset"), files, "leaks.csv")
        newest = found.orderBy(F.desc("last_timestamp"), *PLACE).limit(MAX_SHOWN)
        rows = with_shown_times(newest).collect()
        sums = found.groupBy("topic").agg(F.sum("batches").alias("n"))
        by_topic = {row.topic: row.n for row in sums.collect()}
        producers = found.where("producer_id >= 0").select("producer_id").distinct().count()
        files.write("index.html", _page(rows, topics))
    finally:
        found.unpersist()
    return Scanned(len(topics), tuple(sorted(by_topic)), sum(by_topic.values()), producers)


def _topics(client: TopicClient, options: ScanOptions, tenants: ConfiguredTenants | None) -> list[str]:
    """Return the topics that must be encrypted."""
    found: set[str] = set()
    if options.topics or options.patterns:
        found.update(choose_topics(client, options.topics, options.patterns))
    if tenants is not None:
        there = [one.name for one in client.topics() if not one.is_internal]
        sealed = tenants.topics(there, FilterName.ENVELOPE_ENCRYPTION, (Direction.PRODUCE,))
        if not sealed and not found:
            raise PipelineError("no EnvelopeEncryption of --config is for a topic that these brokers have")
        found.update(one.physical for one in sealed)
    if not found:
        raise PipelineError("name the topics that must be encrypted: --topic, --pattern or --config")
    return sorted(found)


def _page(rows: Sequence[Row], topics: Sequence[str]) -> str:
    heads = (
        "topic",
        "partition",
        "kind",
        "producer ID",
        "epoch",
        "first offset",
        "last offset",
        "first record",
        "last record",
        "batches",
        "records",
    )
    shown = [
        (
            row.topic,
            row.partition,
            f"{row.kind}: {row.reason}" if row.reason else row.kind,
            "none" if row.producer_id < 0 else str(row.producer_id),
            "" if row.producer_epoch < 0 else str(row.producer_epoch),
            row.first_offset,
            row.last_offset,
            row.first_shown,
            row.last_shown,
            row.batches,
            row.records,
        )
        for row in rows
    ]
    table = Table(heads, shown, "Nothing: all batches are sealed.", ("first record", "last record"))
    return render_tables(
        "Plaintext where records must be encrypted", f"{len(topics)} topics", [("Not sealed", table)]
    )
