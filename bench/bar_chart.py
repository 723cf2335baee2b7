"""The plot of a run: a small panel for each figure, a bar for each subject with its minimum and maximum."""

from collections.abc import Sequence

from bench.percentiles import spread
from bench.subjects import DIRECT
from bench.svg import SERIES, Svg
from bench.table import Table

COLUMNS = 3
PANEL_WIDTH, BAR_HEIGHT, BAR_GAP = 300, 14, 8
MARGIN, GUTTER = 28, 26
HEAD, PANEL_HEAD = 84, 40
LABEL_WIDTH = 62
"""Right of the longest bar, for its figure."""
_WHISKER = 3


def draw_bars(title: str, subtitle: str, tables: Sequence[Table]) -> str:
    """Return the drawing of what the tables want plotted, as SVG."""
    panels = [(table, row) for table in tables for row in table.plotted if row in table.rows]
    names = list(dict.fromkeys(name for table, row in panels for name, v in table.rows[row].items() if v))
    panel_height = PANEL_HEAD + len(names) * (BAR_HEIGHT + BAR_GAP) + 18
    lines = -(-len(panels) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GUTTER
    svg = Svg(width, HEAD + lines * panel_height + MARGIN // 2, title)
    svg.text(MARGIN, 34, title, size=18, bold=True)
    svg.text(MARGIN, 54, subtitle, colour="soft")
    _legend(svg, names, MARGIN, 68)
    for number, (table, row) in enumerate(panels):
        x = MARGIN + number % COLUMNS * (PANEL_WIDTH + GUTTER)
        _panel(svg, table, row, names, x, HEAD + number // COLUMNS * panel_height)
    return svg.render()


def _legend(svg: Svg, names: Sequence[str], x: float, y: float) -> None:
    for number, name in enumerate(names):
        svg.rect(x, y, 11, 11, colour_of(number), 2)
        svg.text(x + 17, y + 10, name)
        x += 17 + 6.6 * len(name) + 24


def _panel(svg: Svg, table: Table, row: str, names: Sequence[str], x: float, y: float) -> None:
    svg.line(x, y + 14, x + PANEL_WIDTH, y + 14, "grid")
    svg.text(x, y + 31, row, bold=True, size=12.5)
    better = "less is better" if table.is_less_better else "more is better"
    svg.text(x + PANEL_WIDTH, y + 31, f"{table.unit}, {better}", colour="soft", size=11, anchor="end")
    values = table.rows[row]
    most = max((max(values[name]) for name in names if values.get(name)), default=1) or 1
    scale = (PANEL_WIDTH - LABEL_WIDTH) / most
    for number, name in enumerate(names):
        top = y + PANEL_HEAD + number * (BAR_HEIGHT + BAR_GAP)
        middle = top + BAR_HEIGHT / 2
        if not values.get(name):
            said = "nothing in between" if name == DIRECT else "not measured"
            svg.text(x, middle + 4, said, colour="soft", size=11)
            continue
        found = spread(values[name])
        svg.rect(x, top, max(found.median * scale, 1), BAR_HEIGHT, colour_of(number), 2)
        end = found.median * scale
        if len(values[name]) > 1:
            end = found.most * scale
            svg.line(x + found.least * scale, middle, x + end, middle, "ink", 1)
            for value in (found.least, found.most):
                at = x + value * scale
                svg.line(at, middle - _WHISKER, at, middle + _WHISKER, "ink", 1)
        svg.text(x + end + 6, middle + 4, f"{found.median:,.{table.digits}f}", size=11)


def colour_of(number: int) -> str:
    """Return the colour of the subject or series of this number."""
    return f"s{number % SERIES}"
