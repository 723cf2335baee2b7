"""Reads the journal's records: valid ones become rows of tables, others are rejected with their place and the reason.

The schema is the journal's own (docs/journal.md); for a corrupt record the reason is one of a few sentences. A record
of a schema version that this release does not know is neither: `future_record` finds it, and the job stops.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bifrost.pipeline.metering.metered_tables import KEYS, TABLES, head_columns, journal_schema, table_schemas

if TYPE_CHECKING:
    from pyspark.sql import Column, Row

KNOWN_VERSION = 2
"""The newest `schema_version` that this release reads."""
KINDS = ("usage", "event", "snapshot", "drop")
EARLIEST_MS, LATEST_MS = 946_684_800_000, 4_102_444_800_000
"""2000 and 2100: a time outside is invalid, and would create directories for days that do not exist."""
_REQUIRED = ("kind", *KEYS, "interval_start_ms", "interval_end_ms")
_OF_A_TENANT = ("usage", "snapshot")
MAX_RANGES = 100
"""Up to so many gateways and epochs in a batch, each has a condition of its own in the query."""
MAX_REJECTED_CHARACTERS = 2000
"""Characters kept of a rejected record: enough to recognise it."""


def read_records(source: DataFrame) -> DataFrame:
    """Read the journal's records.

    Args:
        source: rows of Spark's Kafka source: key, value, topic, partition, offset, timestamp.
    Returns:
        A row for each: the place (topic, partition, offset, timestamp, value), `version`, the record's own columns,
        `hour` and `day` of its end, and `reason`: null when it is valid.
    """
    schema = StructType([*journal_schema().fields, StructField("_corrupt", StringType())])
    text = F.col("value").cast("string")
    options = {"columnNameOfCorruptRecord": "_corrupt", "mode": "PERMISSIVE"}
    read = source.select(
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        F.from_json(text, schema, options).alias("record"),
    )
    read = read.select("key", "value", "topic", "partition", "offset", "timestamp", "record.*")
    # A record of a newer version may not fit the schema at all, so its version is also read separately.
    alone = F.get_json_object(F.when(F.col("_corrupt").isNotNull(), text), "$.schema_version").try_cast(
        "bigint"
    )
    version = F.coalesce(F.col("schema_version").cast("bigint"), alone)
    # The end is not part of an interval: one that ends at 10:00 belongs to the hour before.
    is_event = F.col("interval_end_ms") == F.col("interval_start_ms")
    moment = F.timestamp_millis(F.col("interval_end_ms") - F.when(is_event, 0).otherwise(1))
    read = read.withColumn("version", version).withColumn("reason", _reason())
    is_sound = F.col("reason").isNull()
    hour = F.when(is_sound, F.date_trunc("hour", moment))
    # A valid record's columns contain everything; its text would double the memory of a batch.
    read = (
        read.withColumn("hour", hour)
        .withColumn("value", F.when(~is_sound, F.col("value")))
        .drop("key", "_corrupt")
    )
    return read.withColumn("day", F.date_format("hour", "yyyy-MM-dd"))


def _reason() -> Column:
    """Return the first error of a record, in words, or null."""
    checks: list[tuple[Column, Column | str]] = [
        (F.col("value").isNull(), "no value"),
        (F.col("_corrupt").isNotNull(), "not a JSON object of the journal's schema"),
        (F.col("version").isNull() | (F.col("version") < 1), "no schema_version"),
        *((F.col(name).isNull(), f"no {name}") for name in _REQUIRED),
        (~F.col("kind").isin(*KINDS), F.concat(F.lit("unknown kind "), F.substring("kind", 1, 40))),
        *(
            ((F.col("kind") == kind) & F.col(kind).isNull(), f"no {kind} in a record of that kind")
            for kind in KINDS
        ),
        (F.col("kind").isin(*_OF_A_TENANT) & F.col("tenant").isNull(), "no tenant"),
        # It becomes the name of files.
        (~F.col("tenant").rlike(r"^[A-Za-z0-9._-]{1,64}\z"), "tenant is no tenant's name"),
        (~F.col("tenant").eqNullSafe(F.col("key").cast("string")), "its key is not its tenant"),
        ((F.col("epoch") < 0) | (F.col("sequence") < 0), "epoch or sequence below 0"),
        (~F.col("interval_end_ms").between(EARLIEST_MS, LATEST_MS), "interval_end_ms is no time"),
        (
            ~F.col("interval_start_ms").between(EARLIEST_MS, F.col("interval_end_ms")),
            "it ends before it begins",
        ),
        (_is_below_zero(f"usage.{name}" for name in counters()), _first_below_zero()),
        (_is_below_zero(["snapshot.replica_bytes", "snapshot.bytes"]), "snapshot.bytes below 0"),
        (F.col("snapshot.partition_count") < 0, "snapshot.partition_count below 0"),
    ]
    whens = [F.when(wrong, F.lit(said) if isinstance(said, str) else said) for wrong, said in checks]
    return F.coalesce(*whens)


def _is_below_zero(names: Iterable[str]) -> Column:
    """Return whether one of the numbers is below zero, by their least, which ignores nulls."""
    return F.least(*(F.col(name) for name in names)) < 0


def _first_below_zero() -> Column:
    return F.coalesce(*(F.when(F.col(f"usage.{name}") < 0, f"usage.{name} below 0") for name in counters()))


@cache
def counters() -> tuple[str, ...]:
    """Return the names of usage's counters: its fields of type long."""
    usage = journal_schema()["usage"].dataType
    assert isinstance(usage, StructType)
    return tuple(one.name for one in usage if isinstance(one.dataType, LongType))


def future_record() -> Column:
    """Return the first record of an unknown version, as an aggregate over the rows of `read_records`.

    A struct of topic, partition, offset and version; null when there is none.
    """
    place = F.struct("topic", "partition", "offset", "version")
    return F.min(F.when(F.col("version") > KNOWN_VERSION, place))


def rows_of(read: DataFrame, kind: str, watermark_ms: int | None) -> DataFrame:
    """Return the valid records of a kind as rows of its table; a record that was delivered twice occurs twice.

    Args:
        read: the rows of `read_records`.
        kind: one of KINDS.
        watermark_ms: records that ended before this time are late; None: none is.
    """
    late = F.lit(False) if watermark_ms is None else F.col("interval_end_ms") < F.lit(watermark_ms)
    ours = read.where(F.col("reason").isNull() & (F.col("kind") == kind)).withColumn("is_late", late)
    flat = ours.select(*(one.name for one in head_columns()), f"{kind}.*")
    return flat.select(*table_schemas()[TABLES[kind]].fieldNames())


def rejected(read: DataFrame) -> DataFrame:
    """Return the rejected records with their places and reasons; their day is that of Kafka's timestamp."""
    bad = read.where(F.col("reason").isNotNull())
    value = F.substring(F.col("value").cast("string"), 1, MAX_REJECTED_CHARACTERS)
    return bad.select(
        F.date_format("timestamp", "yyyy-MM-dd").alias("day"),
        "topic",
        "partition",
        "offset",
        "timestamp",
        "reason",
        value.alias("value"),
    )


def are_all_new(read: DataFrame, known: Iterable[DataFrame]) -> bool:
    """Return whether each valid record came once, and is not `known`: then `unseen` would return all of them.

    Compares sets of 64 sequence numbers as the bits of one number, which is much less than the keys of all rows. Of
    `known` only rows in the range of the numbers of `read` are compared: Parquet's statistics pass over the others.

    Args:
        read: the rows of `read_records`.
        known: the keys of the records that are in the tables already, each kind's.
    """
    ours = _number_sets(read.where(F.col("reason").isNull())).persist()
    try:
        sums = ours.groupBy("gateway_id", "epoch").agg(
            F.sum("rows").alias("rows"),
            F.sum(F.bit_count("bits")).alias("numbers"),
            F.min("least").alias("least"),
            F.max("most").alias("most"),
        )
        ranges = sums.limit(MAX_RANGES + 1).collect()
        if any(one["rows"] != one["numbers"] for one in ranges):
            return False
        theirs = reduce(DataFrame.union, known)
        if len(ranges) <= MAX_RANGES:
            theirs = theirs.where(_in_reach(ranges, ["gateway_id", "epoch"], "sequence"))
        elif not sums.where("rows != numbers").isEmpty():
            return False
        keys = ["gateway_id", "epoch", "word"]
        both = ours.join(_number_sets(theirs).select(*keys, F.col("bits").alias("theirs")), keys)
        return both.where(F.col("bits").bitwiseAND(F.col("theirs")) != 0).isEmpty()
    finally:
        ours.unpersist()


def _number_sets(rows: DataFrame) -> DataFrame:
    """Return for each 64 sequence numbers which of them occur, as the bits of a long, and in how many rows."""
    bit = F.expr("shiftleft(1L, CAST(sequence & 63 AS INT))")
    return rows.groupBy("gateway_id", "epoch", F.shiftright("sequence", 6).alias("word")).agg(
        F.count(F.lit(1)).alias("rows"),
        F.bit_or(bit).alias("bits"),
        F.min("sequence").alias("least"),
        F.max("sequence").alias("most"),
    )


def unseen(rows: DataFrame, known: DataFrame, keys: tuple[str, ...] = KEYS) -> DataFrame:
    """Return each of `rows` once, without those whose keys are in `known`.

    Compares the keys alone first, because records are rarely delivered twice; whole rows are exchanged only if one was.
    The last key is an increasing number, so of `known` only rows in the range of those numbers are compared.
    """
    *names, number = keys
    ours = rows.select(*keys)
    found = ours.groupBy(*names).agg(
        F.count(F.lit(1)).alias("rows"),
        F.count_distinct(number).alias("numbers"),
        F.min(number).alias("least"),
        F.max(number).alias("most"),
    )
    ranges = found.limit(MAX_RANGES + 1).collect()
    if len(ranges) > MAX_RANGES or any(one["rows"] != one["numbers"] for one in ranges):
        rows = rows.dropDuplicates(list(keys))
    theirs = known.select(*keys)
    if len(ranges) <= MAX_RANGES:
        theirs = theirs.where(_in_reach(ranges, names, number))
    if ours.join(theirs, list(keys), "left_semi").limit(1).count():
        rows = rows.join(theirs, list(keys), "left_anti")
    return rows


def _in_reach(ranges: list[Row], names: list[str], number: str) -> Column:
    reach = F.lit(False)
    for one in ranges:
        is_same = F.col(number).between(one.least, one.most)
        for name in names:
            is_same = is_same & (F.col(name) == F.lit(one[name]))
        reach = reach | is_same
    return reach
