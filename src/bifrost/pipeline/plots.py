"""Draws plots as SVG text for an HTML page: no script, nothing fetched, readable in light and dark mode and in print.

Colours are classes (`s0` ... `s5`) whose values the page's style sheet defines; each mark has its figures in a
`<title>`, so that a mouse pointer shows them and a screen reader reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 760
COLOURS = 6
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 8, 12, 26
_LABEL_EVERY_PX = 58


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of bar: a value for each place on the axis."""

    name: str
    values: Sequence[float]


def stacked_bars(
    labels: Sequence[str], series: Sequence[Series], *, title: str, unit: str, height: int = 240
) -> str:
    """Return stacked bars, one stack for each label.

    Args:
        labels: the texts below the stacks.
        series: at most COLOURS, each with a value (0 or more) for each label.
        title: what the plot shows, for screen readers.
        unit: the unit after a figure, e.g. EUR.
    """
    totals = [sum(one.values[place] for one in series) for place in range(len(labels))]
    top, step = _nice_top(max(totals, default=0.0))
    inner_w, inner_h = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    slot = inner_w / max(1, len(labels))
    bar = max(1.0, min(46.0, slot * 0.72))
    parts = [_open(title, height), *_grid(top, step, inner_h, height)]
    every = max(1, math.ceil(_LABEL_EVERY_PX / slot))
    for place, label in enumerate(labels):
        left = _LEFT + slot * place + (slot - bar) / 2
        base = float(height - _BOTTOM)
        for index, one in enumerate(series):
            value = one.values[place]
            if value <= 0:
                continue
            size = value / top * inner_h
            base -= size
            tip = f"{label}: {one.name} {figure(value)} {unit}"
            parts.append(_bar(left, base, bar, size, index, tip))
        if place % every == 0:
            middle = left + bar / 2
            parts.append(
                f'<text class="axis" x="{middle:.1f}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>'
            )
    return "".join([*parts, "</svg>"])


def ranked_bars(rows: Sequence[tuple[str, float]], *, title: str, unit: str) -> str:
    """Return horizontal bars in the given order, each with its name and figure."""
    row_h, name_w, figure_w = 26, 190, 110
    height = row_h * max(1, len(rows)) + 6
    largest = max((value for _name, value in rows), default=0.0) or 1.0
    parts = [_open(title, height)]
    for place, (name, value) in enumerate(rows):
        y = place * row_h + 4
        size = max(1.0, value / largest * (WIDTH - name_w - figure_w - 12)) if value > 0 else 0
        shown = name if len(name) <= 28 else name[:27] + "…"
        parts.append(
            f'<text class="name" x="{name_w - 8}" y="{y + 14}" text-anchor="end">{escape(shown)}</text>'
        )
        parts.append(_bar(name_w, y, size, row_h - 8, 0, f"{name}: {figure(value)} {unit}"))
        parts.append(
            f'<text class="axis" x="{name_w + size + 8:.1f}" y="{y + 14}">{figure(value)} {escape(unit)}</text>'
        )
    return "".join([*parts, "</svg>"])


def figure(value: float) -> str:
    """Return a number with as many digits as are readable at a glance."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 2 if abs(value) >= 0.01 else 4
    return f"{value:,.{digits}f}"


def _nice_top(largest: float) -> tuple[float, float]:
    """Return the end of the axis and the distance of its lines: 1, 2 or 5 times a power of ten."""
    if largest <= 0:
        return 1.0, 0.5
    rough = largest / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return math.ceil(largest / step) * step, step


def _open(title: str, height: int) -> str:
    named = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{named}"><title>{named}</title>'


def _grid(top: float, step: float, inner_h: float, height: int) -> list[str]:
    lines = []
    for count in range(round(top / step) + 1):
        y = height - _BOTTOM - count * step / top * inner_h
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        text = f"{count * step:,.10g}"
        lines.append(f'<text class="axis" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    return lines


def _bar(x: float, y: float, width: float, height: float, colour: int, tip: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.2f}"'
    return f'<rect class="s{colour % COLOURS}" {place}><title>{escape(tip)}</title></rect>'
