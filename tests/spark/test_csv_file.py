"""A frame as one CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

from pyspark.sql import SparkSession

from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles


def test_a_frame_of_several_parts_is_one_file(spark: SparkSession, tmp_path: Path) -> None:
    texts = ['a,"b"', "two\nlines", None]
    frame = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "n INT, text STRING")
    (tmp_path / "out.csv").mkdir()

    write_csv(frame.repartition(3), HadoopFiles(spark, str(tmp_path)), "out.csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["n", "text"]
    assert sorted(rows) == [["0", 'a,"b"'], ["1", "two\nlines"], ["2", ""]]
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["out.csv"]


def test_no_row_is_a_file_with_the_names_alone(spark: SparkSession, tmp_path: Path) -> None:
    write_csv(spark.createDataFrame([], "n INT, text STRING"), HadoopFiles(spark, str(tmp_path)), "out.csv")

    assert (tmp_path / "out.csv").read_text() == "n,text\n"
