import datetime
from dataclasses import replace
from decimal import Decimal

from bifrost.pipeline.invoice import Invoice, InvoiceLine, Tax


def line(gross: str, net: str, *, is_correction: bool = False) -> InvoiceLine:
    amounts = {"gross": Decimal(gross), "net": Decimal(net)}
    return InvoiceLine(
        "Requests", "Requests", Decimal(1), "hours", None, **amounts, is_correction=is_correction
    )


INVOICE = Invoice(
    tenant="acme",
    number="acme-2026-10",
    currency="EUR",
    first_day=datetime.date(2026, 10, 1),
    last_day=datetime.date(2026, 10, 31),
    sections=[
        ("Storage", [line("10.01", "8.51")]),
        ("Corrections", [line("-2.00", "-1.70", is_correction=True)]),
    ],
)


def test_totals_are_sums_of_the_lines() -> None:
    assert (INVOICE.gross, INVOICE.discount, INVOICE.net) == (
        Decimal("8.01"),
        Decimal("1.20"),
        Decimal("6.81"),
    )
    assert INVOICE.corrected == Decimal("-1.70")
    assert [one.discount for one in INVOICE.lines] == [Decimal("1.50"), Decimal("-0.30")]


def test_tax_is_rounded_once_and_without_it_there_is_none() -> None:
    taxed = replace(INVOICE, tax=Tax("VAT", Decimal(19)))

    assert (taxed.tax_amount, taxed.total) == (Decimal("1.29"), Decimal("8.10"))
    assert (INVOICE.tax_amount, INVOICE.total) == (0, INVOICE.net)
