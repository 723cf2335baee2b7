"""What usage costs, and what a bill says otherwise than the one before it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.billing.price_book import read_price_book
from bifrost.pipeline.billing.rating import (
    GIB,
    HOUR_MS,
    MONTH_HOURS,
    changes,
    charge_schema,
    discount_frame,
    measure,
    price_frame,
    rate,
)
from bifrost.pipeline.metering.sums import storage_schema, usage_schema

BOOK = read_price_book(
    """currency: EUR
provider: Us
versions:
  - {version: "1", valid_from: 2026-10-01, prices: {produced_bytes: 0.10, requests: 0.20, stored_bytes: 0.30}}
  - {version: "2", valid_from: 2026-10-03, prices: {produced_bytes: 0.05, requests: 0.20, stored_bytes: 0.30}}
discounts: [{tenant: globex, percent: 50}]
""",
    "book",
)


def usage(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    schema = usage_schema("day")
    empty = {
        name: 0 if kind == "bigint" else None
        for name, kind in ((one.name, one.dataType.simpleString()) for one in schema)
    }
    named = {
        "day": "2026-10-01",
        "upstream": "main",
        "tenant": "acme",
        "namespace": "acme",
        "principal": "User:a",
    }
    return spark.createDataFrame([tuple((empty | named | row).values()) for row in rows], schema)


def storage(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    empty = {one.name: None for one in storage_schema("day")} | {"partition_ms": 0, "unknown_ms": 0}
    named = {"day": "2026-10-01", "upstream": "main", "tenant": "acme", "topic": "t", "physical_topic": "p"}
    return spark.createDataFrame(
        [tuple((empty | named | row).values()) for row in rows], storage_schema("day")
    )


def namespaces(spark: SparkSession, *rows: tuple[str, str, str, str]) -> DataFrame:
    return spark.createDataFrame(
        rows, "upstream STRING, tenant STRING, physical_topic STRING, namespace STRING"
    )


def rated(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    measured = measure(usage(spark, *rows), storage(spark), namespaces(spark))
    return rate(measured, price_frame(spark, BOOK), discount_frame(spark, BOOK))


def test_quantities_are_in_the_units_that_are_sold(spark: SparkSession) -> None:
    found = measure(
        usage(
            spark,
            {"produced_bytes": GIB, "requests": 500_000, "connection_ms": 2 * HOUR_MS},
            {"produced_bytes": 1},
        ),
        storage(spark, {"byte_ms": Decimal(GIB * MONTH_HOURS * HOUR_MS), "partition_ms": 3 * HOUR_MS}),
        namespaces(spark, ("main", "acme", "p", "acme:dev")),
    )

    rows = {(row.sku, row.namespace): row.quantity for row in found.collect()}
    assert rows == {
        ("produced_bytes", "acme"): Decimal("1.000000000931"),
        ("requests", "acme"): Decimal("0.5"),
        ("connection_hours", "acme"): 2,
        ("stored_bytes", "acme:dev"): 1,
        ("partition_hours", "acme:dev"): 3,
    }


def test_each_day_has_the_price_that_was_in_force(spark: SparkSession) -> None:
    days = ["2026-10-02", "2026-10-03", "2026-09-30"]

    charges = rated(spark, *({"day": day, "produced_bytes": 2 * GIB} for day in days))

    assert charges.schema.simpleString() == charge_schema().simpleString()
    found = {row.day: (row.price_version, row.cost) for row in charges.collect()}
    assert found == {
        "2026-10-02": ("1", Decimal("0.2")),
        "2026-10-03": ("2", Decimal("0.1")),
        "2026-09-30": (None, 0),
    }


def test_a_discount_is_off_the_contracted_price_not_off_the_list(spark: SparkSession) -> None:
    (row,) = rated(spark, {"tenant": "globex", "requests": 1_000_000}).collect()

    assert (row.list_cost, row.cost, row.price) == (Decimal("0.2"), Decimal("0.1"), Decimal("0.1"))


def test_what_changed_says_why(spark: SparkSession) -> None:
    before = rated(
        spark, {"produced_bytes": GIB}, {"requests": 10**6}, {"day": "2026-10-02", "requests": 10**6}
    )
    after = rated(spark, {"produced_bytes": 2 * GIB}, {"requests": 10**6}).unionByName(
        before.where("day = '2026-10-02'").selectExpr(
            *(name for name in before.columns if name != "cost"), "CAST(0.5 AS DECIMAL(28,10)) AS cost"
        )
    )

    found = {(row.day, row.sku): (row.was, row.now, row.reason) for row in changes(before, after).collect()}

    assert found == {
        ("2026-10-01", "produced_bytes"): (Decimal("0.1"), Decimal("0.2"), "usage"),
        ("2026-10-02", "requests"): (Decimal("0.2"), Decimal("0.5"), "price"),
    }
    assert changes(before, before).count() == 0
