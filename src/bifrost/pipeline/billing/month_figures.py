"""The figures of a month's bill, as Spark sums them up (`jobs/bill_figures.py`), for its pages and invoices. Pure."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from bifrost.pipeline.billing.price_book import PriceBook

Key = TypeVar("Key")
WHY = {"usage": "late usage", "price": "price"}
"""Readable reasons of corrections and restatements."""


@dataclass(frozen=True, slots=True)
class DayCost:
    """What a tenant's use of one meter cost on a day."""

    tenant: str
    day: str
    sku: str
    quantity: Decimal
    list_cost: Decimal
    cost: Decimal
    list_price: Decimal = Decimal(0)
    """The unit price of the day, before the discount."""


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
    list_cost: Decimal = Decimal(0)
    quantity: Decimal = Decimal(0)


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
    issued_on: datetime.date | None = None
    """None: the bill is provisional."""


def totals(pairs: Iterable[tuple[Key, Decimal]]) -> dict[Key, Decimal]:
    """Return the sum of the amounts of each key."""
    sums: dict[Key, Decimal] = defaultdict(Decimal)
    for key, amount in pairs:
        sums[key] += amount
    return sums


def largest(sums: dict[str, Decimal]) -> list[tuple[str, Decimal]]:
    """Return the sums, the largest first."""
    return sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))
