"""Makes the pages of a bill from its figures: the platform's and each tenant's. Pure."""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from bifrost.pipeline.billing.budgets import Outlook, Spending, look_ahead
from bifrost.pipeline.billing.price_book import Budget, PriceBook, Sku
from bifrost.pipeline.billing.rating import GIB, NAMES, UNITS
from bifrost.pipeline.report import BillReport, BudgetLine, Table

Key = TypeVar("Key")
MAX_RANKED = 12
"""Bars of a ranking: as many as a reader can compare."""
MAX_RESTATED = 30
"""Restated or corrected lines on a page; all of them are in the tables `restatements` and `corrections`."""
_STORAGE, _NO_TOPIC = "(stored)", "(requests, connections)"
"""Names of costs without a principal, and of costs without a topic."""
_WHY = {"usage": "late usage", "price": "price"}


@dataclass(frozen=True, slots=True)
class DayCost:
    """What a tenant's use of one meter cost on a day."""

    tenant: str
    day: str
    sku: str
    quantity: Decimal
    list_cost: Decimal
    cost: Decimal


@dataclass(frozen=True, slots=True)
class NamespaceCost:
    """What a namespace's use of one meter cost in the period."""

    tenant: str
    namespace: str
    sku: str
    quantity: Decimal
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Line:
    """What one principal's use of one topic cost in the period; a text is empty where there is none."""

    tenant: str
    namespace: str
    principal: str
    topic: str
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Restated:
    """An amount that differs from the revision before."""

    tenant: str
    day: str
    sku: str
    was: Decimal
    now: Decimal
    reason: str


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correction of an earlier bill, which was issued."""

    tenant: str
    month: str
    sku: str
    reason: str
    cost: Decimal


@dataclass(frozen=True, slots=True)
class BillFigures:
    """All that the pages of a month need."""

    book: PriceBook
    month: str
    revision: int
    days: Sequence[DayCost]
    namespaces: Sequence[NamespaceCost]
    lines: Sequence[Line]
    restated: Sequence[Restated] = field(default_factory=tuple)
    corrected: Sequence[Corrected] = field(default_factory=tuple)
    is_issued: bool = False


def tenants_of(figures: BillFigures) -> list[str]:
    """Return the tenants of a bill, the largest first."""
    used = [(one.tenant, one.cost) for one in figures.days]
    totals = _totals(used + [(one.tenant, one.cost) for one in figures.corrected])
    return [name for name, _cost in _largest(totals)]


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


def quota_lines(figures: BillFigures) -> list[dict[str, object]]:
    """Return the suggested quotas, each in the words of the configuration and of Kafka."""
    return [
        {
            "tenant": budget.tenant,
            "namespace": budget.namespace,
            "budget": str(budget.monthly),
            "projected": f"{outlook.projected:.2f}",
            "producer_byte_rate": outlook.quota.producer_byte_rate if outlook.quota else None,
            "consumer_byte_rate": outlook.quota.consumer_byte_rate if outlook.quota else None,
            "because": outlook.text,
        }
        for budget, outlook in outlooks(figures)
        if outlook.text
    ]


def platform_page(figures: BillFigures, links: Sequence[tuple[str, str]]) -> BillReport:
    """Return the page of the platform as a whole."""
    totals = _totals((one.tenant, one.cost) for one in figures.days)
    ranked = [(name, float(cost)) for name, cost in _largest(totals)[:MAX_RANKED]]
    return _page(
        figures, f"{figures.book.provider}: all tenants", figures.days, "Largest tenants", ranked, None, links
    )


def tenant_page(figures: BillFigures, tenant: str) -> BillReport:
    """Return the page of one tenant, which shows nothing of other tenants."""
    days = [one for one in figures.days if one.tenant == tenant]
    totals = _totals((one.namespace, one.cost) for one in figures.namespaces if one.tenant == tenant)
    ranked = [(name, float(cost)) for name, cost in _largest(totals)[:MAX_RANKED]]
    return _page(figures, tenant, days, "Namespaces", ranked, tenant, ())


def _page(
    figures: BillFigures,
    title: str,
    costs: Sequence[DayCost],
    ranked_title: str,
    ranked: Sequence[tuple[str, float]],
    tenant: str | None,
    links: Sequence[tuple[str, str]],
) -> BillReport:
    days = sorted({one.day for one in figures.days})
    corrected = [one for one in figures.corrected if tenant in (None, one.tenant)]
    corrected_total = sum((one.cost for one in corrected), Decimal(0))
    by_day: dict[tuple[str, str], Decimal] = _totals(((one.sku, one.day), one.cost) for one in costs)
    return BillReport(
        title=title,
        provider=figures.book.provider,
        currency=figures.book.currency,
        period=figures.month,
        revision=figures.revision,
        is_issued=figures.is_issued,
        total=sum((one.cost for one in costs), corrected_total),
        corrected_total=corrected_total,
        list_total=sum((one.list_cost for one in costs), Decimal(0)),
        days=days,
        by_sku=[
            (NAMES[sku], [float(by_day.get((sku.value, day), Decimal(0))) for day in days]) for sku in Sku
        ],
        ranked_title=ranked_title,
        ranked=ranked,
        meters=_meters(costs, figures.book.currency),
        lines=_lines(
            [one for one in figures.lines if tenant in (None, one.tenant)], figures.book.currency, tenant
        ),
        restated=_restated(
            [one for one in figures.restated if tenant in (None, one.tenant)], figures.book.currency
        ),
        corrected=_corrected(corrected, figures.book.currency),
        budgets=_budgets(figures, tenant),
        links=links,
    )


def _meters(costs: Sequence[DayCost], currency: str) -> Table:
    quantities = _totals((one.sku, one.quantity) for one in costs)
    totals = _totals((one.sku, one.cost) for one in costs)
    rows = [
        (NAMES[sku], quantities[sku.value], _readable(UNITS[sku]), totals[sku.value])
        for sku in Sku
        if sku.value in quantities
    ]
    return Table(("meter", "quantity", "unit", currency), rows, "Nothing was used.")


def _readable(unit: str) -> str:
    """Return a unit in readable form: a million for FOCUS's `1000000 Requests`."""
    return (
        unit.replace("1000000 Requests", "million requests")
        .replace("Hours", "hours")
        .replace("Months", "months")
    )


def _lines(lines: Sequence[Line], currency: str, tenant: str | None) -> Table:
    largest = sorted(lines, key=lambda one: (-one.cost, one.namespace, one.principal, one.topic))[:MAX_RANKED]
    rows = [(one.namespace, one.principal or _STORAGE, one.topic or _NO_TOPIC, one.cost) for one in largest]
    return Table(("namespace", "principal", "topic", currency), rows, "Nothing was used.")


def _restated(found: Sequence[Restated], currency: str) -> Table:
    largest = sorted(found, key=lambda one: (-abs(one.now - one.was), one.day, one.tenant))[:MAX_RESTATED]
    rows = [
        (one.day, one.tenant, NAMES[Sku(one.sku)], _WHY.get(one.reason, one.reason), one.was, one.now)
        for one in largest
    ]
    return Table(("day", "tenant", "meter", "because of", f"was, {currency}", f"is, {currency}"), rows)


def _corrected(found: Sequence[Corrected], currency: str) -> Table:
    totals = _totals(((one.month, one.tenant, one.sku, one.reason), one.cost) for one in found)
    largest = sorted(totals.items(), key=lambda pair: (-abs(pair[1]), pair[0]))[:MAX_RESTATED]
    rows = [
        (month, tenant, NAMES[Sku(sku)], _WHY.get(reason, reason), cost)
        for (month, tenant, sku, reason), cost in largest
    ]
    return Table(("bill of", "tenant", "meter", "because of", currency), rows)


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
    quantities = _totals((one.sku, one.quantity) for one in ours)
    return Spending(
        by_bytes=sum((one.cost for one in ours if one.sku in by_bytes), Decimal(0)),
        by_rest=sum((one.cost for one in ours if one.sku not in by_bytes), Decimal(0)),
        produced_bytes=int(quantities.get(Sku.PRODUCED_BYTES.value, Decimal(0)) * GIB),
        fetched_bytes=int(quantities.get(Sku.FETCHED_BYTES.value, Decimal(0)) * GIB),
    )


def _namespace(budget: Budget) -> str:
    """Return the journal's name of a budget's namespace: the tenant, followed by its tiers."""
    return f"{budget.tenant}:{budget.namespace}" if budget.namespace else budget.tenant


def _totals(pairs: Iterable[tuple[Key, Decimal]]) -> dict[Key, Decimal]:
    totals: dict[Key, Decimal] = defaultdict(Decimal)
    for key, amount in pairs:
        totals[key] += amount
    return totals


def _largest(totals: dict[str, Decimal]) -> list[tuple[str, Decimal]]:
    return sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
