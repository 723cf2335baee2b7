"""Tables that change wholly or not at all, in both formats."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructType

from bifrost.pipeline.errors import StoreError
from bifrost.pipeline.spark.spark_session import TableFormat
from bifrost.pipeline.spark.tables import COMMITS, KEPT_COMMITS, MAX_PIECES, Tables

SCHEMA = StructType().add("day", StringType()).add("n", LongType())
SCHEMAS = {"t": SCHEMA, "u": SCHEMA}
Rows = Callable[..., DataFrame]


@pytest.fixture
def rows(spark: SparkSession) -> Rows:
    return lambda *pairs: spark.createDataFrame(pairs, SCHEMA).coalesce(1)


@pytest.fixture(params=["parquet", "delta"])
def tables(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Tables:
    return Tables(spark, str(tmp_path / "tables"), SCHEMAS, request.param)


def content(frame: DataFrame) -> list[tuple[str, int]]:
    return sorted((row.day, row.n) for row in frame.collect())


def test_tables_that_are_not_there_are_empty(tables: Tables) -> None:
    assert content(tables.read("t")) == []
    assert tables.head().version == 0


def test_rows_are_added_and_days_replaced(tables: Tables, rows: Rows) -> None:
    first = tables.begin()
    first.append("t", rows(("2026-01-01", 1), ("2026-01-02", 2)))
    first.commit(writer="w", batch=0, facts={"seen": 1})
    second = tables.begin()
    second.append("t", rows(("2026-01-02", 3)))
    second.replace("t", rows(("2026-01-01", 9)), ["2026-01-01"])
    second.commit(writer="w", batch=1, facts={"seen": 2})

    assert content(tables.read("t")) == [("2026-01-01", 9), ("2026-01-02", 2), ("2026-01-02", 3)]
    assert content(tables.read("t", ["2026-01-02", "2027-01-01"])) == [("2026-01-02", 2), ("2026-01-02", 3)]
    assert (tables.head().writers, tables.head().facts) == ({"w": 1}, {"seen": 2})


def test_a_column_that_came_later_is_null_in_what_was_there_before(
    tables: Tables, rows: Rows, spark: SparkSession
) -> None:
    before = tables.begin()
    before.append("t", rows(("2026-01-01", 1), ("2026-01-02", 2)))
    before.commit(writer="w", batch=0, facts={})
    wider = StructType([*SCHEMA.fields]).add("new", StringType())
    later = Tables(spark, tables.files.root, SCHEMAS | {"t": wider}, tables.table_format)

    assert [row.new for row in later.read("t").collect()] == [None, None]
    change = later.begin()
    change.append("t", spark.createDataFrame([("2026-01-01", 3, "x")], wider).coalesce(1))
    change.replace("t", spark.createDataFrame([("2026-01-02", 4, "y")], wider).coalesce(1), ["2026-01-02"])
    change.commit(writer="w", batch=1, facts={})

    found = {(row.day, row.n, row.new) for row in later.read("t").collect()}
    assert found == {("2026-01-01", 1, None), ("2026-01-01", 3, "x"), ("2026-01-02", 4, "y")}


def test_a_day_can_become_empty(tables: Tables, rows: Rows) -> None:
    change = tables.begin()
    change.append("t", rows(("2026-01-01", 1), ("2026-01-02", 2)))
    change.replace("t", rows(), ["2026-01-01"])
    change.commit(writer="w", batch=0, facts={})

    assert content(tables.read("t")) == [("2026-01-02", 2)]


def test_a_change_sees_itself(tables: Tables, rows: Rows) -> None:
    change = tables.begin()
    change.append("t", rows(("2026-01-01", 1)))

    assert content(change.read("t", ["2026-01-01"])) == [("2026-01-01", 1)]


def test_no_reader_sees_a_change_that_was_not_committed(
    spark: SparkSession, tmp_path: Path, rows: Rows
) -> None:
    tables = Tables(spark, str(tmp_path), SCHEMAS, "parquet")
    change = tables.begin()
    change.append("t", rows(("2026-01-01", 1)))
    change.append("u", rows(("2026-01-01", 1)))

    assert content(tables.read("t")) == []

    change.commit(writer="w", batch=0, facts={})
    assert (content(tables.read("t")), content(tables.read("u"))) == ([("2026-01-01", 1)],) * 2


def test_of_two_writers_one_is_refused(tables: Tables, rows: Rows) -> None:
    mine, theirs = tables.begin(), tables.begin()
    mine.commit(writer="a", batch=0, facts={})

    with pytest.raises(StoreError, match=r"another job writes the tables in .*: stop one of them"):
        theirs.commit(writer="b", batch=0, facts={})
    assert tables.head().writers == {"a": 0}


def test_a_day_of_many_pieces_becomes_one(spark: SparkSession, tmp_path: Path, rows: Rows) -> None:
    tables = Tables(spark, str(tmp_path), SCHEMAS, "parquet")
    change = tables.begin()
    for number in range(MAX_PIECES):
        change.append("t", rows(("2026-01-01", number)))
    change.commit(writer="w", batch=0, facts={})

    assert len(tables.head().tables["t"]["2026-01-01"]) == 1
    assert content(tables.read("t")) == [("2026-01-01", number) for number in range(MAX_PIECES)]


def test_what_is_not_valid_any_more_is_deleted_hours_later(
    spark: SparkSession, tmp_path: Path, rows: Rows
) -> None:
    tables = Tables(spark, str(tmp_path), SCHEMAS, "parquet")
    for number in range(KEPT_COMMITS + 2):
        change = tables.begin()
        if number < 2:
            change.replace("t", rows(("2026-01-01", number)), ["2026-01-01"])
        change.commit(writer="w", batch=number, facts={})

    now_ms = int(time.time() * 1000)
    assert tables.sweep(now_ms) == 0
    assert tables.sweep(now_ms + 7 * 3_600_000) == 1
    assert content(tables.read("t")) == [("2026-01-01", 1)]
    assert len(tables.files.names(COMMITS)) == KEPT_COMMITS


@pytest.mark.parametrize(("written", "read"), [("parquet", "delta"), ("delta", "parquet")])
def test_tables_of_the_other_format_say_so(
    written: TableFormat, read: TableFormat, spark: SparkSession, tmp_path: Path
) -> None:
    Tables(spark, str(tmp_path), SCHEMAS, written).begin().commit(writer="w", batch=0, facts={})

    with pytest.raises(StoreError, match=f"say --table-format {written}"):
        Tables(spark, str(tmp_path), SCHEMAS, read).head()


def test_a_commit_that_cannot_be_read_is_named(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables(spark, str(tmp_path), SCHEMAS, "parquet")
    tables.files.create(f"{COMMITS}/00000000000000000001.json", "{")

    with pytest.raises(StoreError, match=r"00000000000000000001\.json is no commit"):
        tables.head()
