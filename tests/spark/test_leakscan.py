"""`leakscan` over topics in which plaintext is planted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.leakscan import LeakscanOptions, run_leakscan
from support.records.stored_batches import COMPACTED, OLD, PAYMENTS, SECRET, Planter, rows, settings_of


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def test_a_scan_finds_the_plaintext_with_its_producers_offsets_and_times(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    topics = (PAYMENTS, OLD, COMPACTED)
    options = LeakscanOptions(settings_of(kafka.bootstrap), str(tmp_path), topics)

    done = run_leakscan(spark, options, told)

    assert (done.topics, done.leaking, done.batches, done.producers) == (3, (PAYMENTS,), 2, 1)
    with_id, without = rows(tmp_path / "leaks.csv")
    assert (with_id["producer_id"], with_id["partition"], with_id["first_offset"]) == ("12", "0", "5")
    assert with_id["first_timestamp"].startswith("2025-10-11")
    assert (without["producer_id"], without["last_offset"], without["plain_records"]) == ("-1", "3", "4")
    page = (tmp_path / "index.html").read_text()
    assert PAYMENTS in page
    assert SECRET.decode() not in page


def test_a_scan_without_topics_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="name the topics"):
        run_leakscan(spark, LeakscanOptions(settings_of("127.0.0.1:1"), str(tmp_path)), told)
