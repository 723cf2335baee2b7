"""Collects the figures that `bill_pages.py` and `invoices.py` need from a bill's frames; Spark sums them up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F

from bifrost.pipeline.billing.bill_pages import MAX_RANKED
from bifrost.pipeline.billing.month_figures import (
    BillFigures,
    Corrected,
    DayCost,
    Line,
    NamespaceCost,
    Restated,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def collect_figures(
    charges: DataFrame, corrections: DataFrame, restatements: DataFrame, bill: BillFigures
) -> BillFigures:
    """Return `bill` with the figures of its pages.

    Args:
        charges: of the month.
        corrections: that its bill carries.
        restatements: of all bills.
        bill: the month, its revision and the price book, without figures.
    """
    sums = {name: F.sum(name).alias(name) for name in ("quantity", "list_cost", "cost")}
    days = charges.groupBy("tenant", "day", "sku").agg(
        *sums.values(), F.max("list_price").alias("list_price")
    )
    namespaces = charges.groupBy("tenant", "namespace", "sku").agg(sums["quantity"], sums["cost"])
    rank = F.row_number().over(
        Window.partitionBy("tenant").orderBy(F.desc("cost"), "namespace", "principal", "topic")
    )
    lines = charges.groupBy("tenant", "namespace", "principal", "topic").agg(sums["cost"])
    lines = lines.withColumn("rank", rank).where(F.col("rank") <= MAX_RANKED).drop("rank")
    corrected = corrections.withColumn("month", F.substring("day", 1, 7))
    corrected = corrected.groupBy("tenant", "month", "sku", "reason").agg(*sums.values())
    restated = restatements.where((F.col("month") == bill.month) & (F.col("revision") == str(bill.revision)))
    restated = restated.select("tenant", "day", "sku", "was", "now", "reason")
    return replace(
        bill,
        days=[DayCost(**row.asDict()) for row in days.collect()],
        namespaces=[NamespaceCost(**row.asDict()) for row in namespaces.collect()],
        lines=[Line(**_texts(row.asDict())) for row in lines.collect()],
        restated=[Restated(**row.asDict()) for row in restated.collect()],
        corrected=[Corrected(**row.asDict()) for row in corrected.collect()],
    )


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    return {name: "" if value is None else value for name, value in row.items()}


def by_tenant(figures: BillFigures) -> dict[str, BillFigures]:
    """Return the figures of each tenant, so that no page searches those of all tenants."""
    lists = ("days", "namespaces", "lines", "restated", "corrected")
    found: dict[str, dict[str, Any]] = {}
    for name in lists:
        for one in getattr(figures, name):
            found.setdefault(one.tenant, {}).setdefault(name, []).append(one)
    empty: dict[str, Any] = {name: [] for name in lists}
    return {tenant: replace(figures, **(empty | theirs)) for tenant, theirs in found.items()}
