"""Stored batches as frames."""

from __future__ import annotations

from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.stored.stored_topics import plan_ranges, stored_batches, to_ms
from support.encryption.sealing import with_header
from support.records.stored_batches import BEGIN_MS, PLAIN, Planter, settings_of


def test_the_batches_themselves_come_as_rows(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka
) -> None:
    data = planted.batch(PLAIN, [b"x"])
    settings = settings_of(kafka.bootstrap)

    (row,) = stored_batches(spark, settings, plan_ranges(planted.client, [PLAIN])).collect()

    assert (row.topic, row.partition, row.offset, row.last_offset) == (PLAIN, 0, 0, 0)
    assert int(row.timestamp.timestamp() * 1000) == BEGIN_MS
    assert with_header(bytes(row.batch), base_offset=0, leader_epoch=-1) == data


def test_times_are_utc_unless_they_name_their_zone() -> None:
    assert to_ms("2025-10-09T08:53:20") == BEGIN_MS
    assert to_ms("2025-10-09T10:53:20+02:00") == BEGIN_MS
