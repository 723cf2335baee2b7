"""Makes the pages of a bill from its figures: the platform's and each tenant's. Pure."""

from __future__ import annotations

import calendar
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from bifrost.pipeline.billing.budgets import Outlook, Spending, look_ahead
from bifrost.pipeline.billing.invoices import CORRECTIONS, ITEMS, readable_unit
from bifrost.pipeline.billing.month_figures import (
    WHY,
    BillFigures,
    Corrected,
    Line,
    Restated,
    largest,
    totals,
)
from bifrost.pipeline.billing.price_book import Budget, Sku
from bifrost.pipeline.billing.rating import GIB
from bifrost.pipeline.invoice import Invoice, InvoiceLine
from bifrost.pipeline.money import Amount, rounded
from bifrost.pipeline.report import Account, BillReport, BudgetLine, Table

MAX_RANKED = 12
"""Bars of a ranking: as many as a reader can compare."""
MAX_RESTATED = 30
"""Restated or corrected lines on a page; all of them are in the tables `restatements` and `corrections`."""
_STORAGE, _NO_TOPIC = "storage", "requests and connections"
"""What stands for a principal or a topic where a cost has none."""

_NO_TABLE = Table((), ())


def tenants_of(figures: BillFigures) -> list[str]:
    """Return the tenants of a bill, the largest first."""
    used = [(one.tenant, one.cost) for one in figures.days]
    sums = totals(used + [(one.tenant, one.cost) for one in figures.corrected])
    return [name for name, _cost in largest(sums)]


def outlooks(figures: BillFigures) -> list[tuple[Budget, Outlook]]:
    """Return the outlook of each budget, in the order of the price book."""
    year, number = map(int, figures.month.split("-"))
    in_month = calendar.monthrange(year, number)[1]
    # The last day with usage; days before it without usage count as well.
    last = max((int(one.day[8:]) for one in figures.days), default=in_month)
    return [
        (one, look_ahead(one.monthly, _spending(figures, one), last, in_month))
        for one in figures.book.budgets
    ]


QUOTAS_FORMAT = 1
"""Version of the layout of quotas.json, which `bifrost quotas apply` reads."""


def quotas_document(figures: BillFigures) -> dict[str, object]:
    """Return the suggested quotas as `bifrost quotas apply` takes them, and the budgets that no quota keeps."""
    alterations, unkept = [], []
    for budget, outlook in outlooks(figures):
        if not outlook.text:
            continue
        told: dict[str, object] = {
            "namespace": f"{budget.tenant}:{budget.namespace}" if budget.namespace else budget.tenant,
            "budget": str(budget.monthly),
            "projected": str(rounded(outlook.projected, figures.book.currency)),
            "because": outlook.text,
        }
        if outlook.quota is None:
            unkept.append(told)
            continue
        values = {
            "producer_byte_rate": outlook.quota.producer_byte_rate,
            "consumer_byte_rate": outlook.quota.consumer_byte_rate,
        }
        # The budget is one of all clients of the namespace and of those below it.
        alterations.append(told | {"entity": {"namespace": None}, "values": values})
    return {"quotas_format": QUOTAS_FORMAT, "alterations": alterations, "unkept": unkept}


def platform_page(
    figures: BillFigures, invoices: Mapping[str, Invoice], linked: Collection[str]
) -> BillReport:
    """Return the page of the platform as a whole.

    Args:
        figures: of all tenants.
        invoices: of all tenants.
        linked: the tenants that have a page.
    """
    sums = totals((one.tenant, one.cost) for one in figures.days)
    ranked = [(name, float(cost)) for name, cost in largest(sums)[:MAX_RANKED]]
    title = f"{figures.book.provider}: all tenants"
    used = _meters(list(invoices.values()), figures.book.currency)
    return _page(
        figures,
        title,
        "Largest tenants",
        ranked,
        list(invoices.values()),
        None,
        meters=used,
        corrected=_corrected(figures.corrected, figures.book.currency),
        accounts=_accounts(invoices, linked),
    )


def tenant_page(figures: BillFigures, tenant: str, invoice: Invoice) -> BillReport:
    """Return the page of one tenant with its invoice, which shows nothing of other tenants."""
    sums = totals((one.namespace, one.cost) for one in figures.namespaces if one.tenant == tenant)
    ranked = [(name, float(cost)) for name, cost in largest(sums)[:MAX_RANKED]]
    return _page(figures, tenant, "Namespaces", ranked, [invoice], tenant, invoice=invoice)


def _page(
    figures: BillFigures,
    title: str,
    ranked_title: str,
    ranked: Sequence[tuple[str, float]],
    invoices: Sequence[Invoice],
    tenant: str | None,
    *,
    meters: Table = _NO_TABLE,
    corrected: Table = _NO_TABLE,
    accounts: Sequence[Account] = (),
    invoice: Invoice | None = None,
) -> BillReport:
    currency = figures.book.currency
    costs = [one for one in figures.days if tenant in (None, one.tenant)]
    days = sorted({one.day for one in figures.days})
    by_day = totals(((one.sku, one.day), one.cost) for one in costs)
    return BillReport(
        title=title,
        provider=figures.book.provider,
        currency=currency,
        period=figures.month,
        revision=figures.revision,
        is_issued=figures.issued_on is not None,
        total=sum((one.net for one in invoices), Decimal(0)),
        corrected_total=sum((one.corrected for one in invoices), Decimal(0)),
        discount=sum((one.discount for one in invoices), Decimal(0)),
        tax=sum((one.tax_amount for one in invoices), Decimal(0)),
        days=days,
        by_sku=[
            (ITEMS[sku], [float(by_day.get((sku.value, day), Decimal(0))) for day in days]) for sku in Sku
        ],
        ranked_title=ranked_title,
        ranked=ranked,
        meters=meters,
        lines=_lines([one for one in figures.lines if tenant in (None, one.tenant)], currency),
        restated=_restated([one for one in figures.restated if tenant in (None, one.tenant)], currency),
        corrected=corrected,
        budgets=_budgets(figures, tenant),
        accounts=accounts,
        invoice=invoice,
    )


def _accounts(invoices: Mapping[str, Invoice], linked: Collection[str]) -> list[Account]:
    """Return a row for each tenant that has a page, and one for all others, so that the sums are right."""
    others = [one for tenant, one in invoices.items() if tenant not in linked]
    rows = [
        Account(tenant, one.number, f"tenants/{tenant}.html", one.net, one.tax_amount)
        for tenant, one in sorted(invoices.items())
        if tenant in linked
    ]
    if others:
        net = sum((one.net for one in others), Decimal(0))
        tax = sum((one.tax_amount for one in others), Decimal(0))
        rows.append(Account(f"other tenants: {len(others)}", "", "", net, tax))
    return rows


def _meters(invoices: Sequence[Invoice], currency: str) -> Table:
    """Return the sums of all invoices' lines, so that they add up to the sum of the invoices."""
    lines = [line for one in invoices for line in one.lines]
    used = [(ITEMS[sku], readable_unit(sku)) for sku in Sku]
    rows: list[tuple[str | Amount | Decimal, ...]] = []
    for meter, unit in used:
        ours = [line for line in lines if line.meter == meter and not line.is_correction]
        if ours:
            quantity = sum((line.quantity for line in ours), Decimal(0))
            rows.append((meter, quantity, unit, *_amounts(ours, currency)))
    corrections = [line for line in lines if line.is_correction]
    if corrections:
        rows.append((CORRECTIONS, "", "", *_amounts(corrections, currency)))
    total: list[str | Amount] = ["Total", "", "", *_amounts(lines, currency)]
    heads = ("meter", "quantity", "unit", f"gross, {currency}", "discount", "net")
    return Table(heads, rows, "Nothing was used.", unbroken=("unit",), total=total)


def _amounts(lines: Sequence[InvoiceLine], currency: str) -> list[Amount]:
    gross = sum((one.gross for one in lines), Decimal(0))
    net = sum((one.net for one in lines), Decimal(0))
    return [Amount(gross, currency), Amount(gross - net, currency), Amount(net, currency)]


def _lines(lines: Sequence[Line], currency: str) -> Table:
    ordered = sorted(lines, key=lambda one: (-one.cost, one.namespace, one.principal, one.topic))[:MAX_RANKED]
    rows = [
        (one.namespace, one.principal or _STORAGE, one.topic or _NO_TOPIC, Amount(one.cost, currency))
        for one in ordered
    ]
    return Table(("namespace", "principal", "topic", currency), rows, "Nothing was used.")


def _restated(found: Sequence[Restated], currency: str) -> Table:
    ordered = sorted(found, key=lambda one: (-abs(one.now - one.was), one.day, one.tenant))[:MAX_RESTATED]
    rows = [
        (
            one.day,
            one.tenant,
            ITEMS[Sku(one.sku)],
            WHY.get(one.reason, one.reason),
            Amount(one.was, currency),
            Amount(one.now, currency),
        )
        for one in ordered
    ]
    heads = ("day", "tenant", "meter", "because of", f"was, {currency}", f"is, {currency}")
    return Table(heads, rows, unbroken=("day",))


def _corrected(found: Sequence[Corrected], currency: str) -> Table:
    sums = totals(((one.month, one.tenant, one.sku, one.reason), one.cost) for one in found)
    ordered = sorted(sums.items(), key=lambda pair: (-abs(pair[1]), pair[0]))[:MAX_RESTATED]
    rows = [
        (month, tenant, ITEMS[Sku(sku)], WHY.get(reason, reason), Amount(cost, currency))
        for (month, tenant, sku, reason), cost in ordered
    ]
    return Table(("bill of", "tenant", "meter", "because of", currency), rows, unbroken=("bill of",))


def _budgets(figures: BillFigures, tenant: str | None) -> list[BudgetLine]:
    return [
        BudgetLine(_namespace(budget), budget.monthly, outlook.spent, outlook.projected, outlook.text)
        for budget, outlook in outlooks(figures)
        if tenant in (None, budget.tenant)
    ]


def _spending(figures: BillFigures, budget: Budget) -> Spending:
    root = _namespace(budget)
    ours = [
        one
        for one in figures.namespaces
        if one.tenant == budget.tenant and (one.namespace == root or one.namespace.startswith(f"{root}:"))
    ]
    by_bytes = {Sku.PRODUCED_BYTES.value, Sku.FETCHED_BYTES.value}
    quantities = totals((one.sku, one.quantity) for one in ours)
    return Spending(
        by_bytes=sum((one.cost for one in ours if one.sku in by_bytes), Decimal(0)),
        by_rest=sum((one.cost for one in ours if one.sku not in by_bytes), Decimal(0)),
        produced_bytes=int(quantities.get(Sku.PRODUCED_BYTES.value, Decimal(0)) * GIB),
        fetched_bytes=int(quantities.get(Sku.FETCHED_BYTES.value, Decimal(0)) * GIB),
    )


def _namespace(budget: Budget) -> str:
    """Return the journal's name of a budget's namespace: the tenant, followed by its tiers."""
    return f"{budget.tenant}:{budget.namespace}" if budget.namespace else budget.tenant
