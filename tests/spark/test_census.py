"""`census` over topics in which several versions of KEKs are planted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.census import run_census
from bifrost.pipeline.stored.scan_options import ScanOptions
from bifrost.pipeline.stored.stored_topics import to_ms
from support.records.stored_batches import PAYMENTS, SECRET, Planter, rows, settings_of


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def test_a_census_says_which_versions_are_needed_and_what_is_lost_without_them(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    options = ScanOptions(settings_of(kafka.bootstrap), str(tmp_path), patterns=("planted-.*",))

    done = run_census(spark, options, told)

    assert done.topics == 4
    assert done.keks == (("file:old", 4, 72), ("file:pay", 1, 3), ("file:pay", 2, 7))
    assert (done.plain, done.unreadable) == (1 + 4 + 1 + 1, 0)
    keks = {(row["kek"], row["kek_version"]): row for row in rows(tmp_path / "keks.csv")}
    assert keks["file:old", "4"]["topics"] == "2"
    assert keks["file:pay", "1"]["last_timestamp"].startswith("2025-10-09")
    used = [row for row in rows(tmp_path / "census.csv") if row["topic"] == PAYMENTS and row["kek"]]
    first, second = (row for row in used if row["partition"] == "0")
    assert (first["kek_version"], first["first_offset"], first["last_offset"], first["day"]) == (
        "1",
        "0",
        "2",
        "2025-10-09",
    )
    assert (second["kek_version"], second["first_offset"], second["last_offset"], second["day"]) == (
        "2",
        "3",
        "4",
        "2025-10-10",
    )
    page = (tmp_path / "index.html").read_text()
    assert "file:pay" in page
    assert SECRET.decode() not in page


def test_a_census_of_a_time_reads_that_time_alone(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    since, until = to_ms("2025-10-10"), to_ms("2025-10-11")
    options = ScanOptions(
        settings_of(kafka.bootstrap), str(tmp_path), topics=(PAYMENTS,), since_ms=since, until_ms=until
    )

    assert run_census(spark, options, told).keks == (("file:pay", 2, 2),)
    with pytest.raises(PipelineError, match="nothing in these topics"):
        run_census(
            spark, ScanOptions(settings_of(kafka.bootstrap), str(tmp_path), (PAYMENTS,), (), 2**42), told
        )


def test_a_topic_that_may_not_be_there_is_one_line(
    spark: SparkSession, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    settings = settings_of(kafka.bootstrap)
    with pytest.raises(PipelineError, match="planted-none: UNKNOWN_TOPIC_OR_PARTITION"):
        run_census(spark, ScanOptions(settings, str(tmp_path), ("planted-none",)), told)
    with pytest.raises(PipelineError, match="no topic has such a name"):
        run_census(spark, ScanOptions(settings, str(tmp_path), (), ("planted-none",)), told)
