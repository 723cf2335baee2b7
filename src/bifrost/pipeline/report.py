"""Renders a bill as a page for people: one HTML file with its plots inside. A tenant's is an invoice and its details.

Figures in, text out. The pages are Jinja2 templates in `templates/`; they load nothing and run no script, so a page can
be mailed, archived and printed. Jinja2 escapes all text, above all that of tenants (topic names, client IDs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bifrost.pipeline.invoice import Invoice
from bifrost.pipeline.money import Amount, show_amount, show_money, show_price, show_quantity, smallest
from bifrost.pipeline.plots import Series, figure, ranked_bars, stacked_bars


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report; cells with numbers are right-aligned."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Amount | Decimal | int]]
    empty: str = "nothing"
    unbroken: Sequence[str] = ()
    """The heads of the columns whose values stay on one line: settings, units, dates."""

    total: Sequence[str | Amount] = ()
    """A last row with sums; empty: none."""

    @property
    def is_number(self) -> list[bool]:
        """Whether each column has numbers alone, or nothing where a row has no number."""
        columns = [[row[place] for row in self.rows] for place in range(len(self.heads))]
        return [
            any(one != "" for one in column) and all(one == "" or not isinstance(one, str) for one in column)
            for column in columns
        ]

    @property
    def classes(self) -> list[str]:
        """The class of each column in the style sheet: `n` for a number, `w` for a value that is kept whole."""
        marks = zip(self.heads, self.is_number, strict=True)
        return ["n" if number else "w" if head in self.unbroken else "" for head, number in marks]


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """A budget and its outlook."""

    name: str
    monthly: Decimal
    spent: Decimal
    projected: Decimal
    """The cost of the month if usage goes on like this."""

    suggestion: str
    """The quota that keeps the budget, in words; empty if there is none."""

    @property
    def percent(self) -> float:
        """The projected share of the budget."""
        if not self.monthly:
            return 990.0 if self.projected else 100.0
        return float(self.projected / self.monthly) * 100

    @property
    def state(self) -> str:
        """Whether the budget is exceeded: `over`, `near` or `good`."""
        return "over" if self.percent > 100 else "near" if self.percent > 85 else "good"


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant's invoice, on the page of the platform."""

    name: str
    number: str
    link: str
    """The relative address of the tenant's page; empty: it has none."""

    net: Decimal
    tax: Decimal

    @property
    def total(self) -> Decimal:
        """The amount to pay."""
        return self.net + self.tax


@dataclass(frozen=True, slots=True)
class BillReport:
    """The content of a page."""

    title: str
    """The title: the platform, or the tenant of the bill."""

    provider: str
    currency: str
    period: str
    revision: int
    """1 for the first bill of the period; more when late usage or a price restated it."""

    total: Decimal
    """The net total of the invoices, corrections included."""

    discount: Decimal
    days: Sequence[str]
    by_sku: Sequence[tuple[str, Sequence[float]]]
    """The cost of each day, for each meter."""

    ranked_title: str
    ranked: Sequence[tuple[str, float]]
    """The largest tenants or namespaces, with their costs."""

    meters: Table
    lines: Table
    restated: Table
    corrected: Table = Table((), ())
    """Corrections of earlier bills, on the platform's page; a tenant's are lines of the invoice."""

    corrected_total: Decimal = Decimal(0)
    """The sum of the corrections, which the total includes."""

    tax: Decimal = Decimal(0)
    is_issued: bool = False
    budgets: Sequence[BudgetLine] = ()
    accounts: Sequence[Account] = ()
    """The tenants, on the platform's page."""

    invoice: Invoice | None = None
    """The invoice, on a tenant's page."""


def render(report: BillReport) -> str:
    """Return the page."""
    series = [Series(name, values) for name, values in report.by_sku]
    daily = stacked_bars(
        [day[5:] for day in report.days],
        series,
        title="Cost of each day by meter",
        show=_shown(report.currency),
    )
    ranked = ranked_bars(report.ranked, title=report.ranked_title, show=_shown(report.currency))
    # Plots are the only texts that are markup; what is in them is escaped.
    return _PAGES.get_template("bill.html.j2").render(
        report=report, tiles=_tiles(report), daily=Markup(daily), ranked=Markup(ranked)
    )


def render_tables(title: str, over: str, sections: Sequence[tuple[str, Table]]) -> str:
    """Return a page of tables with the same style.

    Args:
        title: of the page.
        over: a line above the title.
        sections: each a heading and its table.
    """
    return _PAGES.get_template("tables.html.j2").render(title=title, over=over, sections=sections)


def _shown(currency: str) -> Callable[[float], str]:
    return lambda value: show_money(Decimal(value), currency)


def _tiles(report: BillReport) -> list[tuple[str, str]]:
    used = report.total - report.corrected_total
    tiles = [("Total", show_money(report.total, report.currency))]
    if report.tax:
        tiles.append(("With tax", show_money(report.total + report.tax, report.currency)))
    if report.discount:
        tiles.append(("Discount", show_money(report.discount, report.currency)))
    if report.days:
        tiles.append(("A day on average", show_money(used / len(report.days), report.currency)))
    if report.corrected_total:
        tiles.append(("Corrections", show_money(report.corrected_total, report.currency)))
    tiles.append(("Revision", f"{report.revision}, {'issued' if report.is_issued else 'provisional'}"))
    return tiles


def _cell(value: str | Amount | Decimal | int) -> str:
    if isinstance(value, str | Amount):
        return str(value)
    return figure(float(value)) if isinstance(value, Decimal) else f"{value:,}"


_PAGES = Environment(
    loader=PackageLoader("bifrost.pipeline"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_PAGES.filters |= {
    "cell": _cell,
    "amount": show_amount,
    "money": show_money,
    "price": show_price,
    "quantity": show_quantity,
    "smallest": smallest,
    "percent": lambda number: f"{number.normalize():f} %",
}
