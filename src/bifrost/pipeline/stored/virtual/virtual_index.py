"""Frames of a check of virtual partitions: the index from the log, batches without an owner, keys that two have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline.stored.virtual.virtual_owners import OWNED, UNOWNED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLACE = ("topic", "virtual")
SHOWN = ("tenant", "topic", "name", "virtual", "partition", "partition_group")


def index_of(owners: DataFrame, topics: DataFrame) -> DataFrame:
    """Return each virtual partition with what the log has of it; offsets and time are null where that is nothing.

    Args:
        owners: rows of `virtual_owners.SCHEMA`.
        topics: tenant, topic, name (as its clients call it), partitions (virtual), physical and ratio (0: the numbers
            are fixed), each topic once.
    """
    all_of = topics.withColumn("virtual", F.explode(F.sequence(F.lit(0), F.col("partitions") - 1)))
    ratio = F.greatest(F.col("ratio"), F.lit(1))  # 0 may be divided by nowhere, used or not.
    placed = (
        all_of.withColumn("virtual", F.col("virtual").cast("int"))
        .withColumn("partition", _of_rule(_floor_of(ratio), F.col("virtual") % F.col("physical")))
        .withColumn("partition_group", _of_rule(F.col("virtual") % ratio, _floor_of(F.col("physical"))))
    )
    sums = (
        owners.where(F.col("kind") == OWNED)
        .groupBy(*PLACE)
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.timestamp_millis(F.max("last_timestamp_ms")).alias("last_timestamp"),
            F.sum("batches").alias("batches"),
            F.sum("records").alias("records"),
            F.sum("bytes").alias("bytes"),
        )
    )
    joined = placed.select(*SHOWN).join(sums, [*PLACE], "left")
    return joined.fillna(0, ["batches", "records", "bytes"]).select(
        *SHOWN, *(one for one in sums.columns if one not in PLACE)
    )


def _floor_of(divisor: Column) -> Column:
    return F.floor(F.col("virtual") / divisor)


def _of_rule(with_ratio: Column, with_numbers: Column) -> Column:
    """Return a number of a virtual partition by the rule of its topic (`PartitionMap.place_of`)."""
    return F.when(F.col("ratio") > 0, with_ratio).otherwise(with_numbers).cast("int")


def unowned_of(owners: DataFrame) -> DataFrame:
    """Return each batch that no virtual partition has."""
    kept = owners.where(F.col("kind").isin(*UNOWNED))
    return kept.withColumn("last_timestamp", F.timestamp_millis("last_timestamp_ms")).drop(
        "last_timestamp_ms", "batches"
    )


def read_offsets(owners: DataFrame) -> DataFrame:
    """Return the first and last offset that the gateway gives the consumers of each virtual partition.

    What has a malformed header has no owner, but the gateway reads it as group 0.
    """
    return (
        owners.where(F.col("virtual") >= 0)
        .groupBy(*PLACE)
        .agg(F.min("first_offset").alias("first_offset"), F.max("last_offset").alias("last_offset"))
    )


def ends_before(owners: DataFrame, ends: DataFrame) -> DataFrame:
    """Return the last offset of each virtual partition before an offset of its physical one, as consumers get them.

    Args:
        owners: rows of `virtual_owners.SCHEMA`; each is of a range that does not go on beyond the offset.
        ends: topic, partition and `to`, the offset, each physical partition once.
    """
    before = owners.where(F.col("virtual") >= 0).join(F.broadcast(ends), ["topic", "partition"])
    return (
        before.where(F.col("last_offset") < F.col("to"))
        .groupBy(*PLACE)
        .agg(F.max("last_offset").alias("last_offset"))
    )


def shared_keys(keys: DataFrame) -> DataFrame:
    """Return for each set of virtual partitions of a physical one how many keys all of them have.

    Args:
        keys: rows of `key_owners.SCHEMA`.
    """
    one_each = keys.groupBy("topic", "partition", "key").agg(
        F.sort_array(F.collect_set("virtual")).alias("owners"), F.min("first_offset").alias("first_offset")
    )
    several = one_each.where(F.size("owners") > 1)
    named = several.withColumn("virtual_partitions", F.concat_ws(" ", F.col("owners").cast("array<string>")))
    return named.groupBy("topic", "partition", "virtual_partitions").agg(
        F.count(F.lit(1)).alias("keys"), F.min("first_offset").alias("first_offset")
    )
