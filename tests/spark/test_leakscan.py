"""`leakscan` over topics in which plaintext is planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.leakscan import run_leakscan
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.scan_options import ScanOptions
from support.records.configured_tenants import tenant_of
from support.records.stored_batches import COMPACTED, OLD, PAYMENTS, PLAIN, SECRET, Planter, rows, settings_of


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def test_a_scan_finds_the_plaintext_with_its_producers_offsets_and_times(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    topics = (PAYMENTS, OLD, COMPACTED)
    options = ScanOptions(settings_of(kafka.bootstrap), str(tmp_path), topics)

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
        run_leakscan(spark, ScanOptions(settings_of("127.0.0.1:1"), str(tmp_path)), told)


def test_a_scan_takes_the_topics_that_a_configuration_encrypts(
    spark: SparkSession, planted: Planter, kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    sealing = {"name": "EnvelopeEncryption", "config": {"kms_provider": "KeyFile", "key_id": "pay"}}
    sealing["config"]["key_file"] = str(planted.keks)
    tenant = tenant_of([sealing | {"rules": [{"topics": ["payments", "old"]}]}], prefix="planted-")
    options = ScanOptions(settings_of(kafka.bootstrap), str(tmp_path))

    done = run_leakscan(spark, options, told, ConfiguredTenants([tenant]))
    more = run_leakscan(spark, replace(options, topics=(PLAIN,)), told, ConfiguredTenants([tenant]))

    assert (done.topics, done.leaking) == (2, (PAYMENTS,))
    assert (more.topics, more.leaking) == (3, (PAYMENTS, PLAIN))
    other = tenant_of([sealing], prefix="nowhere-")
    with pytest.raises(PipelineError, match="no EnvelopeEncryption of --config"):
        run_leakscan(spark, options, told, ConfiguredTenants([other]))
