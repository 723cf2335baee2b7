"""Stored batches as frames: the driver plans ranges of offsets, executors read them and keep what is asked.

The batches do not pass through the JVM: a task gets the number of its range, fetches its batches in a Python worker,
and only what a function makes of them becomes rows. Executors need Bifrost with its compiled codec, and they connect to
the brokers.

Source: PySpark, DataFrame.mapInArrow.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.pipeline.stored.sealing_facts import COLUMNS, LATEST_MS, MAX_GROUPS, SCHEMA, Facts
from bifrost.pipeline.stored.topic_client import EARLIEST, LATEST, TopicClient
from bifrost.pipeline.stored.topic_log import OffsetRange, StoredBatch, read_range

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

OFFSETS_OF_A_TASK = 2_000_000
"""Offsets that a task reads at the most: seconds to minutes of work, so that many cores share a large partition."""
BATCHES_SCHEMA = (
    "topic STRING, partition INT, offset LONG, last_offset LONG, timestamp TIMESTAMP, batch BINARY"
)
ROW_BYTES = 8 << 20
"""Bytes of batches that become one batch of rows."""
MAX_ROWS = 1_000
"""Rows of one batch of Arrow, at the most."""

Rows = Callable[[Iterator[StoredBatch]], Iterator["pa.RecordBatch"]]
"""Makes rows of the batches of a range."""


def plan_ranges(
    client: TopicClient, topics: Sequence[str], since_ms: int | None = None, until_ms: int | None = None
) -> list[OffsetRange]:
    """Return the ranges that have all batches of topics that are there now.

    Args:
        client: asks the brokers.
        topics: their names.
        since_ms: begin at the first batch that has a record of this time or later; None: at the first one there is.
        until_ms: end where the first record of this time or later is; None: at the end.
    Raises:
        PipelineError: a topic does not exist, or a broker does not answer.
    """
    ranges = []
    for topic in client.topics(topics):
        for partition in range(topic.partitions):
            end = client.offset(topic.name, partition, LATEST)
            start = client.offset(topic.name, partition, EARLIEST)
            if since_ms is not None:
                start = _at(client, topic.name, partition, since_ms, end)
            if until_ms is not None:
                end = _at(client, topic.name, partition, until_ms, end)
            for first in range(start, end, OFFSETS_OF_A_TASK):
                last = min(first + OFFSETS_OF_A_TASK, end)
                ranges.append(OffsetRange(topic.name, partition, first, last))
    return ranges


def _at(client: TopicClient, topic: str, partition: int, timestamp_ms: int, end: int) -> int:
    """Return the offset of the first record of a time or later; the end if there is none."""
    found = client.offset(topic, partition, timestamp_ms)
    return end if found < 0 else found


def choose_topics(client: TopicClient, names: Sequence[str], patterns: Sequence[str] = ()) -> list[str]:
    """Return the topics that an operator names; without any, all but the brokers' own.

    Args:
        client: asks the brokers.
        names: of topics, which must exist.
        patterns: regular expressions that a whole name matches.
    Raises:
        PipelineError: a topic does not exist, or nothing is found.
    """
    found = {one.name for one in client.topics(names)} if names else set()
    if patterns or not names:
        expressions = [re.compile(one) for one in patterns or [".*"]]
        for topic in client.topics():
            if not topic.is_internal and any(one.fullmatch(topic.name) for one in expressions):
                found.add(topic.name)
    if not found:
        raise PipelineError("no topic has such a name: check --topic and --pattern")
    return sorted(found)


def map_ranges(
    spark: SparkSession, settings: ClientSettings, ranges: Sequence[OffsetRange], rows: Rows, schema: str
) -> DataFrame:
    """Return what a function makes of the batches of each range.

    Args:
        spark: runs it, a task for each range.
        settings: how executors reach the brokers.
        ranges: what is read.
        rows: sent to the executors, so it must be found there by its name.
        schema: of the rows.
    """
    planned = tuple(ranges)

    def read(numbers: Iterable[Any]) -> Iterator[Any]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                with TopicClient(settings) as client:
                    yield from rows(
                        stored for step in read_range(client, planned[number]) for stored in step.batches
                    )

    tasks = max(1, len(planned))
    return spark.range(0, len(planned), 1, tasks).mapInArrow(read, schema)


def stored_batches(spark: SparkSession, settings: ClientSettings, ranges: Sequence[OffsetRange]) -> DataFrame:
    """Return the batches themselves: topic, partition, base offset, last offset, latest timestamp and bytes."""
    return map_ranges(spark, settings, ranges, batch_rows, BATCHES_SCHEMA)


def sealing_facts(spark: SparkSession, settings: ClientSettings, ranges: Sequence[OffsetRange]) -> DataFrame:
    """Return what batches say of their encryption (`sealing_facts.SCHEMA`), in sums that a reader adds up."""
    return map_ranges(spark, settings, ranges, fact_rows, SCHEMA)


def fact_rows(batches: Iterator[StoredBatch]) -> Iterator[pa.RecordBatch]:
    """Make rows of what batches say of their encryption."""
    facts = Facts()
    for batch in batches:
        facts.add(batch)
        if len(facts) >= MAX_GROUPS:
            yield from _fact_batches(facts)
    yield from _fact_batches(facts)


def _fact_batches(facts: Facts) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    small = {"partition": pa.int32(), "producer_epoch": pa.int32()}
    text = {"topic", "kind", "kek", "day", "reason"}
    types = {one: small.get(one, pa.string() if one in text else pa.int64()) for one in COLUMNS}
    if len(facts):
        yield pa.RecordBatch.from_pydict(
            facts.take(), schema=pa.schema([(name, types[name]) for name in COLUMNS])
        )


def batch_rows(batches: Iterator[StoredBatch]) -> Iterator[pa.RecordBatch]:
    """Make rows of the batches themselves."""
    kept: list[StoredBatch] = []
    size = 0
    for batch in batches:
        kept.append(batch)
        size += len(batch.data)
        if size >= ROW_BYTES or len(kept) >= MAX_ROWS:
            yield _batch_rows(kept)
            kept, size = [], 0
    if kept:
        yield _batch_rows(kept)


def _batch_rows(kept: list[StoredBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {
        "topic": pa.array([one.topic for one in kept], pa.string()),
        "partition": pa.array([one.partition for one in kept], pa.int32()),
        "offset": pa.array([one.base_offset for one in kept], pa.int64()),
        "last_offset": pa.array([one.last_offset for one in kept], pa.int64()),
        "timestamp": pa.array(
            [min(one.timestamp_ms, LATEST_MS) * 1000 for one in kept], pa.timestamp("us", "UTC")
        ),
        "batch": pa.array([bytes(one.data) for one in kept], pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns)


def to_ms(text: str) -> int:
    """Return a time, as `2026-11-23` or `2026-11-23T10:00:00`, UTC unless it names its zone, in milliseconds.

    Raises:
        ValueError: it is none.
    """
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    return int(found.timestamp() * 1000)
