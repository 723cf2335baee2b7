"""Frames of `fsck`, from rows that executors make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.pipeline.stored.virtual import key_owners, virtual_owners
from bifrost.pipeline.stored.virtual.virtual_index import index_of, read_offsets, shared_keys, unowned_of
from bifrost.pipeline.stored.virtual.virtual_owners import BEYOND, CLAIM, MALFORMED, OWNED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPICS = "tenant STRING, topic STRING, name STRING, partitions INT, physical INT, ratio INT"


def owners(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """Rows of kind, virtual partition, first offset, last offset and time, of two records each."""
    full = [
        ("t", max(virtual, 0) % 2, kind, virtual, 0, 7, 0, first, last, at_ms, 1, 2, 70, "why")
        for kind, virtual, first, last, at_ms in rows
    ]
    return spark.createDataFrame(full, virtual_owners.SCHEMA)


def test_the_index_has_each_virtual_partition_and_what_several_tasks_found(spark: SparkSession) -> None:
    found = owners(
        spark,
        (OWNED, 0, 5, 9, 1_000),
        (OWNED, 0, 1, 4, 3_000),
        (OWNED, 2, 0, 0, -1),
        (CLAIM, -1, 10, 10, 0),
        (MALFORMED, 1, 11, 12, 0),
        (BEYOND, -1, 13, 14, 0),
    )
    topics = spark.createDataFrame(
        [("acme", "t", "orders", 3, 2, 0), ("acme", "u", "empty", 1, 1, 0)], TOPICS
    )

    index = {(row.topic, row.virtual): row for row in index_of(found, topics).collect()}

    assert sorted(index) == [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
    whole = index["t", 0]
    assert (whole.first_offset, whole.last_offset, whole.batches, whole.records, whole.bytes) == (
        1,
        9,
        2,
        4,
        140,
    )
    assert whole.last_timestamp.second == 3
    assert (index["t", 2].partition, index["t", 2].partition_group, index["t", 2].name) == (0, 1, "orders")
    assert (index["t", 1].first_offset, index["t", 1].records) == (None, 0)
    offsets = {row.virtual: (row.first_offset, row.last_offset) for row in read_offsets(found).collect()}
    assert offsets == {0: (1, 9), 1: (11, 12), 2: (0, 0)}
    lost = unowned_of(found).orderBy("first_offset").collect()
    assert [(row.kind, row.first_offset, row.reason) for row in lost] == [
        (MALFORMED, 11, "why"),
        (BEYOND, 13, "why"),
    ]


def test_keys_count_once_for_each_set_of_virtual_partitions(spark: SparkSession) -> None:
    rows = [
        ("t", 0, key, virtual, offset)
        for key, virtual, offset in [
            (b"a", 0, 1),
            (b"a", 2, 5),
            (b"a", 0, 9),
            (b"b", 2, 0),
            (b"c", 4, 2),
            (b"c", 0, 3),
            (b"d", 0, 7),
            (b"d", 4, 8),
        ]
    ]
    other = ("t", 1, b"b", 1, 0)

    found = shared_keys(spark.createDataFrame([*rows, other], key_owners.SCHEMA)).orderBy(
        "virtual_partitions"
    )

    assert [tuple(row) for row in found.collect()] == [("t", 0, "0 2", 1, 1), ("t", 0, "0 4", 2, 2)]


def test_of_a_ratio_virtual_partitions_that_follow_each_other_share_a_physical_one(
    spark: SparkSession,
) -> None:
    topics = spark.createDataFrame([("acme", "t", "orders", 6, 2, 3)], TOPICS)

    index = index_of(owners(spark, (OWNED, 4, 5, 9, 1_000)), topics)

    places = sorted((row.virtual, row.partition, row.partition_group) for row in index.collect())
    assert places == [(one, one // 3, one % 3) for one in range(6)]
