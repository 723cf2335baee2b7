"""What is a leak, and what is lost without a KEK, from the facts of batches."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.stored.in_use import keks_in_use, leaks, totals_of_keks, with_shown_times
from bifrost.pipeline.stored.sealing_facts import SCHEMA, Facts
from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.records.codec.columns import ColumnRecord
from support.encryption.sealing import sealed
from support.records.record_columns import batch_of, marker_of

AT_MS = 1_700_000_000_000
TOMBSTONE, FULL = ColumnRecord(0, 0, b"k", None), ColumnRecord(0, 0, b"k", b"v")


def facts(spark: SparkSession, *batches: tuple[str, bytes]) -> DataFrame:
    found = Facts()
    for offset, (topic, data) in enumerate(batches):
        found.add(StoredBatch(topic, 0, offset, offset, AT_MS, memoryview(data)))
    rows = list(zip(*found.take().values(), strict=True))
    return spark.createDataFrame(rows + rows, SCHEMA)


def test_a_record_without_a_value_is_a_leak_where_keys_must_be_hidden_too(spark: SparkSession) -> None:
    tombstone, full = batch_of([TOMBSTONE]), batch_of([FULL])
    frame = facts(
        spark,
        ("batches", tombstone),
        ("compacted", tombstone),
        ("compacted-leak", full),
        ("sealed", sealed(full)),
        ("marker", marker_of(full)),
        ("spoilt", full[:-1] + b"x"),
    )

    found = leaks(frame, ["compacted", "compacted-leak"]).collect()

    assert sorted((row.topic, row.kind) for row in found) == [
        ("batches", "plain"),
        ("compacted-leak", "plain"),
        ("spoilt", "unreadable"),
    ]
    assert {row.batches for row in found} == {2}
    assert {row.topic for row in leaks(frame, []).collect()} >= {"compacted", "batches"}


def test_markers_need_no_kek_and_sums_are_added_up(spark: SparkSession) -> None:
    full = batch_of([FULL])
    used = keks_in_use(
        facts(spark, ("a", sealed(full)), ("b", sealed(full)), ("b", marker_of(full)), ("b", full))
    )

    (total,) = with_shown_times(totals_of_keks(used)).collect()

    assert used.count() == 3
    assert (total.kek, total.kek_version, total.topics, total.batches, total.records) == (
        "vault:transit/payments",
        3,
        2,
        4,
        4,
    )
    assert (total.first_shown, total.last_shown) == ("2023-11-14 22:13", "2023-11-14 22:13")
