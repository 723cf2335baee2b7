"""Who may have produced records: the principals that the journal has for their topic at their time. Pure.

A stored batch names a producer ID and no principal. The journal has, for each topic and interval, the principals that
produced; so these are the candidates of a row. A producer ID is of one connection, hence of one principal: of its
candidates only those stay that all its rows have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline.stored.validating.schema_breaks import GROUP_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELAY_MS = 120_000
"""How long after its timestamp a record may come to the gateway: `delivery.timeout.ms` of producers, by default."""
_PRODUCER = ("producer_id", "producer_epoch")


def with_principals(broken: DataFrame, usage: DataFrame) -> DataFrame:
    """Return rows with a column `principals`, empty where the journal has none.

    Args:
        broken: rows of `GROUP_COLUMNS`, each once, with `first_timestamp_ms` and `last_timestamp_ms`.
        usage: the journal's usage.
    """
    produced = usage.where((F.col("scope") == "topic") & (F.col("api") == "Produce"))
    # A folded row has no topic, so its principal may have produced to any topic of the tenant.
    told = produced.select(
        F.col("tenant").alias("u_tenant"),
        F.col("principal").alias("u_principal"),
        F.col("physical_topic").alias("u_topic"),
        F.coalesce("is_folded", F.lit(False)).alias("u_folded"),
        F.col("interval_start_ms").alias("u_start"),
        F.col("interval_end_ms").alias("u_end"),
    )
    is_there = (F.col("u_topic") == F.col("topic")) | (
        F.col("u_folded") & (F.col("u_tenant") == F.col("tenant"))
    )
    is_then = (F.col("u_end") > F.col("first_timestamp_ms")) & (
        F.col("u_start") <= F.col("last_timestamp_ms") + DELAY_MS
    )
    pairs = broken.join(told, is_there & is_then).select(*GROUP_COLUMNS, "u_principal").distinct()
    named = pairs.where("producer_id >= 0")
    rows = named.select(*GROUP_COLUMNS).distinct().groupBy(*_PRODUCER).agg(F.count(F.lit(1)).alias("rows"))
    seen = named.groupBy(*_PRODUCER, "u_principal").agg(F.count(F.lit(1)).alias("seen"))
    common = seen.join(rows, [*_PRODUCER]).where("seen = rows").select(*_PRODUCER, "u_principal")
    sure = named.join(common, [*_PRODUCER, "u_principal"], "left_semi").select(*GROUP_COLUMNS, "u_principal")
    kept = pairs.where("producer_id < 0").unionByName(sure)
    found = kept.groupBy(*GROUP_COLUMNS).agg(
        F.concat_ws(", ", F.sort_array(F.collect_set("u_principal"))).alias("principals")
    )
    return broken.join(found, [*GROUP_COLUMNS], "left").fillna("", ["principals"])
