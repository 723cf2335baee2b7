"""`transform`: a topic through a transform of the operator's own, into another topic; as the gateway's filter runs it.

    plan ──▶ create the copy ──▶ transform and append, a task for each partition ──▶ set its configs

OUT/offsets.csv     a row for each run of batches whose offsets differ by the same number: where groups go on

The topic itself is left as it is. A job that ended early is started again: it compares what is there, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from bifrost.config.records.fail_mode import FailMode
from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.rekey import SCHEMA, finish_copy, prepare_copy, ranges_of, run_rows
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.topic_client import TopicClient
from bifrost.pipeline.stored.topic_copy import PartitionCopy
from bifrost.pipeline.stored.topic_log import OffsetRange
from bifrost.pipeline.stored.transforming.transform_process import TransformFile, TransformProcess
from bifrost.pipeline.stored.transforming.transformed_contents import TransformedContents, TransformPlan
from bifrost.transforms.record_transform import Direction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_FILE_BYTES = 1 << 20
"""Largest file of a transform: it goes to the executors with each task."""


@dataclass(frozen=True, slots=True)
class TransformOptions:
    """What is transformed, and by what."""

    settings: ClientSettings
    out: str
    topic: str
    to: str
    file: TransformFile
    there: ClientSettings | None = None
    """The brokers, or the gateway, that have `to`; None: the same brokers."""
    direction: Direction = Direction.PRODUCE
    fail: FailMode = FailMode.CLOSED
    opens: tuple[Kek, ...] = field(default_factory=tuple)
    cluster: str = ""
    """What binds sealed records to the cluster; empty: Kafka's ID of it."""
    tenant: str = ""
    path: str = ""
    """What the function is told; empty: the physical name."""
    sealing: FilterSealing | None = None
    """The filter that seals the topic, where that says how."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """The result."""

    partitions: int
    batches: int
    """Of the topic."""
    records: int
    left_out: int
    """Records that the function left out."""
    passed: int
    """Batches that are as they were because the function failed."""
    open_offsets: int
    """Offsets of transactions that were open, which the copy does not have."""

    def describe(self) -> list[str]:
        """Return the result in lines for the operator."""
        lines = [f"{self.batches} batches, {self.records} records in {self.partitions} partitions"]
        if self.left_out:
            lines.append(f"{self.left_out} records are left out")
        if self.passed:
            lines.append(f"{self.passed} batches are as they were, for the transform failed")
        if self.open_offsets:
            lines.append(f"{self.open_offsets} offsets of open transactions are not copied: run it again")
        return lines


def read_transform(path: Path, timeout_ms: int, max_memory_bytes: int) -> TransformFile:
    """Return the file of a transform.

    Raises:
        PipelineError: it cannot be read, or is too large.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise PipelineError(f"{path}: {reason}") from None
    if len(text) > MAX_FILE_BYTES:
        raise PipelineError(f"{path} has more than {MAX_FILE_BYTES} characters")
    return TransformFile(path.name, text, timeout_ms, max_memory_bytes)


def run_transform(spark: SparkSession, options: TransformOptions, say: Callable[[str], None]) -> Transformed:
    """Copy a topic through a transform.

    Raises:
        PipelineError: the topic cannot be transformed whole, or the copy has something else.
    """
    if options.fail is FailMode.QUARANTINE:
        raise PipelineError("--fail quarantine: no quarantine for stored records: choose closed or open")
    if options.to == options.topic and options.there is None:
        raise PipelineError("--to is the topic itself: a copy needs another name")
    if spark.conf.get("spark.speculation", "false") == "true":
        raise PipelineError("spark.speculation lets two tasks write the same partition: switch it off")
    with TopicClient(options.settings) as client:
        (topic,) = client.topics([options.topic])
        configs = client.configs(topic.name)
        cluster = options.cluster or client.cluster_id
        ranges, open_offsets = ranges_of(client, topic)
        if options.there is None:
            prepare_copy(client, topic, options.to, configs)
    if options.there is not None:
        _check_there(options.there, options.to, topic.partitions)
    plan = TransformPlan(
        options.topic,
        options.to,
        cluster,
        options.tenant,
        options.path or options.topic,
        options.opens,
        options.file,
        options.direction,
        options.fail,
        options.sealing,
    )
    say(f"transforming {sum(one.end - one.start for one in ranges)} offsets of {len(ranges)} partitions")
    settings, there, planned = options.settings, options.there, tuple(ranges)

    def work(numbers: Iterable[Any]) -> Iterator[Any]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                yield from transformed_rows(settings, there, plan, planned[number])

    runs = spark.range(0, len(planned), 1, len(planned)).mapInArrow(work, SCHEMA).persist()
    try:
        with told_in_one_line():
            runs.count()
        shown = runs.orderBy("partition", "first_offset")
        write_csv(shown, HadoopFiles(spark, options.out), "offsets.csv")
        names = ("batches", "records", "left_out", "passed")
        sums = runs.agg(*(F.coalesce(F.sum(one), F.lit(0)).alias(one) for one in names))
        (total,) = sums.collect()
    finally:
        runs.unpersist()
    if options.there is None:
        with TopicClient(options.settings) as client:
            finish_copy(client, options.to, configs)
    return Transformed(
        topic.partitions, total.batches, total.records, total.left_out, total.passed, open_offsets
    )


def _check_there(settings: ClientSettings, to: str, partitions: int) -> None:
    """Check a topic that another cluster or a gateway has: the job creates none there."""
    with TopicClient(settings) as client:
        (found,) = client.topics([to])
    if found.partitions != partitions:
        raise PipelineError(f"{to} has {found.partitions} partitions, the topic has {partitions}")


def transformed_rows(
    settings: ClientSettings, there: ClientSettings | None, plan: TransformPlan, source: OffsetRange
) -> Iterator[Any]:
    """Transform one partition, in an executor; yield the runs of its batches as batches of Arrow."""
    keys = JobKeys(plan.keks)
    try:
        with (
            TopicClient(settings) as client,
            TopicClient(there or settings) as target,
            TransformProcess(plan.file) as process,
        ):
            contents = TransformedContents(plan, keys, process, source.partition)
            runs = list(PartitionCopy(client, source, plan.to, contents, target).copied())
    finally:
        keys.close()
    yield from run_rows(runs)
