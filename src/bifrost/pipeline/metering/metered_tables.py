"""The tables that `meter` writes and the other jobs read: which there are, and their columns.

    usage, events, snapshots, drops             the journal's valid records, each once
    rejects                                     the others, with their place and the reason
    usage_hourly, usage_daily                   sums of the usage (`sums.py`)
    storage_hourly, storage_daily               sums of what the brokers stored

The columns of a record follow from the journal's own schema. How tables are kept is `bifrost.pipeline.spark.tables`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from bifrost.pipeline.metering.sums import storage_schema, usage_schema
from bifrost.pipeline.spark.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

KEYS = ("gateway_id", "epoch", "sequence")
"""The columns that identify a record: a second record with the same values is the same one, delivered twice."""
TABLES = {"usage": "usage", "event": "events", "snapshot": "snapshots", "drop": "drops"}
"""The table of each kind of record."""


def open_tables(spark: SparkSession, directory: str, table_format: TableFormat) -> Tables:
    """Open the tables below a directory; nothing is read or created yet."""
    return Tables(spark, directory, table_schemas(), table_format)


@cache
def table_schemas() -> dict[str, StructType]:
    """Return the schema of each table, by its name."""
    records = {table: _record_schema(kind) for kind, table in TABLES.items()}
    sums = {
        f"{what}_{name}": schema(time)
        for what, schema in (("usage", usage_schema), ("storage", storage_schema))
        for name, time in (("hourly", "hour"), ("daily", "day"))
    }
    return records | {"rejects": _reject_schema()} | sums


@cache
def journal_schema() -> StructType:
    """Return the schema of a record from the package `journal`."""
    text = resources.files("bifrost.journal").joinpath("schema-v2.json").read_text(encoding="utf-8")
    return StructType.fromJson(json.loads(text))


def head_columns() -> list[StructField]:
    """Return the columns that the records of every kind have, the first ones of their tables."""
    return [
        StructField("day", StringType()),
        StructField("hour", TimestampType()),
        StructField("gateway_id", StringType()),
        StructField("epoch", LongType()),
        StructField("sequence", LongType()),
        StructField("interval_start_ms", LongType()),
        StructField("interval_end_ms", LongType()),
        StructField("tenant", StringType()),
        StructField("is_late", BooleanType()),
        # Null in rows that an earlier release of this job wrote: they are of version 1.
        StructField("schema_version", IntegerType()),
    ]


def _record_schema(kind: str) -> StructType:
    inner = journal_schema()[kind].dataType
    assert isinstance(inner, StructType)
    # No column is required in the files: a later version of the journal may leave out fields that this one has.
    return StructType([*head_columns(), *(StructField(one.name, one.dataType) for one in inner)])


def _reject_schema() -> StructType:
    return StructType(
        [
            StructField("day", StringType()),
            StructField("topic", StringType()),
            StructField("partition", IntegerType()),
            StructField("offset", LongType()),
            StructField("timestamp", TimestampType()),
            StructField("reason", StringType()),
            StructField("value", StringType()),
        ]
    )
