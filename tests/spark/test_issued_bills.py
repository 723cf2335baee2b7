"""A bill that was issued stays, and the next open month's carries what would be otherwise."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.bill import Bill
from support.journal.billing import BOOK, GIB, book
from support.journal.journal_records import NOON_MS, Journal

pytestmark = pytest.mark.timeout(300)  # each bills a month several times
NOVEMBER_MS = NOON_MS + 31 * 86_400_000


def corrections_of(spark: SparkSession, folder: Path) -> list[tuple[Any, ...]]:
    focus = spark.read.parquet(str(folder / "focus.parquet")).where("ChargeClass = 'Correction'")
    found = focus.selectExpr(
        "BillingAccountId",
        "string(date(ChargePeriodStart))",
        "SkuId",
        "double(BilledCost)",
        "x_CorrectedInvoiceId",
    )
    return sorted(tuple(row) for row in found.collect())


def test_what_was_issued_stays_and_the_next_open_month_corrects_it_once(
    metered: Callable[..., None], bill: Callable[..., Bill], spark: SparkSession, tmp_path: Path
) -> None:
    journal = Journal()
    metered(journal.topic("acme", "orders", bytes_in=2 * GIB), journal.requests("globex", requests=10**6))
    out = tmp_path / "out"

    october = bill(is_issued=True)
    issued = (out / "2026-10/index.html").read_text()
    metered(
        journal.topic("acme", "orders", bytes_in=GIB),
        journal.topic("acme", "orders", NOVEMBER_MS, bytes_in=GIB),
    )
    dearer = book(BOOK.replace("0.20", "0.30"))
    again = bill(dearer)
    november = bill(dearer, "2026-11")
    same = bill(dearer, "2026-11", is_issued=True)
    december = bill(dearer, "2026-12", is_issued=True)

    assert (october.total, october.is_issued, again.total, again.differing) == (
        Decimal("0.4"),
        True,
        Decimal("0.4"),
        2,
    )
    assert again.describe("EUR").endswith("2 charges would be otherwise today: bill 2026-11 corrects them")
    assert (out / "2026-10/index.html").read_text() == issued
    assert [(one.revision, one.total, one.corrected, one.restated) for one in (november, same, december)] == [
        (1, Decimal("0.3"), Decimal("0.2"), 0),
        (1, Decimal("0.3"), Decimal("0.2"), 0),
        (1, 0, 0, 0),
    ]
    assert corrections_of(spark, out / "2026-11") == [
        ("acme", "2026-10-05", "produced_bytes", 0.1, "acme-2026-10"),
        ("globex", "2026-10-05", "requests", 0.1, "globex-2026-10"),
    ]
    assert corrections_of(spark, out / "2026-12") == []
    page = (out / "2026-11/index.html").read_text()
    assert "Corrections of earlier bills" in page
    assert "globex" not in (out / "2026-11/tenants/acme.html").read_text()


def test_an_open_month_is_restated_with_its_corrections(
    metered: Callable[..., None], bill: Callable[..., Bill], spark: SparkSession, tmp_path: Path
) -> None:
    journal = Journal()
    metered(journal.topic("acme", "orders", bytes_in=2 * GIB))
    bill(is_issued=True)
    metered(journal.topic("acme", "orders", NOVEMBER_MS, bytes_in=GIB))

    before = bill(month="2026-11")
    metered(journal.topic("acme", "orders", bytes_in=GIB))
    after = bill(month="2026-11")
    cheaper = bill(book(BOOK.replace("0.10", "0.05")), "2026-11")

    assert [(one.revision, one.total, one.corrected) for one in (before, after, cheaper)] == [
        (1, Decimal("0.1"), 0),
        (2, Decimal("0.2"), Decimal("0.1")),
        (3, 0, Decimal("-0.05")),
    ]
    assert corrections_of(spark, tmp_path / "out/2026-11") == [
        ("acme", "2026-10-05", "produced_bytes", -0.05, "acme-2026-10")
    ]
    assert bill(month="2026-11", corrected_months=0).corrected == 0


def test_what_was_invoiced_is_not_paid_back_for_want_of_its_usage_or_its_price(
    metered: Callable[..., None], bill: Callable[..., Bill], tmp_path: Path
) -> None:
    metered(Journal().topic("acme", "orders", bytes_in=GIB))
    bill(is_issued=True)

    with pytest.raises(PipelineError, match=r"2026-10-05 was invoiced, but .* knows nothing of it any more"):
        bill(month="2026-11", tables=str(tmp_path / "others"))
    with pytest.raises(PipelineError, match="no price was in force on 2026-10-05"):
        bill(book(BOOK.replace("2026-10-01", "2026-11-01")), "2026-11")
