"""Renders a bill as a page for people: one HTML file with its plots inside, for a tenant or the platform.

Pure: figures in, text out. Nothing is fetched and no script runs, so it can be mailed, archived and printed. All text
from a tenant (topic names, client IDs) is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from html import escape

from bifrost.pipeline.plots import Series, figure, legend, ranked_bars, stacked_bars


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the report; cells with numbers are right-aligned."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Decimal | int]]
    empty: str = "nothing"


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
    parts = [
        f"<header><p class=over>{escape(report.provider)} · {escape(report.period)}</p>",
        f"<h1>{escape(report.title)}</h1></header>",
        _tiles(report),
        _section("Day by day", _daily(report)),
        _section(
            report.ranked_title, ranked_bars(report.ranked, title=report.ranked_title, unit=report.currency)
        ),
        _section("What was used", _table(report.meters)),
    ]
    if report.budgets:
        parts.append(_section("Budgets", _budgets(report)))
    parts.append(_section("Largest lines", _table(report.lines)))
    if report.restated.rows:
        parts.append(_section("Restated since the last bill", _table(report.restated)))
    if report.corrected.rows:
        parts.append(_section("Corrections of earlier bills", _table(report.corrected)))
    if report.links:
        links = " ".join(
            f'<a href="{escape(to, quote=True)}">{escape(name)}</a>' for name, to in report.links
        )
        parts.append(_section("Tenants", f'<p class="links">{links}</p>'))
    return _document(f"{report.title}, {report.period}", parts)


def render_tables(title: str, over: str, sections: Sequence[tuple[str, Table]]) -> str:
    """Return a page of tables with the same style.

    Args:
        title: of the page.
        over: a line above the title.
        sections: each a heading and its table.
    """
    head = f"<header><p class=over>{escape(over)}</p><h1>{escape(title)}</h1></header>"
    return _document(title, [head, *(_section(name, _table(table)) for name, table in sections)])


def _document(title: str, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def money(amount: Decimal, currency: str) -> str:
    """Return an amount with two decimals, or four where two would show zero."""
    digits = 4 if 0 < abs(amount) < Decimal("0.01") else 2
    return f"{amount:,.{digits}f} {currency}"


def _tiles(report: BillReport) -> str:
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
    shown = "".join(f"<div><span>{escape(name)}</span><b>{escape(value)}</b></div>" for name, value in tiles)
    return f'<section class="tiles">{shown}</section>'


def _daily(report: BillReport) -> str:
    series = [Series(name, values) for name, values in report.by_sku]
    plot = stacked_bars(
        [day[5:] for day in report.days], series, title="Cost of each day by meter", unit=report.currency
    )
    return legend([name for name, _values in report.by_sku]) + plot


def _budgets(report: BillReport) -> str:
    rows = []
    for one in report.budgets:
        share = float(one.projected / one.monthly) if one.monthly else (1.0 if not one.projected else 9.9)
        state = "over" if share > 1 else "near" if share > 0.85 else "good"
        bar = f'<div class="meter {state}"><i style="width:{min(100.0, share * 100):.1f}%"></i></div>'
        cells = (money(one.spent, ""), money(one.projected, ""), money(one.monthly, ""))
        figures = "".join(f"<td class=n>{cell}</td>" for cell in cells)
        advice = f"<br><small>{escape(one.suggestion)}</small>" if one.suggestion else ""
        rows.append(f"<tr><td>{escape(one.name)}{advice}</td><td>{bar}</td>{figures}</tr>")
    numbers = "".join(f"<th class=n>{name}</th>" for name in ("so far", "projected", "budget"))
    head = f"<tr><th>namespace</th><th></th>{numbers}</tr>"
    return f"<div class=scroll><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table></div>"


def _table(table: Table) -> str:
    if not table.rows:
        return f"<p>{escape(table.empty)}</p>"
    is_number = [
        all(isinstance(row[place], Decimal | int) for row in table.rows) for place in range(len(table.heads))
    ]
    mark = [' class="n"' if number else "" for number in is_number]
    head = "".join(f"<th{mark[place]}>{escape(name)}</th>" for place, name in enumerate(table.heads))
    rows = []
    for row in table.rows:
        cells = (f"<td{mark[place]}>{_cell(value)}</td>" for place, value in enumerate(row))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(value: str | Decimal | int) -> str:
    return (
        escape(value)
        if isinstance(value, str)
        else figure(float(value))
        if isinstance(value, Decimal)
        else f"{value:,}"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


# Okabe and Ito's palette, whose colours are distinct for colour-blind readers.
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--soft:#5c6675;--line:#e3e7ee;--card:#fff;--page:#f5f7fa;
--c0:#0072b2;--c1:#e69f00;--c2:#009e73;--c3:#cc79a7;--c4:#56b4e9;--c5:#d55e00}
@media(prefers-color-scheme:dark){:root{--ink:#e8ecf2;--soft:#9aa5b5;--line:#313a47;--card:#1b222c;--page:#12171e}}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:880px;margin:0 auto;padding:36px 20px 60px}h1{margin:0 0 20px;font-size:30px;letter-spacing:-.02em}
h2{margin:0 0 12px;font-size:16px}.over{margin:0;color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:20px 22px;margin:0 0 16px}
.tiles{display:flex;flex-wrap:wrap;gap:12px;background:none;border:0;padding:0}
.tiles div{flex:1 1 155px;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 16px}
.tiles span{display:block;color:var(--soft);font-size:13px}.tiles b{font-size:20px;white-space:nowrap;
font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto}svg text{fill:var(--ink);font:12px system-ui,sans-serif}
svg .axis{fill:var(--soft);font-size:11px;font-variant-numeric:tabular-nums}svg .grid{stroke:var(--line)}
.s0{fill:var(--c0)}.s1{fill:var(--c1)}.s2{fill:var(--c2)}.s3{fill:var(--c3)}.s4{fill:var(--c4)}.s5{fill:var(--c5)}
.legend{margin:0 0 8px;color:var(--soft);font-size:13px}.legend span{margin-right:16px;white-space:nowrap}
.legend i{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.k0{background:var(--c0)}.k1{background:var(--c1)}.k2{background:var(--c2)}.k3{background:var(--c3)}
.k4{background:var(--c4)}.k5{background:var(--c5)}.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse;font-size:14px}th{color:var(--soft);font-weight:500;text-align:left}
th,td{padding:7px 10px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
th{overflow-wrap:normal}td:first-child{min-width:130px}
tr:last-child td{border-bottom:0}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
small{color:var(--soft)}.links a{margin-right:12px;color:var(--c0);white-space:nowrap}
.meter{width:min(150px,20vw);height:9px;margin-top:7px;border-radius:5px;background:var(--line);overflow:hidden}
.meter i{display:block;height:100%;background:var(--c2)}.near i{background:var(--c1)}.over i{background:var(--c5)}
@media print{body{background:#fff}section,.tiles div{break-inside:avoid}}
"""
