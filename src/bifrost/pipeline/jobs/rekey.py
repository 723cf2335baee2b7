"""`rekey`: a topic under a new KEK: copies it into another topic, sealed anew, and compares both record by record.

    plan ──▶ create the copy ──▶ copy, a task for each partition ──▶ verify, likewise ──▶ set its configs

OUT/offsets.csv     a row for each run of batches whose offsets differ by the same number: where groups go on

The topic itself is left as it is. A job that ended early is started again, and goes on where the copy ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import functions as F

from bifrost.encryption.kek import Kek
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.topic_client import EARLIEST, LATEST, READ_COMMITTED, Topic, TopicClient
from bifrost.pipeline.stored.topic_copy import CopiedRun, CopyPlan, PartitionCopy, ResealedContents
from bifrost.pipeline.stored.topic_log import OffsetRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WHILE_COPYING = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
"""Configs of the copy until it is verified: nothing of it may go meanwhile."""
SCHEMA = ", ".join(f"{name} {'INT' if name == 'partition' else 'LONG'}" for name in CopiedRun._fields)
Step = Literal["copied", "verified"]


@dataclass(frozen=True, slots=True)
class RekeyOptions:
    """What is copied, and by which KEKs."""

    settings: ClientSettings
    out: str
    topic: str
    to: str
    opens: tuple[Kek, ...]
    """KEKs that the topic's envelopes name, beside the new one."""
    seals: Kek
    """The new KEK."""
    cluster: str = ""
    """What binds sealed records to the cluster; empty: Kafka's ID of it."""
    accepts_plaintext: bool = False
    drops_producers: bool = False
    sealing: FilterSealing | None = None
    """The filter that seals the topic, where that says how."""
    sealing_key: str = ""
    """What seals keys of the copy, wrapped by the new KEK, as its file has it; empty: keys are not sealed."""


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """The result."""

    partitions: int
    batches: int
    records: int
    without_producer: int
    """Batches that lost their producer or transaction."""
    moved: int
    """Partitions in which an offset differs from the copy's."""
    open_offsets: int
    """Offsets of transactions that were open, which the copy does not have."""

    def describe(self) -> list[str]:
        """Return the result in lines for the operator."""
        lines = [f"the same: {self.batches} batches, {self.records} records in {self.partitions} partitions"]
        if self.without_producer:
            lines.append(f"{self.without_producer} batches are without their producer or transaction")
        if self.open_offsets:
            lines.append(f"{self.open_offsets} offsets of open transactions are not copied: run it again")
        offsets = f"{self.moved} partitions have other offsets" if self.moved else "all offsets are the same"
        return [*lines, offsets]


def run_rekey(spark: SparkSession, options: RekeyOptions, say: Callable[[str], None]) -> Rekeyed:
    """Copy a topic under a new KEK, and verify the copy.

    Raises:
        PipelineError: the topic cannot be copied whole, or the copy is not the same.
    """
    if options.to == options.topic:
        raise PipelineError("--to is the topic itself: a copy needs another name")
    if spark.conf.get("spark.speculation", "false") == "true":
        raise PipelineError("spark.speculation lets two tasks write the same partition: switch it off")
    with TopicClient(options.settings) as client:
        (topic,) = client.topics([options.topic])
        configs = client.configs(topic.name)
        plan = _plan(options, configs, client.cluster_id)
        ranges, open_offsets = ranges_of(client, topic)
        prepare_copy(client, topic, options.to, configs)
    say(f"copying {sum(one.end - one.start for one in ranges)} offsets of {len(ranges)} partitions")
    with told_in_one_line():
        for row in _steps(spark, options.settings, plan, ranges, "copied").groupBy().sum("records").collect():
            say(f"verifying {row[0] or 0} records")
        runs = _steps(spark, options.settings, plan, ranges, "verified").persist()
        runs.count()
    try:
        shown = runs.drop("left_out", "passed").orderBy("partition", "first_offset")
        write_csv(shown, HadoopFiles(spark, options.out), "offsets.csv")
        moved = runs.where(F.col("first_offset") != F.col("copied_first_offset"))
        moved_partitions = moved.select("partition").distinct().count()
        sums = runs.agg(
            *(
                F.coalesce(F.sum(one), F.lit(0)).alias(one)
                for one in ("batches", "records", "without_producer")
            )
        )
        (total,) = sums.collect()
    finally:
        runs.unpersist()
    with TopicClient(options.settings) as client:
        finish_copy(client, options.to, configs)
    return Rekeyed(
        topic.partitions,
        total.batches,
        total.records,
        total.without_producer,
        moved_partitions,
        open_offsets,
    )


def _plan(options: RekeyOptions, configs: Mapping[str, str], cluster_id: str) -> CopyPlan:
    if configs.get("message.timestamp.type") == "LogAppendTime":
        raise PipelineError(f"{options.topic} has the brokers' append times, which a copy would not have")
    sealing = to_sealing = options.sealing
    if bool(options.sealing_key) != (sealing is not None and sealing.has_sealed_keys):
        raise PipelineError(
            "--sealing-key: no filter of --config seals the topic's keys"
            if options.sealing_key
            else "the topic's keys are sealed: --sealing-key has to name a file for those of the copy"
        )
    if sealing is not None and options.sealing_key:
        to_sealing = sealing.with_sealing_key(options.sealing_key)
    is_compacted = "compact" in configs.get("cleanup.policy", "")
    return CopyPlan(
        options.topic,
        options.to,
        options.cluster or cluster_id,
        options.opens,
        options.seals,
        is_by_value=is_compacted,
        accepts_plaintext=options.accepts_plaintext,
        keeps_producers=not is_compacted and not options.drops_producers,
        sealing=sealing,
        to_sealing=to_sealing,
    )


def ranges_of(client: TopicClient, topic: Topic) -> tuple[list[OffsetRange], int]:
    """Return what is copied of each partition, and how many offsets of open transactions are not."""
    ranges, open_offsets = [], 0
    for partition in range(topic.partitions):
        start, stable, end = (
            client.offset(topic.name, partition, EARLIEST),
            client.offset(topic.name, partition, LATEST, READ_COMMITTED),
            client.offset(topic.name, partition, LATEST),
        )
        ranges.append(OffsetRange(topic.name, partition, start, stable))
        open_offsets += end - stable
    return ranges, open_offsets


def prepare_copy(client: TopicClient, topic: Topic, to: str, configs: Mapping[str, str]) -> None:
    """Create the copy, or check that one that is there has as many partitions."""
    found = {one.name: one for one in client.topics()}.get(to)
    if found is None:
        client.create_topic(topic._replace(name=to), {**configs, **WHILE_COPYING})
    elif found.partitions != topic.partitions:
        raise PipelineError(f"{to} has {found.partitions} partitions, {topic.name} has {topic.partitions}")


def finish_copy(client: TopicClient, to: str, configs: Mapping[str, str]) -> None:
    """Give the copy the configs that it had to do without; not to one that an operator made."""
    own = client.configs(to)
    if all(own.get(name) == value for name, value in WHILE_COPYING.items()):
        client.set_configs(to, {name: configs.get(name) for name in WHILE_COPYING})


def _steps(
    spark: SparkSession, settings: ClientSettings, plan: CopyPlan, ranges: Sequence[OffsetRange], step: Step
) -> DataFrame:
    """Copy or verify each partition in a task of its own; return how offsets differ."""
    planned = tuple(ranges)

    def work(numbers: Iterable[Any]) -> Iterator[Any]:
        for batch in numbers:
            for number in batch.column("id").to_pylist():
                yield from partition_rows(settings, plan, planned[number], step)

    return spark.range(0, len(planned), 1, len(planned)).mapInArrow(work, SCHEMA)


def partition_rows(
    settings: ClientSettings, plan: CopyPlan, source: OffsetRange, step: Step
) -> Iterator[Any]:
    """Copy or verify one partition, in an executor; yield the runs of its batches as batches of Arrow."""
    keys = JobKeys(plan.opens, plan.seals)
    try:
        with TopicClient(settings) as client:
            contents = ResealedContents(plan, keys, source.partition)
            copy = PartitionCopy(client, source, plan.to, contents)
            runs = list(copy.copied() if step == "copied" else copy.verified())
    finally:
        keys.close()
    yield from run_rows(runs)


def run_rows(runs: Sequence[CopiedRun]) -> Iterator[Any]:
    """Yield the runs of a partition as a batch of Arrow."""
    import pyarrow as pa

    types = [pa.int32() if name == "partition" else pa.int64() for name in CopiedRun._fields]
    if runs:
        columns = [
            pa.array(column, kind) for column, kind in zip(zip(*runs, strict=True), types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, names=list(CopiedRun._fields))
