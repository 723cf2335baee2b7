"""The figures of a bill's pages, from small frames."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bifrost.pipeline.billing.bill_pages import MAX_RANKED
from bifrost.pipeline.billing.month_figures import BillFigures, DayCost, NamespaceCost, Restated
from bifrost.pipeline.jobs.bill_figures import by_tenant, collect_figures
from support.journal.billing import book

COST = "decimal(28,10)"
CHARGES = (
    f"tenant string, day string, sku string, namespace string, principal string, topic string, "
    f"quantity {COST}, list_cost {COST}, cost {COST}, list_price {COST}"
)
CORRECTIONS = (
    f"tenant string, day string, sku string, reason string, cost {COST}, list_cost {COST}, quantity {COST}"
)
RESTATEMENTS = (
    "tenant string, month string, revision string, day string, sku string, "
    f"was {COST}, now {COST}, reason string"
)


def charge(
    cost: int, topic: str | None = "orders", tenant: str = "acme", day: str = "2026-10-05"
) -> tuple[Any, ...]:
    amounts = (Decimal(1), Decimal(2 * cost), Decimal(cost), Decimal("0.2"))
    return (tenant, day, "requests", "root", "User:a", topic, *amounts)


def figures(
    spark: SparkSession,
    charges: list[tuple[Any, ...]],
    corrections: list[tuple[Any, ...]] = (),  # type: ignore[assignment]
    restatements: list[tuple[Any, ...]] = (),  # type: ignore[assignment]
) -> BillFigures:
    def frame(rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
        return spark.createDataFrame(list(rows), schema)

    return collect_figures(
        frame(charges, CHARGES),
        frame(corrections, CORRECTIONS),
        frame(restatements, RESTATEMENTS),
        BillFigures(book(), "2026-10", 2, [], [], []),
    )


def test_charges_are_summed_up_by_day_and_by_namespace(spark: SparkSession) -> None:
    found = figures(spark, [charge(3), charge(4, "billing"), charge(5, day="2026-10-06")])

    assert sorted(found.days, key=lambda one: one.day) == [
        DayCost("acme", "2026-10-05", "requests", Decimal(2), Decimal(14), Decimal(7), Decimal("0.2")),
        DayCost("acme", "2026-10-06", "requests", Decimal(1), Decimal(10), Decimal(5), Decimal("0.2")),
    ]
    assert found.namespaces == [NamespaceCost("acme", "root", "requests", Decimal(3), Decimal(12))]


def test_only_the_most_expensive_lines_of_each_tenant_are_collected(spark: SparkSession) -> None:
    of_acme = [charge(number, f"t{number}") for number in range(1, MAX_RANKED + 3)]

    found = figures(spark, [*of_acme, charge(1, None, "globex")])

    costs = [line.cost for line in found.lines if line.tenant == "acme"]
    assert len(costs) == MAX_RANKED
    assert min(costs) == 3
    assert [line.topic for line in found.lines if line.tenant == "globex"] == [""]


def test_restatements_are_those_of_this_revision(spark: SparkSession) -> None:
    rows = [
        ("acme", month, revision, "2026-10-05", "requests", Decimal(1), Decimal(2), "usage")
        for month, revision in (("2026-10", "2"), ("2026-10", "1"), ("2026-09", "2"))
    ]

    found = figures(spark, [], restatements=rows)

    assert found.restated == [Restated("acme", "2026-10-05", "requests", Decimal(1), Decimal(2), "usage")]


def test_corrections_are_summed_up_by_the_month_that_they_correct(spark: SparkSession) -> None:
    rows = [
        ("acme", day, "requests", "usage", Decimal(2), Decimal(3), Decimal(10))
        for day in ("2026-08-01", "2026-08-31", "2026-09-01")
    ]

    found = figures(spark, [], rows)

    sums = sorted((one.month, one.cost, one.list_cost, one.quantity) for one in found.corrected)
    assert sums == [("2026-08", 4, 6, 20), ("2026-09", 2, 3, 10)]


def test_each_tenant_has_its_own_figures_and_no_others(spark: SparkSession) -> None:
    rows = [("initech", "2026-08-01", "requests", "usage", Decimal(2), Decimal(3), Decimal(10))]

    found = by_tenant(figures(spark, [charge(3), charge(4, tenant="globex")], rows))

    assert sorted(found) == ["acme", "globex", "initech"]
    assert [one.cost for one in found["globex"].days] == [Decimal(4)]
    assert (found["globex"].corrected, found["initech"].days) == ([], [])
    assert len(found["initech"].corrected) == 1
