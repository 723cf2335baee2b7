"""Frames of a census and of a scan for leaks, made of what batches say of their encryption."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline.stored.sealing_facts import (
    EMPTY,
    MARKER,
    PLAIN,
    SEALED,
    UNREADABLE,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLACE = ("topic", "partition")
KEK = ("kek", "kek_version")


def _sums() -> list[Column]:
    return [
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
        F.timestamp_millis(F.min("first_timestamp_ms")).alias("first_timestamp"),
        F.timestamp_millis(F.max("last_timestamp_ms")).alias("last_timestamp"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        F.sum("bytes").alias("bytes"),
    ]


def keks_in_use(facts: DataFrame) -> DataFrame:
    """Return by topic, partition, kind, KEK, version and day what is sealed, and what is not (an empty KEK)."""
    kept = facts.where(~F.col("kind").isin(MARKER, EMPTY))
    return kept.groupBy(*PLACE, "kind", *KEK, "day").agg(*_sums())


def totals_of_keks(used: DataFrame) -> DataFrame:
    """Return for each version of a KEK what cannot be read any more without it."""
    sealed = used.where(F.col("kind").isin(*SEALED))
    return sealed.groupBy(*KEK).agg(
        F.count_distinct("topic").alias("topics"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        F.sum("bytes").alias("bytes"),
        F.min("first_timestamp").alias("first_timestamp"),
        F.max("last_timestamp").alias("last_timestamp"),
    )


def leaks(facts: DataFrame, compacted: Collection[str]) -> DataFrame:
    """Return what is not sealed, or cannot be read, by producer.

    Args:
        facts: of topics that must be encrypted.
        compacted: topics in which keys stay readable, so that a record without a value hides nothing.
    """
    is_compacted = F.col("topic").isin(*compacted) if compacted else F.lit(False)
    is_leak = (
        (F.col("plain_records") > 0)
        | ((F.col("kind") == PLAIN) & ~is_compacted)
        | (F.col("kind") == UNREADABLE)
    )
    grouped = facts.where(is_leak).groupBy(*PLACE, "kind", "producer_id", "producer_epoch", "reason")
    return grouped.agg(*_sums(), F.sum("plain_records").alias("plain_records"))


def with_shown_times(frame: DataFrame) -> DataFrame:
    """Return a frame with its times as texts for people, in UTC: `first_shown` and `last_shown`."""
    shown = {
        f"{name}_shown": F.date_format(f"{name}_timestamp", "yyyy-MM-dd HH:mm") for name in ("first", "last")
    }
    return frame.withColumns(shown)
