"""Sums up usage and storage by hour and by day, from the journal's rows. Pure: frames in, frames out.

The rows of different scopes are views of the same traffic, so each counter here takes from one scope alone:
requests, errors, times and bytes of frames from `request`, records and bytes by topic from `topic`, connections
from `connection`. Keys that a scope does not have are null (a request has no topic), so the sum over all rows is right
for every column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DecimalType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

USAGE_KEYS = ("upstream", "tenant", "namespace", "principal", "topic", "physical_topic")
"""Keys of usage beside the time; `topic` and `physical_topic` are null for usage that belongs to no topic."""
STORAGE_KEYS = ("upstream", "tenant", "topic", "physical_topic")

SCOPES: dict[str, dict[str, str]] = {
    "request": {
        "requests": "requests",
        "responses": "responses",
        "errors": "errors",
        "request_bytes": "bytes_in",
        "response_bytes": "bytes_out",
        "throttle_time_ms": "throttle_time_ms",
        "broker_time_us": "broker_time_us",
        "gateway_time_us": "gateway_time_us",
        "empty_fetches": "empty_fetches",
    },
    "topic": {
        "topic_requests": "requests",
        "topic_errors": "errors",
        "produced_records": "records_in",
        "produced_batches": "batches_in",
        "produced_bytes": "bytes_in",
        "fetched_records": "records_out",
        "fetched_batches": "batches_out",
        "fetched_bytes": "bytes_out",
    },
    "connection": {
        "connections_opened": "connections_opened",
        "connections_closed": "connections_closed",
        "connection_ms": "connection_ms",
    },
}
"""The sums of each scope: their names, and the journal's counters."""

SUMS = tuple(name for sums in SCOPES.values() for name in sums)
BYTE_MS = DecimalType(38, 0)
"""Type of bytes times milliseconds: a terabyte for a month is more than a long holds."""


def usage_schema(time: str) -> StructType:
    """Return the schema of the usage by `hour` or `day`."""
    keys = [StructField(name, StringType()) for name in USAGE_KEYS]
    sums = [StructField(name, LongType()) for name in (*SUMS, "rows", "late_rows")]
    return StructType([*_times(time), *keys, *sums])


def storage_schema(time: str) -> StructType:
    """Return the schema of the storage by `hour` or `day`."""
    keys = [StructField(name, StringType()) for name in STORAGE_KEYS]
    sums = [
        StructField("byte_ms", BYTE_MS),
        StructField("partition_ms", LongType()),
        StructField("unknown_ms", LongType()),
    ]
    return StructType([*_times(time), *keys, *sums])


def _times(time: str) -> list[StructField]:
    day = StructField("day", StringType())
    return [day, StructField("hour", TimestampType())] if time == "hour" else [day]


def hourly_usage(usage: DataFrame) -> DataFrame:
    """Return the usage of each hour.

    Args:
        usage: rows of the journal, each record once.
    """
    sums = [
        F.coalesce(F.sum(F.when(F.col("scope") == scope, F.col(counter))), F.lit(0))
        .cast("bigint")
        .alias(name)
        for scope, counters in SCOPES.items()
        for name, counter in counters.items()
    ]
    rows = F.count(F.lit(1)).alias("rows")
    late = F.coalesce(F.sum(F.col("is_late").cast("bigint")), F.lit(0)).alias("late_rows")
    grouped = usage.groupBy("day", "hour", *USAGE_KEYS).agg(*sums, rows, late)
    return grouped.select(*usage_schema("hour").fieldNames())


def daily_usage(hourly: DataFrame) -> DataFrame:
    """Return the usage of each day, from its hours."""
    sums = [F.sum(name).cast("bigint").alias(name) for name in (*SUMS, "rows", "late_rows")]
    return hourly.groupBy("day", *USAGE_KEYS).agg(*sums).select(*usage_schema("day").fieldNames())


def hourly_storage(snapshots: DataFrame) -> DataFrame:
    """Return the bytes stored in the brokers' logs in each hour, as bytes times milliseconds, with all replicas.

    Each gateway takes its own snapshots of the cluster. A snapshot covers the time since the end of the newest earlier
    snapshot of any gateway, at most its own interval: so nothing is counted twice, however many gateways there are.

    Args:
        snapshots: rows of the journal, each record once, including the day before; otherwise a snapshot at midnight
            would count for more time than it covers.
    """
    topic = Window.partitionBy("upstream", "tenant", "physical_topic")
    before = topic.orderBy("interval_end_ms", "gateway_id", "epoch", "sequence").rowsBetween(
        Window.unboundedPreceding, -1
    )
    begin = F.greatest("interval_start_ms", F.coalesce(F.max("interval_end_ms").over(before), F.lit(0)))
    covered = snapshots.withColumn("ms", F.greatest(F.col("interval_end_ms") - begin, F.lit(0)))
    size = F.coalesce("replica_bytes", F.col("bytes") * F.col("replication_factor"))
    sums = [
        F.coalesce(F.sum(size.cast(DecimalType(20, 0)) * F.col("ms").cast(DecimalType(18, 0))), F.lit(0))
        .cast(BYTE_MS)
        .alias("byte_ms"),
        F.sum(F.col("partition_count").cast("bigint") * F.col("ms")).cast("bigint").alias("partition_ms"),
        F.sum(F.when(size.isNull(), F.col("ms")).otherwise(0)).cast("bigint").alias("unknown_ms"),
    ]
    return (
        covered.groupBy("day", "hour", *STORAGE_KEYS).agg(*sums).select(*storage_schema("hour").fieldNames())
    )


def daily_storage(hourly: DataFrame) -> DataFrame:
    """Return the bytes stored in the brokers' logs in each day, from its hours."""
    sums = [F.sum(name).cast(kind).alias(name) for name, kind in _STORAGE_SUMS]
    return hourly.groupBy("day", *STORAGE_KEYS).agg(*sums).select(*storage_schema("day").fieldNames())


_STORAGE_SUMS: tuple[tuple[str, str], ...] = (
    ("byte_ms", "decimal(38,0)"),
    ("partition_ms", "bigint"),
    ("unknown_ms", "bigint"),
)


def topic_namespaces(daily: DataFrame) -> DataFrame:
    """Return the namespace that owns each topic: the deepest one that used it, since a tenant's root may use all topics
    below it.

    A topic that no client used belongs to its tenant's root.
    """
    depth: Column = F.size(F.split("namespace", ":"))
    named = daily.where(F.col("physical_topic").isNotNull())
    deepest = F.max(F.struct(depth.alias("depth"), F.col("namespace"))).alias("deepest")
    grouped = named.groupBy("upstream", "tenant", "physical_topic").agg(deepest)
    return grouped.select(
        "upstream", "tenant", "physical_topic", F.col("deepest.namespace").alias("namespace")
    )
