"""What an issued bill would say otherwise today, charge by charge."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.billing.corrections import correction_schema, differences, lost_days
from bifrost.pipeline.billing.rating import charge_schema
from support.physical_names import physical_name


def charges(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    named = {
        "day": "2026-10-05",
        "upstream": "main",
        "tenant": "acme",
        "namespace": "acme",
        "principal": None,
        "topic": "orders",
        "physical_topic": physical_name("acme", "orders"),
        "sku": "produced_bytes",
        "quantity": Decimal(2),
        "price_version": "1",
        "list_price": Decimal("0.1"),
        "price": Decimal("0.1"),
        "list_cost": Decimal("0.2"),
        "cost": Decimal("0.2"),
    }
    return spark.createDataFrame([tuple((named | row).values()) for row in rows], charge_schema())


def amounts(frame: DataFrame) -> list[tuple[Any, ...]]:
    rows = frame.orderBy("sku", "topic").collect()
    return [(row.sku, row.quantity, row.list_cost, row.cost, row.price, row.reason) for row in rows]


def test_more_of_a_thing_is_the_difference_at_today_s_price(spark: SparkSession) -> None:
    more = {"quantity": Decimal(3), "cost": Decimal("0.3"), "list_cost": Decimal("0.3")}

    found = differences(charges(spark, {}), charges(spark, more), "2026-11")

    assert found.schema.fieldNames() == correction_schema().fieldNames()
    tenth = Decimal("0.1")
    assert amounts(found) == [("produced_bytes", 1, tenth, tenth, tenth, "usage")]
    assert [row.billed_in for row in found.collect()] == ["2026-11"]


def test_another_price_is_a_difference_without_a_quantity(spark: SparkSession) -> None:
    cheaper = {"price": Decimal("0.05"), "cost": Decimal("0.1"), "price_version": "2"}

    found = differences(charges(spark, {}), charges(spark, cheaper), "2026-11")

    assert amounts(found) == [("produced_bytes", 0, 0, Decimal("-0.1"), Decimal("0.05"), "price")]
    assert [row.price_version for row in found.collect()] == ["2"]


def test_what_came_and_what_went_are_corrections_of_their_own(spark: SparkSession) -> None:
    found = differences(charges(spark, {}), charges(spark, {"topic": "sales"}), "2026-11")

    fifth, tenth = Decimal("0.2"), Decimal("0.1")
    assert amounts(found) == [
        ("produced_bytes", -2, -fifth, -fifth, tenth, "usage"),
        ("produced_bytes", 2, fifth, fifth, tenth, "usage"),
    ]


def test_what_was_corrected_is_not_corrected_again(spark: SparkSession) -> None:
    once = charges(spark, {}, {"quantity": Decimal(1), "cost": Decimal("0.1"), "list_cost": Decimal("0.1")})
    now = charges(spark, {"quantity": Decimal(3), "cost": Decimal("0.3"), "list_cost": Decimal("0.3")})

    assert differences(once, now, "2026-11").count() == 0
    assert differences(now, now, "2026-11").count() == 0


def test_a_day_of_which_nothing_is_known_any_more_is_lost(spark: SparkSession) -> None:
    invoiced = charges(
        spark,
        {},
        {"day": "2026-10-06"},
        {"day": "2026-10-07"},
        {"day": "2026-10-07", "quantity": Decimal(-2)},
    )

    assert lost_days(invoiced, charges(spark, {})) == ["2026-10-06"]
    assert lost_days(invoiced, invoiced) == []
