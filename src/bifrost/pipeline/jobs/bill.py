"""`bill`: a month of usage, rated by the price book; in FOCUS's columns, as pages, and as suggestions for quotas.

    OUT/_tables/                 the charges of each month, and what was restated
    OUT/2026-10/focus.parquet/   FOCUS, for tools;  focus.csv/ the same as text
    OUT/2026-10/index.html       the platform;  tenants/<tenant>.html each tenant
    OUT/2026-10/quotas.json      what would keep the budgets that are exceeded

A month can be billed as often as one likes: if late records or a changed price make another bill of it, that is its
next revision, and what is otherwise than before is listed; if nothing changed, the revision stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from bifrost.pipeline import rating
from bifrost.pipeline.bill_pages import (
    MAX_RANKED,
    BillFigures,
    DayCost,
    Line,
    NamespaceCost,
    Restated,
    platform_page,
    quota_lines,
    tenant_page,
    tenants_of,
)
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.focus import to_focus
from bifrost.pipeline.hadoop_files import HadoopFiles
from bifrost.pipeline.jobs.meter import open_tables
from bifrost.pipeline.metering import topic_namespaces
from bifrost.pipeline.months import days_of
from bifrost.pipeline.price_book import PriceBook
from bifrost.pipeline.report import render
from bifrost.pipeline.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.spark_session import TableFormat

WRITER = "bill"
MAX_PAGES = 2000
"""Tenants with a page of their own, the largest ones; all are in the FOCUS files."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What came of it."""

    month: str
    revision: int
    total: Decimal
    tenants: int
    restated: int
    """Lines that are otherwise than in the revision before."""


def bill_schemas() -> dict[str, StructType]:
    """Return the schemas of the tables of this job."""
    texts = [
        StructField(name, StringType()) for name in ("day", "tenant", "sku", "reason", "month", "revision")
    ]
    money = [StructField(name, rating.COST) for name in ("was", "now")]
    return {"charges": rating.charge_schema(), "restatements": StructType([*texts, *money])}


def run_bill(
    spark: SparkSession,
    *,
    tables: str,
    out: str,
    book: PriceBook,
    month: str,
    table_format: TableFormat,
    say: Callable[[str], None],
) -> Bill:
    """Bill a month.

    Args:
        spark: does it.
        tables: the directory of `meter`'s tables.
        out: the directory of the bills.
        book: the prices.
        month: e.g. 2026-10.
        table_format: of the tables.
        say: is told what is being done.
    Raises:
        PipelineError: there is no usage, or no price for a day of it.
    """
    days = days_of(month)
    charges = _charges(spark, tables, days, book, table_format).persist()
    try:
        say(f"{month}: rating")
        _check(charges, month, tables)
        bills = Tables(spark, f"{out.rstrip('/')}/_tables", bill_schemas(), table_format)
        revision, restated = _revise(bills, charges, month, days)
        figures = _figures(charges, book, month, revision, bills)
        folder = HadoopFiles(spark, f"{out.rstrip('/')}/{month}")
        say(f"{month}: revision {revision}, writing FOCUS")
        focus = to_focus(charges, book, month, revision).persist()
        focus.write.mode("overwrite").parquet(folder.path("focus.parquet"))
        # Tools that read CSV want the time with its zone.
        stamp = {
            "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss'Z'",
            "header": "true",
            "escape": '"',
            "nullValue": "",
        }
        focus.write.mode("overwrite").options(**stamp).csv(folder.path("focus.csv"))
        focus.unpersist()
        tenants = tenants_of(figures)
        say(f"{month}: writing {min(len(tenants), MAX_PAGES) + 1} pages")
        _write_pages(folder, figures, tenants)
    finally:
        charges.unpersist()
    total = sum((one.cost for one in figures.days), Decimal(0))
    return Bill(month, revision, total, len(tenants), restated)


def _charges(
    spark: SparkSession, directory: str, days: list[str], book: PriceBook, table_format: TableFormat
) -> DataFrame:
    metered = open_tables(spark, directory, table_format)
    head = metered.head()
    usage = metered.read("usage_daily", days, at=head)
    storage = metered.read("storage_daily", days, at=head)
    measured = rating.measure(usage, storage, topic_namespaces(usage))
    return rating.rate(measured, rating.price_frame(spark, book), rating.discount_frame(spark, book))


def _check(charges: DataFrame, month: str, tables: str) -> None:
    found = charges.agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(F.when(F.col("price_version").isNull(), F.col("day"))).alias("unpriced"),
    ).first()
    assert found is not None
    if not found.rows:
        raise PipelineError(
            f"no usage of {month} in {tables}: run bifrost pipeline meter first, or name another --month"
        )
    if found.unpriced:
        raise PipelineError(
            f"no price was in force on {found.unpriced}: "
            "give the price book a version that is valid_from then or earlier"
        )


def _revise(bills: Tables, charges: DataFrame, month: str, days: list[str]) -> tuple[int, int]:
    """Keep the charges; return which revision of the month they are, and how many lines changed."""
    change = bills.begin()
    revisions: dict[str, int] = change.before.facts.get("revisions", {})
    last = revisions.get(month, 0)
    restated = 0
    if last:
        found = rating.changes(bills.read("charges", days, at=change.before), charges).persist()
        restated = found.count()
        if not restated:
            found.unpersist()
            return last, 0
        named = found.withColumn("month", F.lit(month)).withColumn("revision", F.lit(str(last + 1)))
        change.append("restatements", named)
        found.unpersist()
    change.replace("charges", charges, days)
    facts = {"revisions": {**revisions, month: last + 1}}
    change.commit(writer=WRITER, batch=change.before.version, facts=facts)
    return last + 1, restated


def _figures(charges: DataFrame, book: PriceBook, month: str, revision: int, bills: Tables) -> BillFigures:
    sums = {name: F.sum(name).alias(name) for name in ("quantity", "list_cost", "cost")}
    days = charges.groupBy("tenant", "day", "sku").agg(*sums.values())
    namespaces = charges.groupBy("tenant", "namespace", "sku").agg(sums["quantity"], sums["cost"])
    rank = F.row_number().over(
        Window.partitionBy("tenant").orderBy(F.desc("cost"), "namespace", "principal", "topic")
    )
    lines = charges.groupBy("tenant", "namespace", "principal", "topic").agg(sums["cost"])
    lines = lines.withColumn("rank", rank).where(F.col("rank") <= MAX_RANKED).drop("rank")
    restated = bills.read("restatements", days_of(month)).where(
        (F.col("month") == month) & (F.col("revision") == str(revision))
    )
    restated = restated.select("tenant", "day", "sku", "was", "now", "reason")
    return BillFigures(
        book,
        month,
        revision,
        [DayCost(**row.asDict()) for row in days.collect()],
        [NamespaceCost(**row.asDict()) for row in namespaces.collect()],
        [Line(**_texts(row.asDict())) for row in lines.collect()],
        [Restated(**row.asDict()) for row in restated.collect()],
    )


def _texts(row: dict[str, Any]) -> dict[str, Any]:
    return {name: "" if value is None else value for name, value in row.items()}


def _write_pages(folder: HadoopFiles, figures: BillFigures, tenants: list[str]) -> None:
    shown = tenants[:MAX_PAGES]
    links = [(one, f"tenants/{one}.html") for one in sorted(shown)]
    folder.write("index.html", render(platform_page(figures, links)))
    by_tenant = _by_tenant(figures)
    for tenant in shown:
        folder.write(f"tenants/{tenant}.html", render(tenant_page(by_tenant[tenant], tenant)))
    folder.write("quotas.json", json.dumps(quota_lines(figures), indent=2) + "\n")


def _by_tenant(figures: BillFigures) -> dict[str, BillFigures]:
    """Return the figures of each tenant, so that no page looks through those of all."""
    found: dict[str, dict[str, list[Any]]] = {}
    for name in ("days", "namespaces", "lines", "restated"):
        for one in getattr(figures, name):
            found.setdefault(one.tenant, {}).setdefault(name, []).append(one)
    empty: dict[str, list[Any]] = {name: [] for name in ("days", "namespaces", "lines", "restated")}
    return {
        tenant: BillFigures(figures.book, figures.month, figures.revision, **(empty | lists))
        for tenant, lists in found.items()
    }
