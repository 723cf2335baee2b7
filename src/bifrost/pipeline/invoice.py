"""An invoice: who owes what to whom, for a tenant and a month. Pure; `billing/invoices.py` makes it of charges.

The gross and the net amount of each line are rounded to the precision of the currency; its discount is the difference
of the two. All totals are sums of these lines, so a reader who adds up the shown amounts gets the shown total. Tax is
computed once, from the net total.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from bifrost.pipeline.money import rounded


@dataclass(frozen=True, slots=True)
class Party:
    """The seller or the buyer."""

    name: str
    address: Sequence[str] = ()
    tax_id: str = ""


@dataclass(frozen=True, slots=True)
class Tax:
    """The tax on the net total."""

    name: str
    percent: Decimal
    note: str = ""
    """E.g. why there is none: `Reverse charge`."""


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """What one meter cost at one price; `gross` and `net` are rounded."""

    item: str
    meter: str
    quantity: Decimal
    unit: str
    unit_price: Decimal | None
    """Of the price list, for one unit; None where the line is a difference of several prices."""

    gross: Decimal
    """At list prices."""

    net: Decimal
    is_correction: bool = False
    """Whether it corrects an invoice of an earlier month."""

    @property
    def discount(self) -> Decimal:
        """The part of the gross amount that is not paid."""
        return self.gross - self.net


@dataclass(frozen=True, slots=True)
class Invoice:
    """A tenant's bill of a month."""

    tenant: str
    number: str
    currency: str
    first_day: datetime.date
    last_day: datetime.date
    sections: Sequence[tuple[str, Sequence[InvoiceLine]]]
    """Each a heading and its lines."""

    tax: Tax | None = None
    seller: Party | None = None
    buyer: Party | None = None
    reference: str = ""
    """The buyer's: e.g. a purchase order."""

    payment: Sequence[str] = ()
    """How to pay: e.g. the seller's account."""

    discount_percent: Decimal = Decimal(0)
    issued_on: datetime.date | None = None
    """None: the bill is provisional and may change."""

    due_on: datetime.date | None = None

    @property
    def lines(self) -> list[InvoiceLine]:
        """The lines of all sections."""
        return [line for _heading, lines in self.sections for line in lines]

    @property
    def gross(self) -> Decimal:
        """The sum of the gross amounts."""
        return sum((line.gross for line in self.lines), Decimal(0))

    @property
    def net(self) -> Decimal:
        """The sum of the net amounts."""
        return sum((line.net for line in self.lines), Decimal(0))

    @property
    def discount(self) -> Decimal:
        """The sum of the discounts."""
        return self.gross - self.net

    @property
    def corrected(self) -> Decimal:
        """The part of the net total that corrects earlier invoices."""
        return sum((line.net for line in self.lines if line.is_correction), Decimal(0))

    @property
    def tax_amount(self) -> Decimal:
        """The tax on the net total, rounded."""
        share = self.tax.percent / 100 if self.tax else Decimal(0)
        return rounded(self.net * share, self.currency)

    @property
    def total(self) -> Decimal:
        """The amount to pay."""
        return self.net + self.tax_amount
