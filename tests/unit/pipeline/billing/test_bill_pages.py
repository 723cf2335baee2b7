import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Any

from bifrost.pipeline.billing.bill_pages import (
    outlooks,
    platform_page,
    quotas_document,
    tenant_page,
    tenants_of,
)
from bifrost.pipeline.billing.invoices import invoices_of
from bifrost.pipeline.billing.month_figures import (
    BillFigures,
    Corrected,
    DayCost,
    Line,
    NamespaceCost,
    Restated,
)
from bifrost.pipeline.billing.price_book import read_price_book
from bifrost.pipeline.money import Amount
from bifrost.pipeline.report import BillReport, render

BOOK = read_price_book(
    """currency: EUR
provider: Us
versions: [{version: "1", valid_from: 2026-01-01, prices: {}}]
budgets: [{tenant: acme, namespace: dev, monthly: 10}, {tenant: globex, monthly: 1000}]
""",
    "book",
)
FIGURES = BillFigures(
    BOOK,
    "2026-10",
    2,
    [
        DayCost("acme", "2026-10-01", "produced_bytes", Decimal(100), Decimal(10), Decimal(8)),
        DayCost("globex", "2026-10-10", "requests", Decimal(1), Decimal(30), Decimal(30)),
    ],
    [
        NamespaceCost("acme", "acme:dev:x", "produced_bytes", Decimal(60), Decimal(5)),
        NamespaceCost("acme", "acme:devil", "produced_bytes", Decimal(40), Decimal(3)),
        NamespaceCost("globex", "globex", "requests", Decimal(1), Decimal(30)),
    ],
    [
        Line("acme", "acme:dev:x", "User:a", "orders", Decimal(5)),
        Line("globex", "globex", "", "", Decimal(30)),
    ],
    [Restated("acme", "2026-10-01", "produced_bytes", Decimal(7), Decimal(8), "usage")],
)


def platform(figures: BillFigures, linked: tuple[str, ...] = ()) -> BillReport:
    return platform_page(figures, invoices_of(figures), linked)


def tenant(figures: BillFigures, name: str) -> BillReport:
    return tenant_page(figures, name, invoices_of(figures)[name])


def euros(amount: str) -> Amount:
    return Amount(Decimal(amount), "EUR")


def test_the_largest_tenant_is_first() -> None:
    assert tenants_of(FIGURES) == ["globex", "acme"]


def test_the_platform_s_page_has_every_tenant() -> None:
    page = platform(FIGURES, ("acme",))

    assert (page.total, page.discount, page.revision) == (38, 2, 2)
    assert page.ranked == [("globex", 30.0), ("acme", 8.0)]
    assert dict(page.by_sku)["Data produced"] == [8.0, 0.0]
    assert page.restated.rows == [
        ("2026-10-01", "acme", "Data produced", "late usage", euros("7"), euros("8"))
    ]
    assert [(one.name, one.link, one.net) for one in page.accounts] == [
        ("acme", "tenants/acme.html", 8),
        ("other tenants: 1", "", 30),
    ]


def test_what_was_used_adds_up_to_the_sum_of_the_invoices() -> None:
    thirds = [replace(one, cost=Decimal("3.333"), list_cost=Decimal("3.338")) for one in FIGURES.days]

    page = platform(replace(FIGURES, days=[*thirds, replace(thirds[0], tenant="initech")]))

    assert [row[3:] for row in page.meters.rows] == [
        (euros("6.68"), euros("0.02"), euros("6.66")),
        (euros("3.34"), euros("0.01"), euros("3.33")),
    ]
    assert list(page.meters.total[3:]) == [euros("10.02"), euros("0.03"), euros("9.99")]
    assert page.total == Decimal("9.99")


def test_a_tenant_s_page_has_nothing_of_another() -> None:
    text = render(tenant(FIGURES, "acme"))

    assert "acme:dev:x" in text
    assert "globex" not in text


def test_a_budget_is_of_its_namespace_and_all_below_not_of_names_that_begin_alike() -> None:
    (budget, outlook), (_other, kept) = outlooks(FIGURES)

    assert budget.namespace == "dev"
    assert outlook.spent == 5
    assert outlook.projected == Decimal(5) * 31 / 10
    assert kept.text == ""


def test_quotas_are_suggested_where_a_budget_is_exceeded() -> None:
    document: Any = quotas_document(FIGURES)

    (alteration,) = document["alterations"]
    assert (alteration["namespace"], alteration["projected"]) == ("acme:dev", "15.50")
    assert isinstance(alteration["values"]["producer_byte_rate"], int)
    assert document["unkept"] == []


def test_corrections_are_in_the_total_but_neither_discount_nor_usage() -> None:
    corrected = [
        Corrected("acme", "2026-09", "produced_bytes", "usage", Decimal(2)),
        Corrected("initech", "2026-09", "requests", "price", Decimal(-1)),
    ]
    figures = replace(FIGURES, corrected=corrected, issued_on=datetime.date(2026, 11, 1))

    page, theirs = platform(figures), tenant(figures, "acme")

    assert (page.total, page.corrected_total) == (39, 1)
    assert page.corrected.rows == [
        ("2026-09", "acme", "Data produced", "late usage", euros("2")),
        ("2026-09", "initech", "Requests", "price", euros("-1")),
    ]
    assert (theirs.total, theirs.corrected_total) == (10, 2)
    assert "Corrections of earlier invoices" in render(theirs)
    assert tenants_of(figures) == ["globex", "acme", "initech"]
    assert "Corrections of earlier bills" in render(page)
    assert "2, issued" in render(page)
