"""Renders a bill as a page for people: one HTML file with its plots inside, for a tenant or the platform.

Figures in, text out. The pages are Jinja2 templates in `templates/`; they load nothing and run no script, so a page can
be mailed, archived and printed. Jinja2 escapes all text, above all that of tenants (topic names, client IDs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bifrost.pipeline.plots import Series, figure, ranked_bars, stacked_bars


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report; cells with numbers are right-aligned."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Decimal | int]]
    empty: str = "nothing"

    @property
    def is_number(self) -> list[bool]:
        """Whether each column has numbers alone."""
        places = range(len(self.heads))
        return [all(isinstance(row[place], Decimal | int) for row in self.rows) for place in places]


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
    list_total: Decimal
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
    """Corrections of earlier bills, which were issued."""

    corrected_total: Decimal = Decimal(0)
    """The sum of the corrections, which the total includes."""

    is_issued: bool = False
    budgets: Sequence[BudgetLine] = ()
    links: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """Other pages: name and relative address."""


def render(report: BillReport) -> str:
    """Return the page."""
    series = [Series(name, values) for name, values in report.by_sku]
    return _PAGES.get_template("bill.html.j2").render(
        report=report,
        tiles=_tiles(report),
        # Plots are the only text that is markup; they escape what is in them.
        daily=Markup(
            stacked_bars(
                [day[5:] for day in report.days],
                series,
                title="Cost of each day by meter",
                unit=report.currency,
            )
        ),
        ranked=Markup(ranked_bars(report.ranked, title=report.ranked_title, unit=report.currency)),
    )


def render_tables(title: str, over: str, sections: Sequence[tuple[str, Table]]) -> str:
    """Return a page of tables with the same style.

    Args:
        title: of the page.
        over: a line above the title.
        sections: each a heading and its table.
    """
    return _PAGES.get_template("tables.html.j2").render(title=title, over=over, sections=sections)


def money(amount: Decimal, currency: str) -> str:
    """Return an amount with two decimals, or four where two would show zero."""
    digits = 4 if 0 < abs(amount) < Decimal("0.01") else 2
    return f"{amount:,.{digits}f} {currency}"


def _tiles(report: BillReport) -> list[tuple[str, str]]:
    used = report.total - report.corrected_total
    saved = report.list_total - used
    tiles = [("Total", money(report.total, report.currency))]
    if saved > 0:
        tiles.append(("Discount", money(saved, report.currency)))
    if report.days:
        tiles.append(("A day on average", money(used / len(report.days), report.currency)))
    if report.corrected.rows:
        tiles.append(("Corrections", money(report.corrected_total, report.currency)))
    tiles.append(("Revision", f"{report.revision}, {'issued' if report.is_issued else 'provisional'}"))
    return tiles


def _cell(value: str | Decimal | int) -> str:
    if isinstance(value, str):
        return value
    return figure(float(value)) if isinstance(value, Decimal) else f"{value:,}"


_PAGES = Environment(
    loader=PackageLoader("bifrost.pipeline"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_PAGES.filters |= {"cell": _cell, "money": money}
