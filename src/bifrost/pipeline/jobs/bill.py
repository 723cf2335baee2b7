"""`bill`: a month of usage, rated by the price book; in FOCUS's columns, as pages, and as suggestions for quotas.

    OUT/_tables/                 the charges of each month, corrections, and what was restated
    OUT/2026-10/focus.parquet/   FOCUS, for tools;  focus.csv the same as text;  focus-schema.json its columns
    OUT/2026-10/index.html       the platform;  tenants/<tenant>.html each tenant's invoice
    OUT/2026-10/quotas.json      what would keep the budgets that are exceeded

A month can be billed any number of times until its bill is issued: if late records or a changed price change the bill,
that is its next revision, and the differences are listed; if nothing changed, the revision stays. An issued bill does
not change; the bill of the next open month carries the differences (`ledger.py`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from bifrost.pipeline.billing import rating
from bifrost.pipeline.billing.bill_pages import platform_page, quotas_document, tenant_page, tenants_of
from bifrost.pipeline.billing.corrections import correction_schema, differences, lost_days
from bifrost.pipeline.billing.focus import schema_text, to_csv, to_focus
from bifrost.pipeline.billing.invoices import invoices_of
from bifrost.pipeline.billing.ledger import Ledger
from bifrost.pipeline.billing.month_figures import BillFigures
from bifrost.pipeline.billing.months import days_of
from bifrost.pipeline.billing.price_book import PriceBook
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.invoice import Invoice
from bifrost.pipeline.jobs.bill_figures import by_tenant, collect_figures
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.metering.sums import topic_namespaces
from bifrost.pipeline.money import show_money
from bifrost.pipeline.report import render
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.spark.tables import Tables, Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

WRITER = "bill"
MAX_PAGES = 2000
"""Tenants with a page of their own, the largest ones; all are in the FOCUS files."""


CORRECTED_MONTHS = 12
"""How many of the newest issued months are corrected by default: each is rated again with every bill."""


@dataclass(frozen=True, slots=True)
class BillOptions:
    """The input, the month and the options of a bill."""

    tables: str
    """The directory of `meter`'s tables."""

    out: str
    """The directory of the bills."""

    book: PriceBook
    month: str
    """E.g. 2026-10."""

    table_format: TableFormat
    today: datetime.date
    """In UTC: a month is issued after its end."""

    is_issued: bool = False
    """Issue the bill: it does not change from then on."""

    corrected_months: int = CORRECTED_MONTHS
    """How many of the newest issued months are checked for corrections."""


@dataclass(frozen=True, slots=True)
class Bill:
    """The result."""

    month: str
    revision: int
    total: Decimal
    """The net total of all invoices, including the corrections."""

    tenants: int
    restated: int
    """Number of lines that differ from the revision before."""

    corrected: Decimal = Decimal(0)
    """The part of the total that corrects earlier bills."""

    is_issued: bool = False
    differing: int = 0
    """Number of charges of an already issued bill that would differ today."""

    corrected_by: str = ""
    """The month whose bill corrects them."""

    def describe(self, currency: str) -> str:
        """Return the result as one readable line."""
        parts = [
            f"{self.month}: {show_money(self.total, currency)} for {self.tenants} tenants",
            f"revision {self.revision}{', issued' if self.is_issued else ''}",
        ]
        if self.corrected:
            parts.append(f"{show_money(self.corrected, currency)} of it corrections")
        if self.restated:
            parts.append(f"{self.restated} lines restated")
        if self.differing:
            parts.append(
                f"{self.differing} charges would be otherwise today: bill {self.corrected_by} corrects them"
            )
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class _Draft:
    """The charges of a month, and the corrections that its bill carries."""

    charges: DataFrame
    corrections: DataFrame

    @property
    def lines(self) -> DataFrame:
        """All charges and corrections."""
        return self.charges.unionByName(self.corrections.select(*self.charges.columns))


def bill_schemas() -> dict[str, StructType]:
    """Return the schemas of the tables of this job."""
    texts = [
        StructField(name, StringType()) for name in ("day", "tenant", "sku", "reason", "month", "revision")
    ]
    money = [StructField(name, rating.COST) for name in ("was", "now")]
    return {
        "charges": rating.charge_schema(),
        "corrections": correction_schema(),
        "restatements": StructType([*texts, *money]),
    }


def run_bill(spark: SparkSession, options: BillOptions, say: Callable[[str], None]) -> Bill:
    """Bill a month; if its bill was issued, only tell what would differ today.

    Args:
        spark: the session.
        options: the input, the month and the options.
        say: called with each step.
    Raises:
        PipelineError: there is no usage, no price for a day of it, or the bill may not be issued.
    """
    bills = Tables(spark, f"{options.out.rstrip('/')}/_tables", bill_schemas(), options.table_format)
    ledger = Ledger.read(bills.head().facts)
    if ledger.is_issued(options.month):
        return _look_back(spark, options, bills, ledger, say)
    if options.is_issued:
        ledger.check_issuable(options.month, options.today)
    say(f"{options.month}: rating")
    draft = _Draft(
        _charges(spark, options, days_of(options.month)).persist(),
        _corrections(spark, options, bills, ledger, say).persist(),
    )
    try:
        _check(draft, options, may_be_empty=options.month == ledger.correcting)
        ledger, restated = _revise(bills, draft, ledger, options)
        done = _publish(spark, options, bills, draft, ledger, restated, say)
        if options.is_issued:
            # Issue last: a job that ends before this leaves a bill that can be issued again, not incomplete files.
            change = bills.begin()
            facts = ledger.issue(options.month, options.today).facts
            change.commit(writer=WRITER, batch=change.before.version, facts=facts)
        return done
    finally:
        draft.charges.unpersist()
        draft.corrections.unpersist()


def _publish(
    spark: SparkSession,
    options: BillOptions,
    bills: Tables,
    draft: _Draft,
    ledger: Ledger,
    restated: int,
    say: Callable[[str], None],
) -> Bill:
    """Write the files of a bill."""
    month, revision, is_issued = options.month, ledger.revisions[options.month], options.is_issued
    issued_on = options.today if is_issued else None
    bill = BillFigures(options.book, month, revision, (), (), (), issued_on=issued_on)
    figures = collect_figures(draft.charges, draft.corrections, bills.read("restatements"), bill)
    folder = HadoopFiles(spark, f"{options.out.rstrip('/')}/{month}")
    say(f"{month}: revision {revision}, writing FOCUS")
    focus = to_focus(
        draft.charges, draft.corrections, options.book, month, revision=revision, is_issued=is_issued
    )
    focus = focus.persist()
    focus.write.mode("overwrite").parquet(folder.path("focus.parquet"))
    write_csv(to_csv(focus), folder, "focus.csv")
    folder.write("focus-schema.json", schema_text(focus.schema))
    focus.unpersist()
    tenants = tenants_of(figures)
    say(f"{month}: writing {min(len(tenants), MAX_PAGES) + 1} pages")
    invoices = invoices_of(figures)
    _write_pages(folder, figures, invoices, tenants)
    total, corrected = _sums(invoices)
    return Bill(month, revision, total, len(tenants), restated, corrected, is_issued)


def _sums(invoices: Mapping[str, Invoice]) -> tuple[Decimal, Decimal]:
    """Return the net total of all invoices, and the part of it that corrects earlier ones."""
    total = sum((one.net for one in invoices.values()), Decimal(0))
    return total, sum((one.corrected for one in invoices.values()), Decimal(0))


def _look_back(
    spark: SparkSession, options: BillOptions, bills: Tables, ledger: Ledger, say: Callable[[str], None]
) -> Bill:
    """Return the total of an issued bill, and what would differ today; nothing is written."""
    month, head = options.month, bills.head()
    say(f"{month}: issued, comparing")
    issued = bills.read("charges", days_of(month), at=head)
    corrections = bills.read("corrections", at=head).where(F.col("billed_in") == month)
    bill = BillFigures(options.book, month, ledger.issued[month], (), (), ())
    invoices = invoices_of(collect_figures(issued, corrections, bills.read("restatements", at=head), bill))
    total, corrected = _sums(invoices)
    found = _differences(spark, options, bills, ledger, [month]).count()
    return Bill(
        month,
        ledger.issued[month],
        total,
        len(invoices),
        restated=0,
        corrected=corrected,
        is_issued=True,
        differing=found,
        corrected_by=ledger.correcting or "",
    )


def _charges(spark: SparkSession, options: BillOptions, days: Sequence[str]) -> DataFrame:
    metered = open_tables(spark, options.tables, options.table_format)
    head = metered.head()
    usage = metered.read("usage_daily", days, at=head)
    storage = metered.read("storage_daily", days, at=head)
    measured = rating.measure(usage, storage, topic_namespaces(usage))
    return rating.rate(
        measured, rating.price_frame(spark, options.book), rating.discount_frame(spark, options.book)
    )


def _corrections(
    spark: SparkSession, options: BillOptions, bills: Tables, ledger: Ledger, say: Callable[[str], None]
) -> DataFrame:
    """Return the corrections of issued bills that this month's bill must carry."""
    months = ledger.corrected_by(options.month, options.corrected_months)
    if months:
        say(f"{options.month}: correcting {months[0]}{f' to {months[-1]}' if months[1:] else ''}")
    return _differences(spark, options, bills, ledger, months)


def _differences(
    spark: SparkSession, options: BillOptions, bills: Tables, ledger: Ledger, months: Sequence[str]
) -> DataFrame:
    found = spark.createDataFrame([], correction_schema())
    head, columns = bills.head(), rating.charge_schema().fieldNames()
    for month in months:
        # One month at a time: the owner of a topic follows from the usage of that month.
        days = days_of(month)
        earlier = bills.read("corrections", days, at=head).where(
            F.col("billed_in").isin(sorted(ledger.issued))
        )
        invoiced = bills.read("charges", days, at=head).unionByName(earlier.select(*columns))
        now = _charges(spark, options, days)
        # Otherwise a version that was removed from the price book would pay back a whole month.
        unpriced = now.where(F.col("price_version").isNull()).agg(F.min("day")).first()
        assert unpriced is not None
        _refuse_unpriced(unpriced[0])
        lost = lost_days(invoiced, now)
        if lost:
            raise PipelineError(
                f"{lost[0]} was invoiced, but {options.tables} knows nothing of it any more: name the tables it was "
                "billed from, or leave older bills as they are with --correct-months"
            )
        found = found.unionByName(differences(invoiced, now, options.month))
    return found


def _check(draft: _Draft, options: BillOptions, *, may_be_empty: bool) -> None:
    found = draft.lines.agg(
        F.count(F.lit(1)).alias("rows"),
        F.min(F.when(F.col("price_version").isNull(), F.col("day"))).alias("unpriced"),
    ).first()
    assert found is not None
    # The month that corrects earlier ones may have no usage, and must be issued before the next one can be.
    if not found.rows and not may_be_empty:
        raise PipelineError(
            f"no usage of {options.month} in {options.tables}: run bifrost pipeline meter first, "
            "or name another --month"
        )
    _refuse_unpriced(found.unpriced)


def _refuse_unpriced(day: str | None) -> None:
    if day:
        raise PipelineError(
            f"no price was in force on {day}: "
            "give the price book a version that is valid_from then or earlier"
        )


def _revise(bills: Tables, draft: _Draft, ledger: Ledger, options: BillOptions) -> tuple[Ledger, int]:
    """Write the charges; return the ledger with the month's revision, and how many lines changed."""
    month, days = options.month, days_of(options.month)
    change = bills.begin()
    last = ledger.revisions.get(month, 0)
    restated = 0
    if last:
        corrected = bills.read("corrections", at=change.before).where(F.col("billed_in") == month)
        before = _Draft(bills.read("charges", days, at=change.before), corrected)
        found = rating.changes(before.lines, draft.lines).persist()
        restated = found.count()
        if restated:
            named = found.withColumn("month", F.lit(month)).withColumn("revision", F.lit(str(last + 1)))
            change.append("restatements", named)
        found.unpersist()
    if restated or not last:
        change.replace("charges", draft.charges, days)
        _keep_corrections(change, draft.corrections, month)
        ledger = ledger.billed(month, last + 1)
        change.commit(writer=WRITER, batch=change.before.version, facts=ledger.facts)
    return ledger, restated


def _keep_corrections(change: Transaction, corrections: DataFrame, month: str) -> None:
    """Replace the corrections of a month by new ones."""
    table = change.read("corrections")
    is_ours = F.col("billed_in") == month
    gone = table.where(is_ours).select("day")
    days = sorted(row.day for row in gone.union(corrections.select("day")).distinct().collect())
    if days:
        kept = change.read("corrections", days).where(~is_ours)
        change.replace("corrections", kept.unionByName(corrections), days)


def _write_pages(
    folder: HadoopFiles, figures: BillFigures, invoices: Mapping[str, Invoice], tenants: list[str]
) -> None:
    shown = tenants[:MAX_PAGES]
    folder.write("index.html", render(platform_page(figures, invoices, set(shown))))
    theirs = by_tenant(figures)
    for tenant in shown:
        page = tenant_page(theirs[tenant], tenant, invoices[tenant])
        folder.write(f"tenants/{tenant}.html", render(page))
    folder.write("quotas.json", json.dumps(quotas_document(figures), indent=2) + "\n")
