"""Invoices from a month's figures, and the page that a finance department reads."""

import datetime
from dataclasses import replace
from decimal import Decimal

from bifrost.pipeline.billing.bill_pages import tenant_page
from bifrost.pipeline.billing.invoices import invoices_of
from bifrost.pipeline.billing.month_figures import BillFigures, Corrected, DayCost
from bifrost.pipeline.billing.price_book import read_price_book
from bifrost.pipeline.report import render

TERMS = """currency: EUR
provider: Us
versions: [{version: "1", valid_from: 2026-01-01, prices: {produced_bytes: 0.07, stored_bytes: 0.1}}]
discounts: [{tenant: acme, percent: 15}]
"""
PARTIES = """seller: {name: Us Ltd, address: [1 Quay Street], tax_id: DE1, payment: [IBAN DE02], payment_days: 30}
tax: {name: VAT, percent: 19}
buyers:
  - {tenant: acme, name: Acme <AG>, address: [2 Store Road, Bremen], reference: PO 7}
  - {tenant: globex, name: Globex SAS, tax: {name: VAT, percent: 0, note: reverse charge}}
"""


def day(number: int, sku: str, gross: str, net: str, price: str, tenant: str = "acme") -> DayCost:
    name = f"2026-10-{number:02}"
    return DayCost(tenant, name, sku, Decimal(10), Decimal(gross), Decimal(net), Decimal(price))


FIGURES = BillFigures(
    read_price_book(TERMS, "book"),
    "2026-10",
    1,
    [
        day(1, "produced_bytes", "0.704", "0.5984", "0.07"),
        day(2, "produced_bytes", "0.704", "0.5984", "0.07"),
        day(1, "stored_bytes", "1.005", "0.85425", "0.1"),
        day(1, "requests", "5", "5", "0.2", "globex"),
    ],
    (),
    (),
)
FULL = replace(FIGURES, book=read_price_book(TERMS + PARTIES, "book"), issued_on=datetime.date(2026, 11, 2))


def test_each_line_is_rounded_once_and_totals_are_sums_of_the_lines() -> None:
    invoice = invoices_of(FIGURES)["acme"]

    assert [(one.item, one.gross, one.discount, one.net) for one in invoice.lines] == [
        ("Data produced", Decimal("1.41"), Decimal("0.21"), Decimal("1.20")),
        ("Data stored, replicas counted", Decimal("1.01"), Decimal("0.16"), Decimal("0.85")),
    ]
    assert (invoice.gross, invoice.net) == (Decimal("2.42"), Decimal("2.05"))
    assert invoice.number == "acme-2026-10"
    assert [heading for heading, _lines in invoice.sections] == [
        "Data transfer, requests and connections",
        "Storage",
    ]


def test_a_price_that_changed_in_the_month_is_another_line_with_its_days() -> None:
    days = [
        day(number, "produced_bytes", "1", "1", "0.07" if number < 15 else "0.08") for number in range(1, 32)
    ]

    lines = invoices_of(replace(FIGURES, days=days))["acme"].lines

    assert [(one.item, one.unit_price, one.quantity) for one in lines] == [
        ("Data produced, 2026-10-01 to 2026-10-14", Decimal("0.07"), 140),
        ("Data produced, 2026-10-15 to 2026-10-31", Decimal("0.08"), 170),
    ]


def test_a_correction_is_a_line_that_names_the_invoice_it_corrects() -> None:
    late = Corrected("acme", "2026-09", "requests", "usage", Decimal("2.344"), Decimal("2.5"), Decimal(3))

    invoice = invoices_of(replace(FIGURES, corrected=[late, replace(late, tenant="initech")]))["acme"]

    line = invoice.lines[-1]
    assert (line.item, line.gross, line.net) == (
        "acme-2026-09: Requests, late usage",
        Decimal("2.50"),
        Decimal("2.34"),
    )
    assert (line.unit_price, invoice.corrected) == (None, Decimal("2.34"))


def test_without_seller_buyer_and_tax_the_book_s_names_stand_there_and_no_tax() -> None:
    invoice = invoices_of(FIGURES)["acme"]
    page = render(tenant_page(FIGURES, "acme", invoice))

    assert (invoice.seller, invoice.buyer, invoice.tax, invoice.total) == (None, None, None, Decimal("2.05"))
    assert "Provisional bill acme-2026-10" in page
    assert "This is no invoice yet" in page
    assert "VAT" not in page
    assert "Payable by" not in page


def test_an_issued_invoice_has_all_that_finance_needs() -> None:
    page = render(tenant_page(FULL, "acme", invoices_of(FULL)["acme"]))

    for expected in (
        "Invoice acme-2026-10",
        "2026-10-01 to 2026-10-31",
        "<b>Us Ltd</b><br>1 Quay Street<br>Tax ID DE1",
        "<b>Acme &lt;AG&gt;</b><br>2 Store Road<br>Bremen",
        "PO 7",
        "<dd>2026-11-02</dd>",
        "<dd>2026-12-02</dd>",
        "IBAN DE02",
        "VAT 19 %",
        "0.39",
        "2.44 EUR",
        "Your discount is 15 %",
        "rounded to 0.01 EUR, half of it away from zero",
    ):
        assert expected in page
    assert "This is no invoice yet" not in page
    assert "globex" not in page.lower()


def test_a_buyer_s_own_tax_stands_in_place_of_the_book_s() -> None:
    invoice = invoices_of(FULL)["globex"]

    assert (invoice.tax_amount, invoice.total) == (0, 5)
    assert "VAT 0 % (reverse charge)" in render(tenant_page(FULL, "globex", invoice))


def test_what_is_paid_back_is_called_so() -> None:
    credit = Corrected("initech", "2026-09", "requests", "price", Decimal(-2), Decimal(-2))
    figures = replace(FULL, corrected=[credit])

    page = render(tenant_page(figures, "initech", invoices_of(figures)["initech"]))

    assert "To be credited" in page
    assert "-2.38 EUR" in page
    assert "IBAN" not in page
    assert "Payable by" not in page
