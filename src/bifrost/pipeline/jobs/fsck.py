"""`fsck`: the index of virtual partitions from the log, what no virtual partition owns, and what a gateway answers.

OUT/partitions.parquet/  partitions.csv    a row by virtual partition: offsets, time, batches, records, bytes
OUT/unowned.parquet/  unowned.csv          a row by batch that no virtual partition owns
OUT/shared-keys.csv                        keys of compacted topics that several virtual partitions have
OUT/differences.csv                        what brokers, a gateway or the gateways' index say otherwise
OUT/index.html                             the same for people

It never shows what a record contains.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.client_settings import ClientSettings
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.executor_errors import told_in_one_line
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.stored_topics import choose_topics, map_ranges, plan_ranges
from bifrost.pipeline.stored.topic_client import EARLIEST, LATEST, TopicClient
from bifrost.pipeline.stored.topic_log import OffsetRange
from bifrost.pipeline.stored.virtual import key_owners, virtual_owners
from bifrost.pipeline.stored.virtual.listed_offsets import Difference, LogBounds, differences
from bifrost.pipeline.stored.virtual.stored_index import (
    Place,
    index_differences,
    is_about,
    read_index,
    split_at,
)
from bifrost.pipeline.stored.virtual.virtual_index import (
    ends_before,
    index_of,
    read_offsets,
    shared_keys,
    unowned_of,
)
from bifrost.pipeline.stored.virtual.virtual_owners import CLAIM, MARKER
from bifrost.pipeline.stored.virtual.virtual_topics import VirtualTopic, virtual_topics
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

MAX_SHOWN = 200
"""Rows of a table on the page; the files have all."""
_TOPICS = "tenant STRING, topic STRING, name STRING, partitions INT, physical INT, ratio INT"
_EMPTY_KEYS = "topic STRING, partition INT, virtual_partitions STRING, keys LONG, first_offset LONG"
_ENDS = "topic STRING, partition INT, to LONG"
_DIFFERENCES = "topic STRING, virtual INT, what STRING, expected STRING, answered LONG"


@dataclass(frozen=True, slots=True)
class FsckOptions:
    """What is checked."""

    scan: ScanOptions
    """With neither topics nor patterns: all that have virtual partitions."""
    tenants: ConfiguredTenants
    gateway: ClientSettings | None = None
    """How a client of a tenant reaches a gateway whose answers are compared."""
    tenant: str = ""
    """Whose client that is; empty: only one tenant has such topics."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result."""

    topics: int
    partitions: int
    """Virtual ones."""
    records: int
    """Those that virtual partitions own."""
    unowned: int
    """Batches that none owns."""
    shared_keys: int
    differences: int
    claims: int
    by_topic: tuple[tuple[str, int], ...]
    """How many batches without an owner each topic has that has some."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.unowned or self.shared_keys or self.differences)


class _Planned(NamedTuple):
    """What is read and compared."""

    topics: Mapping[str, VirtualTopic]
    ranges: Sequence[OffsetRange]
    bounds: Mapping[Place, LogBounds]
    """Of the physical partitions of topics that are compared."""
    compacted: frozenset[str]
    entries: Mapping[Place, IndexEntry]
    """What the index of the gateways says of physical partitions."""
    compared: Sequence[VirtualTopic]
    wrong: Sequence[Difference]


def run_fsck(spark: SparkSession, options: FsckOptions, say: Callable[[str], None]) -> Checked:
    """Check the records of topics with virtual partitions, and write down what they are and what is wrong.

    Raises:
        PipelineError: there is nothing to check, or brokers or gateway do not answer.
    """
    scan = options.scan
    with TopicClient(scan.settings) as client:
        planned = _plan(client, options)
    maps = {name: one.partitions for name, one in planned.topics.items()}
    say(f"reading {len(planned.topics)} topics, {sum(one.end - one.start for one in planned.ranges)} offsets")
    rows = partial(virtual_owners.owner_rows, maps)
    owners = map_ranges(spark, scan.settings, planned.ranges, rows, virtual_owners.SCHEMA).persist()
    try:
        with told_in_one_line():
            owners.count()
        keys = _shared_keys(spark, options, planned)
        wrong = [*planned.wrong, *_index_compared(spark, options, planned, owners)]
        wrong += _compared(options, planned, owners)
        return _write(spark, options, planned, owners, keys, wrong)
    finally:
        owners.unpersist()


def _plan(client: TopicClient, options: FsckOptions) -> _Planned:
    scan = options.scan
    is_named = bool(scan.topics or scan.patterns)
    names = choose_topics(client, scan.topics, scan.patterns) if is_named else choose_topics(client, ())
    topics = virtual_topics(options.tenants, names)
    without = [one for one in scan.topics if one not in topics]
    if without:
        raise PipelineError(f"no virtual_partitions of --config are for {without[0]}")
    if not topics:
        raise PipelineError("no virtual_partitions of --config are for a topic that these brokers have")
    stored = {one.name: one.partitions for one in client.topics(sorted(topics))}
    wrong: list[Difference] = []
    for name, one in sorted(topics.items()):
        partitions = one.partitions.at(stored[name])
        if partitions is None:
            expected = str(one.partitions.physical)
            wrong.append(Difference(name, -1, "partitions of the brokers", expected, stored[name]))
        else:
            topics[name] = one._replace(partitions=partitions)
    compared = _compared_topics(options, topics)
    differing = {one.topic for one in wrong}
    entries = _entries(client, options, topics.keys() - differing)
    compared = [one for one in compared if one.physical not in differing]
    wrong += _partitions_at_gateway(options, compared)
    differing = {one.topic for one in wrong}
    compared = [one for one in compared if one.physical not in differing]
    ranges = split_at(plan_ranges(client, sorted(topics), scan.since_ms, scan.until_ms), entries)
    compacted = frozenset(name for name in topics if client.is_compacted(name))
    bounds = _bounds(client, compared, ranges)
    return _Planned(topics, ranges, bounds, compacted, entries, compared, wrong)


def _entries(client: TopicClient, options: FsckOptions, topics: Collection[str]) -> dict[Place, IndexEntry]:
    """Return the index of the gateways, if it can be compared: only the whole log shows what it must be."""
    scan, index_topic = options.scan, options.tenants.index_topic
    if not index_topic or scan.since_ms is not None or scan.until_ms is not None:
        return {}
    return read_index(client, index_topic, topics)


def _compared_topics(options: FsckOptions, topics: Mapping[str, VirtualTopic]) -> list[VirtualTopic]:
    """Return the topics whose offsets a gateway is asked for.

    Raises:
        PipelineError: whose they are is not known.
    """
    if options.gateway is None:
        return []
    tenants = sorted({one.tenant for one in topics.values()})
    if not options.tenant and len(tenants) > 1:
        raise PipelineError(f"name the tenant of the gateway's client by --tenant: {', '.join(tenants)}")
    tenant = options.tenant or tenants[0]
    if tenant not in tenants:
        raise PipelineError(f"tenant {tenant} has no topic with virtual partitions here")
    return [one for _, one in sorted(topics.items()) if one.tenant == tenant]


def _partitions_at_gateway(options: FsckOptions, compared: Sequence[VirtualTopic]) -> list[Difference]:
    if options.gateway is None or not compared:
        return []
    with TopicClient(options.gateway) as client:
        shown = {one.name: one.partitions for one in client.topics([one.client_name for one in compared])}
    return [
        Difference(
            one.physical, -1, "partitions of the gateway", str(one.partitions.virtual), shown[one.client_name]
        )
        for one in compared
        if shown[one.client_name] != one.partitions.virtual
    ]


def _bounds(
    client: TopicClient, compared: Sequence[VirtualTopic], ranges: Sequence[OffsetRange]
) -> dict[Place, LogBounds]:
    """Return what is read of each physical partition; one that is not read has nothing."""
    found: dict[Place, LogBounds] = {}
    for one in ranges:
        place = one.topic, one.partition
        known = found.get(place, LogBounds(one.start, one.end))
        found[place] = LogBounds(min(known.start, one.start), max(known.end, one.end))
    for topic in compared:
        for number in range(topic.partitions.physical):
            if (topic.physical, number) not in found:
                start = client.offset(topic.physical, number, EARLIEST)
                found[topic.physical, number] = LogBounds(start, start)
    return found


def _index_compared(
    spark: SparkSession, options: FsckOptions, planned: _Planned, owners: DataFrame
) -> list[Difference]:
    """Return what the index of the gateways says otherwise than the log."""
    if not planned.entries:
        return []
    entries = sorted(planned.entries.items())
    reach = spark.createDataFrame([(*place, entry.end) for place, entry in entries], _ENDS)
    ends: dict[str, dict[int, int]] = {}
    for row in ends_before(owners, reach).collect():
        ends.setdefault(row.topic, {})[row.virtual] = row.last_offset + 1
    found: list[Difference] = []
    with TopicClient(options.scan.settings) as client:
        for place, entry in entries:
            partitions = planned.topics[place[0]].partitions
            if place[1] < partitions.physical:
                found += index_differences(
                    place,
                    partitions,
                    entry,
                    ends.get(place[0], {}),
                    client.offset(*place, EARLIEST),
                    is_same_log=is_about(client, place, entry),
                    is_compacted=place[0] in planned.compacted,
                )
    return found


def _compared(options: FsckOptions, planned: _Planned, owners: DataFrame) -> list[Difference]:
    """Return what the gateway says otherwise than the log."""
    if options.gateway is None or not planned.compared:
        return []
    wanted = read_offsets(owners).where(F.col("topic").isin([one.physical for one in planned.compared]))
    own = {(row.topic, row.virtual): (row.first_offset, row.last_offset) for row in wanted.collect()}
    found: list[Difference] = []
    with TopicClient(options.gateway) as gateway, TopicClient(options.scan.settings) as client:
        for topic in planned.compared:
            name, physical_name = topic.client_name, topic.physical
            answered = [_bounds_now(gateway, name, each) for each in range(topic.partitions.virtual)]
            after = [_bounds_now(client, physical_name, each) for each in range(topic.partitions.physical)]
            for number, said in enumerate(answered):
                _, physical = topic.partitions.place_of(VirtualPartition(number))
                before = planned.bounds[topic.physical, physical]
                found += differences(
                    topic.physical,
                    number,
                    own.get((topic.physical, number)),
                    said,
                    before,
                    after[physical],
                )
    return found


def _bounds_now(client: TopicClient, topic: str, partition: int) -> LogBounds:
    return LogBounds(client.offset(topic, partition, EARLIEST), client.offset(topic, partition, LATEST))


def _shared_keys(spark: SparkSession, options: FsckOptions, planned: _Planned) -> DataFrame | None:
    """Return the keys that several virtual partitions have; None: no topic is compacted."""
    ranges = [one for one in planned.ranges if one.topic in planned.compacted]
    if not ranges:
        return None
    maps = {name: planned.topics[name].partitions for name in planned.compacted}
    rows = partial(key_owners.key_rows, maps)
    return shared_keys(map_ranges(spark, options.scan.settings, ranges, rows, key_owners.SCHEMA))


def _write(
    spark: SparkSession,
    options: FsckOptions,
    planned: _Planned,
    owners: DataFrame,
    keys: DataFrame | None,
    wrong: Sequence[Difference],
) -> Checked:
    files = HadoopFiles(spark, options.scan.out)
    topics = [
        (one.tenant, name, one.name, one.partitions.virtual, one.partitions.physical, one.partitions.ratio)
        for name, one in sorted(planned.topics.items())
    ]
    index = index_of(owners, spark.createDataFrame(topics, _TOPICS)).orderBy("topic", "virtual").persist()
    unowned = unowned_of(owners).orderBy("topic", "partition", "first_offset")
    keys = keys if keys is not None else spark.createDataFrame([], _EMPTY_KEYS)
    keys = keys.orderBy("topic", "partition", "virtual_partitions").persist()
    differing = spark.createDataFrame([tuple(one) for one in wrong], _DIFFERENCES)
    try:
        with told_in_one_line():
            index.write.mode("overwrite").parquet(files.path("partitions.parquet"))
            write_csv(index, files, "partitions.csv")
            unowned.write.mode("overwrite").parquet(files.path("unowned.parquet"))
            write_csv(unowned, files, "unowned.csv")
            write_csv(keys, files, "shared-keys.csv")
            write_csv(differing.coalesce(1), files, "differences.csv")
            by_topic = unowned.groupBy("topic").agg(F.count(F.lit(1)).alias("n")).orderBy("topic").collect()
            others = owners.where(F.col("kind").isin(CLAIM, MARKER)).groupBy("kind")
            counts = {row.kind: row.n for row in others.agg(F.sum("batches").alias("n")).collect()}
            files.write("index.html", _page(index, unowned, keys, wrong, len(topics)))
            return Checked(
                len(topics),
                index.count(),
                index.agg(F.sum("records")).first()[0],  # type: ignore[index]
                sum(row.n for row in by_topic),
                keys.agg(F.coalesce(F.sum("keys"), F.lit(0))).first()[0],  # type: ignore[index]
                len(wrong),
                counts.get(CLAIM, 0),
                tuple((row.topic, row.n) for row in by_topic),
            )
    finally:
        index.unpersist()
        keys.unpersist()


def _page(
    index: DataFrame, unowned: DataFrame, keys: DataFrame, wrong: Sequence[Difference], topics: int
) -> str:
    sections = [
        ("Batches that no virtual partition owns", _unowned_table(unowned.limit(MAX_SHOWN).collect())),
        (
            "Keys that several virtual partitions of a compacted topic have",
            _keys_table(keys.limit(MAX_SHOWN).collect()),
        ),
        (
            "Where brokers, a gateway or the index of gateways say otherwise",
            _differences_table(wrong[:MAX_SHOWN]),
        ),
        ("Virtual partitions", _index_table(index)),
    ]
    return render_tables("Virtual partitions", f"{topics} topics, from their logs", sections)


def _unowned_table(rows: Sequence[Row]) -> Table:
    heads = ("topic", "partition", "kind", "first offset", "last offset", "records", "why")
    shown = [
        (row.topic, row.partition, row.kind, row.first_offset, row.last_offset, row.records, row.reason)
        for row in rows
    ]
    return Table(heads, shown, "None.", ("kind",))


def _keys_table(rows: Sequence[Row]) -> Table:
    heads = ("topic", "partition", "virtual partitions", "keys", "first offset")
    shown = [
        (row.topic, row.partition, row.virtual_partitions, row["keys"], row.first_offset) for row in rows
    ]
    return Table(heads, shown, "None.")


def _differences_table(wrong: Sequence[Difference]) -> Table:
    heads = ("topic", "virtual partition", "what", "expected", "answered")
    shown = [(one.topic, "all" if one.virtual < 0 else str(one.virtual), *one[2:]) for one in wrong]
    return Table(heads, shown, "Nowhere.", ("what", "expected"))


def _index_table(index: DataFrame) -> Table:
    heads = ("topic", "virtual", "physical", "first offset", "last offset", "last record", "records")
    time = F.date_format("last_timestamp", "yyyy-MM-dd HH:mm").alias("shown")
    shown = [
        (
            row.topic,
            row.virtual,
            row.partition,
            "" if row.first_offset is None else row.first_offset,
            "" if row.last_offset is None else row.last_offset,
            row.shown or "",
            row.records,
        )
        for row in index.select("*", time).limit(MAX_SHOWN).collect()
    ]
    return Table(heads, shown, "None.", ("last record",))
