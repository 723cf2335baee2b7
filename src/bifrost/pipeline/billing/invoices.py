"""Makes tenants' invoices of a month's figures and the price book. Pure."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

from bifrost.pipeline.billing.month_figures import WHY, BillFigures, Corrected, DayCost
from bifrost.pipeline.billing.months import period_of
from bifrost.pipeline.billing.price_book import Buyer, PriceBook, Sku
from bifrost.pipeline.billing.price_book import Tax as BookTax
from bifrost.pipeline.billing.rating import UNITS
from bifrost.pipeline.invoice import Invoice, InvoiceLine, Party, Tax
from bifrost.pipeline.money import rounded

ITEMS = {
    Sku.PRODUCED_BYTES: "Data produced",
    Sku.FETCHED_BYTES: "Data fetched",
    Sku.REQUESTS: "Requests",
    Sku.CONNECTION_HOURS: "Open connections",
    Sku.STORED_BYTES: "Data stored, replicas counted",
    Sku.PARTITION_HOURS: "Partitions",
}
"""What each meter is called on an invoice."""

_HEADINGS = {
    "Data transfer, requests and connections": (
        Sku.PRODUCED_BYTES,
        Sku.FETCHED_BYTES,
        Sku.REQUESTS,
        Sku.CONNECTION_HOURS,
    ),
    "Storage": (Sku.STORED_BYTES, Sku.PARTITION_HOURS),
}
CORRECTIONS = "Corrections of earlier invoices"


def invoices_of(figures: BillFigures) -> dict[str, Invoice]:
    """Return the invoice of each tenant that has charges or corrections."""
    used: dict[str, list[DayCost]] = defaultdict(list)
    corrected: dict[str, list[Corrected]] = defaultdict(list)
    for day in figures.days:
        used[day.tenant].append(day)
    for one in figures.corrected:
        corrected[one.tenant].append(one)
    buyers = {buyer.tenant: buyer for buyer in figures.book.buyers}
    return {
        tenant: _invoice(figures, tenant, buyers.get(tenant), used[tenant], corrected[tenant])
        for tenant in sorted({*used, *corrected})
    }


def readable_unit(sku: Sku) -> str:
    """Return the unit of a meter in readable form: a million for FOCUS's `1000000 Requests`."""
    words = {"1000000 Requests": "million requests", "Hours": "hours", "GiB-Months": "GiB-months"}
    return words.get(UNITS[sku], UNITS[sku])


def _invoice(
    figures: BillFigures,
    tenant: str,
    buyer: Buyer | None,
    used: Sequence[DayCost],
    corrected: Sequence[Corrected],
) -> Invoice:
    book = figures.book
    first, after = period_of(figures.month)
    sections = [
        (heading, [line for sku in skus for line in _lines(sku, used, book.currency)])
        for heading, skus in _HEADINGS.items()
    ]
    sections.append((CORRECTIONS, _corrections(corrected, book.currency)))
    percents = [one.percent for one in book.discounts if one.tenant == tenant]
    return Invoice(
        tenant=tenant,
        number=f"{tenant}-{figures.month}",
        currency=book.currency,
        first_day=first,
        last_day=after - datetime.timedelta(days=1),
        sections=[(heading, lines) for heading, lines in sections if lines],
        tax=_tax((buyer and buyer.tax) or book.tax),
        seller=_seller(book),
        buyer=_party(buyer) if buyer else None,
        reference=(buyer and buyer.reference) or "",
        payment=book.seller.payment if book.seller else (),
        discount_percent=percents[0] if percents else Decimal(0),
        issued_on=figures.issued_on,
        due_on=_due(figures),
    )


def _lines(sku: Sku, used: Sequence[DayCost], currency: str) -> list[InvoiceLine]:
    """Return the lines of a meter: one for each price that was in force in the month, by date."""
    by_price: dict[Decimal, list[DayCost]] = defaultdict(list)
    for one in sorted(used, key=lambda one: one.day):
        if one.sku == sku.value:
            by_price[one.list_price].append(one)
    lines = []
    for price, days in by_price.items():
        span = f", {days[0].day} to {days[-1].day}" if len(by_price) > 1 else ""
        lines.append(
            InvoiceLine(
                item=ITEMS[sku] + span,
                meter=ITEMS[sku],
                quantity=sum((one.quantity for one in days), Decimal(0)),
                unit=readable_unit(sku),
                unit_price=price,
                gross=rounded(sum((one.list_cost for one in days), Decimal(0)), currency),
                net=rounded(sum((one.cost for one in days), Decimal(0)), currency),
            )
        )
    return lines


def _corrections(corrected: Sequence[Corrected], currency: str) -> list[InvoiceLine]:
    return [
        InvoiceLine(
            item=f"{one.tenant}-{one.month}: {ITEMS[Sku(one.sku)]}, {WHY.get(one.reason, one.reason)}",
            meter=ITEMS[Sku(one.sku)],
            quantity=one.quantity,
            unit=readable_unit(Sku(one.sku)),
            unit_price=None,
            gross=rounded(one.list_cost, currency),
            net=rounded(one.cost, currency),
            is_correction=True,
        )
        for one in sorted(corrected, key=lambda one: (one.month, list(Sku).index(Sku(one.sku)), one.reason))
    ]


def _tax(tax: BookTax | None) -> Tax | None:
    return Tax(tax.name, tax.percent, tax.note or "") if tax else None


def _seller(book: PriceBook) -> Party | None:
    seller = book.seller
    return Party(seller.name, seller.address, seller.tax_id or "") if seller else None


def _party(buyer: Buyer) -> Party:
    return Party(buyer.name, buyer.address, buyer.tax_id or "")


def _due(figures: BillFigures) -> datetime.date | None:
    seller = figures.book.seller
    if figures.issued_on is None or seller is None or seller.payment_days is None:
        return None
    return figures.issued_on + datetime.timedelta(days=seller.payment_days)
