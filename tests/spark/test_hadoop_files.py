"""Files through Spark's JVM, here in a local directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.pipeline.spark.hadoop_files import FileIsThereError, HadoopFiles


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> HadoopFiles:
    return HadoopFiles(spark, str(tmp_path / "tables"))


def test_a_directory_need_not_exist(files: HadoopFiles) -> None:
    assert files.names("") == []
    assert not files.exists("_commits/0")
    assert files.root.startswith("file:")


def test_a_file_is_read_as_it_was_created(files: HadoopFiles, tmp_path: Path) -> None:
    files.create("commits/7", "é\n")

    assert files.read("commits/7") == "é\n"
    assert (tmp_path / "tables/commits/7").read_bytes() == "é\n".encode()
    assert files.path("commits/7") == f"{files.root}/commits/7"


def test_of_two_writers_that_create_a_file_one_is_refused(files: HadoopFiles) -> None:
    files.create("commits/7", "one")

    with pytest.raises(FileIsThereError, match="commits/7"):
        files.create("commits/7", "other")

    assert files.read("commits/7") == "one"


def test_a_file_can_be_written_again(files: HadoopFiles) -> None:
    files.write("page.html", "one")
    files.write("page.html", "other")

    assert files.read("page.html") == "other"


def test_hidden_files_are_not_listed(files: HadoopFiles) -> None:
    for name in ("b", "a", "_c", ".d"):
        files.create(f"folder/{name}", "")

    assert files.names("folder") == ["a", "b"]
    assert [changed_ms > 1_600_000_000_000 for _, changed_ms in files.listing("folder")] == [True, True]


def test_a_directory_is_deleted_with_what_is_in_it(files: HadoopFiles) -> None:
    files.create("folder/inner/a", "")

    files.delete("folder")

    assert not files.exists("folder")
    assert files.exists("")


def test_files_of_a_folder_are_joined_in_the_order_of_their_names(files: HadoopFiles) -> None:
    for name, text in {
        "parts/b": "2\n",
        "parts/a": "1\n",
        "parts/_SUCCESS": "",
        "all.csv/old": "old",
    }.items():
        files.create(name, text)

    files.join("parts", "all.csv", "n\n")

    assert files.read("all.csv") == "n\n1\n2\n"
    assert not files.exists("parts")
