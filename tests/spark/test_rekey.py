"""`rekey`: a topic and a compacted one copied under a new KEK, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.census import run_census
from bifrost.pipeline.jobs.rekey import Rekeyed, RekeyOptions, run_rekey
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.pipeline.stored.scan_options import ScanOptions
from support.records.stored_batches import SECRET, Planter, rows, settings_of, write_keks


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("old", 1), ("new", 7)))
    with planter.client:
        yield planter


def options_of(planter: Planter, kafka: EmbeddedKafka, out: Path, topic: str) -> RekeyOptions:
    old, new = (read_kek(f"file:{planter.keks}#{name}") for name in ("old", "new"))
    return RekeyOptions(settings_of(kafka.bootstrap), str(out), topic, f"{topic}-2", (old,), new)


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


def test_a_topic_is_copied_whole_under_the_new_kek(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed", 3, retention_ms="3153600000000", message_timestamp_type="CreateTime")
    for partition in (0, 2):
        for count in (1, 70):
            data = planter.batch("rekeyed", [SECRET] * count, partition=partition, producer_id=9)
            planter.plant("rekeyed", data, kek="old", partition=partition)
    options = options_of(planter, kafka, tmp_path, "rekeyed")

    done = run_rekey(spark, options, told)

    assert done == Rekeyed(partitions=3, batches=4, records=142, without_producer=0, moved=0, open_offsets=0)
    assert [(row["partition"], row["records"]) for row in rows(tmp_path / "offsets.csv")] == [
        ("0", "71"),
        ("2", "71"),
    ]
    assert planter.client.configs("rekeyed-2") == planter.client.configs("rekeyed")
    used = run_census(spark, ScanOptions(options.settings, str(tmp_path / "c"), ("rekeyed-2",)), told)
    assert used.keks == (("file:new", 7, 142),)
    assert used.plain == 0
    with pytest.raises(PipelineError, match="given no KEK of 'file:old'"):
        run_rekey(
            spark,
            RekeyOptions(options.settings, str(tmp_path), "rekeyed", "rekeyed-3", (), options.seals),
            told,
        )


def test_a_compacted_topic_keeps_its_keys_and_tombstones(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed-table", 1, cleanup_policy="compact")
    data = planter.batch("rekeyed-table", [SECRET, None, SECRET], producer_id=4)
    planter.plant_values("rekeyed-table", data, "old")
    planter.plant("rekeyed-table", planter.batch("rekeyed-table", [None]))

    done = run_rekey(spark, options_of(planter, kafka, tmp_path, "rekeyed-table"), told)

    assert done == Rekeyed(partitions=1, batches=2, records=4, without_producer=1, moved=0, open_offsets=0)
    assert planter.client.configs("rekeyed-table-2")["cleanup.policy"] == "compact"


def test_what_stands_in_the_way_is_one_line(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, tmp_path: Path
) -> None:
    planter.create("rekeyed-times", 1, message_timestamp_type="LogAppendTime")
    planter.create("rekeyed-parts", 1)
    planter.create("rekeyed-parts-2", 2)
    planter.create("rekeyed-plain", 1)
    planter.plant("rekeyed-plain", planter.batch("rekeyed-plain", [SECRET]))
    for topic, said in (
        ("rekeyed-times", "append times"),
        ("rekeyed-parts", "rekeyed-parts-2 has 2 partitions, rekeyed-parts has 1"),
        ("rekeyed-plain", "rekeyed-plain-0 at offset 0: the batch is not sealed; see --accept-plaintext"),
    ):
        with pytest.raises(PipelineError, match=said) as caught:
            run_rekey(spark, options_of(planter, kafka, tmp_path, topic), told)
        assert "\n" not in str(caught.value)
