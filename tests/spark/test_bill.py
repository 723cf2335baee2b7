"""A month billed, and billed again: what changed is restated, what did not is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.bill import Bill
from support.journal.billing import BOOK, GIB, book
from support.journal.journal_records import NOON_MS, Journal


def test_a_bill_is_restated_when_late_usage_or_a_price_changes_it(
    metered: Callable[..., None], bill: Callable[..., Bill], spark: SparkSession, tmp_path: Path
) -> None:
    journal = Journal()
    metered(journal.topic("acme", "orders", bytes_in=2 * GIB), journal.requests("globex", requests=10**6))

    first = bill()
    again = bill()
    metered(journal.topic("acme", "orders", NOON_MS - 3_600_000, bytes_in=GIB))
    late = bill()
    dearer = bill(book(BOOK.replace("0.20", "0.30")))

    assert [(one.revision, one.total, one.restated) for one in (first, again, late, dearer)] == [
        (1, Decimal("0.4"), 0),
        (1, Decimal("0.4"), 0),
        (2, Decimal("0.5"), 1),
        (3, Decimal("0.6"), 1),
    ]
    folder = tmp_path / "out/2026-10"
    focus = spark.read.parquet(str(folder / "focus.parquet"))
    assert focus.selectExpr("sum(BilledCost)").collect()[0][0] == Decimal("0.6")
    assert (folder / "focus.csv").is_file()
    csv = spark.read.option("header", "true").csv(str(folder / "focus.csv"))
    assert (csv.columns, csv.count()) == (focus.columns, focus.count())
    page = (folder / "index.html").read_text()
    assert "Restated since the last bill" in page
    assert 'href="tenants/acme.html"' in page
    assert "globex" not in (folder / "tenants/acme.html").read_text()
    suggested = json.loads((folder / "quotas.json").read_text())
    (quota,) = suggested["alterations"]
    assert (suggested["quotas_format"], suggested["unkept"]) == (1, [])
    assert (quota["namespace"], quota["entity"], quota["projected"]) == ("acme", {"namespace": None}, "1.86")
    assert quota["values"]["producer_byte_rate"] > 0


def test_a_month_without_usage_and_a_day_without_a_price_are_one_line(
    metered: Callable[..., None], bill: Callable[..., Bill]
) -> None:
    metered(Journal().topic("acme", "orders", bytes_in=1))

    with pytest.raises(PipelineError, match=r"no usage of 2026-11 in .*: run bifrost pipeline meter first"):
        bill(month="2026-11")
    with pytest.raises(PipelineError, match="no price was in force on 2026-10-05"):
        bill(book(BOOK.replace("2026-10-01", "2026-10-06")))
