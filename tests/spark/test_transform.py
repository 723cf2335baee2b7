"""`transform` as a job: two partitions, a compacted copy's configs, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.config.records.fail_mode import FailMode
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.transform import Transformed, TransformOptions, read_transform, run_transform
from bifrost.pipeline.stored.kek_texts import read_kek
from bifrost.records.codec.client_batch import read_columns
from support.records.record_columns import only_batch, plenty
from support.records.stored_batches import Planter, rows, settings_of, write_keks

UPPER = """\
import pyarrow as pa
import pyarrow.compute as pc
def transform(batch, context):
    upper = pc.ascii_upper(batch.column("value").cast(pa.string())).cast(pa.binary())
    return batch.set_column(3, batch.schema.field("value"), upper)
"""


def told(_text: str) -> None:
    """Nothing listens to a job's progress here."""


@pytest.fixture
def planter(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Planter]:
    planter = Planter(kafka.bootstrap, write_keks(tmp_path / "keks", ("pay", 1)))
    with planter.client:
        yield planter


@pytest.fixture
def options(kafka: EmbeddedKafka, planter: Planter, tmp_path: Path) -> TransformOptions:
    (tmp_path / "upper.py").write_text(UPPER)
    file = read_transform(tmp_path / "upper.py", 30_000, 256 << 20)
    keks = (read_kek(f"file:{planter.keks}#pay"),)
    where = (settings_of(kafka.bootstrap), str(tmp_path / "o"), "history", "history-2")
    return TransformOptions(*where, file, opens=keks)


def test_a_topic_is_transformed_partition_by_partition_and_again(
    spark: SparkSession, planter: Planter, options: TransformOptions, tmp_path: Path
) -> None:
    planter.create("history", 2, cleanup_policy="compact")
    for partition in (0, 1):
        data = planter.batch("history", [b"abc"] * (partition + 1), partition=partition)
        planter.plant_values("history", data, "pay", partition)

    done = run_transform(spark, options, told)

    assert done == Transformed(2, 2, 3, 0, 0, 0)
    batches = [only_batch(bytes(planter.client.fetch("history-2", number, 0).data)) for number in (0, 1)]
    assert [list(read_columns(one, plenty()).values) for one in batches] == [[b"ABC"], [b"ABC"] * 2]
    assert planter.client.configs("history-2") == planter.client.configs("history")
    assert [(row["partition"], row["records"]) for row in rows(tmp_path / "o" / "offsets.csv")] == [
        ("0", "1"),
        ("1", "2"),
    ]
    assert run_transform(spark, options, told) == done


def test_what_stands_in_the_way_is_one_line(
    spark: SparkSession, kafka: EmbeddedKafka, planter: Planter, options: TransformOptions, tmp_path: Path
) -> None:
    planter.create("blocked-history", 1)
    planter.create("blocked-history-3", 3)
    planter.plant("blocked-history", planter.batch("blocked-history", [b"\xff"]))
    named = replace(options, topic="blocked-history", to="blocked-history-2")
    for wrong, said in (
        (replace(named, to="blocked-history"), "--to is the topic itself"),
        (replace(named, fail=FailMode.QUARANTINE), "no quarantine"),
        (replace(named, to="blocked-history-3"), "has 3 partitions"),
        (replace(named, to="blocked-history-3", there=settings_of(kafka.bootstrap)), "has 3 partitions"),
        (named, "blocked-history-0 at offset 0: the transform failed: ArrowInvalid in line 4 of upper.py"),
    ):
        with pytest.raises(PipelineError, match=said) as caught:
            run_transform(spark, wrong, told)
        assert "\n" not in str(caught.value)
    with pytest.raises(PipelineError, match=r"none\.py: No such file"):
        read_transform(tmp_path / "none.py", 1, 1)
