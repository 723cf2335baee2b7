"""The plot of a run: a small panel for each figure, a bar for each subject with its minimum and maximum."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from bench.percentiles import spread
from bench.subjects import DIRECT
from bench.svg import LIGHT, as_file, colour_of, write_text
from bench.table import Table
from bifrost.pipeline.plots import axes_at, figure_of, style, write_beside

COLUMNS = 3
PANEL_WIDTH, BAR_SLOT = 300, 22
MARGIN, GUTTER = 28, 26
HEAD, PANEL_HEAD, PANEL_FOOT = 84, 40, 18
LABEL_WIDTH = 62
"""Right of the longest bar, for its figure."""
_BAR_SHARE = 0.64
_WHISKER = 3


def draw_bars(title: str, subtitle: str, tables: Sequence[Table]) -> str:
    """Return the drawing of what the tables want plotted, as an SVG file."""
    panels = [(table, row) for table in tables for row in table.plotted if row in table.rows]
    names = list(dict.fromkeys(name for table, row in panels for name, v in table.rows[row].items() if v))
    bars_height = len(names) * BAR_SLOT
    lines = -(-len(panels) // COLUMNS)
    width = 2 * MARGIN + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GUTTER
    height = HEAD + lines * (PANEL_HEAD + bars_height + PANEL_FOOT) + MARGIN // 2
    with style():
        drawing = figure_of(width, height)
        write_text(drawing, MARGIN, 34, title, size=18, weight="bold")
        write_text(drawing, MARGIN, 54, subtitle, "soft", size=12)
        drawing.legend(
            handles=[Patch(color=colour_of(number), label=name) for number, name in enumerate(names)],
            loc="upper left",
            bbox_to_anchor=(MARGIN / width, 1 - 62 / height),
            ncols=max(1, len(names)),
            frameon=False,
            labelcolor=LIGHT["ink"],
            handlelength=1,
            borderpad=0,
            borderaxespad=0,
        )
        for number, (table, row) in enumerate(panels):
            x = MARGIN + number % COLUMNS * (PANEL_WIDTH + GUTTER)
            y = HEAD + number // COLUMNS * (PANEL_HEAD + bars_height + PANEL_FOOT) + PANEL_HEAD
            _panel(axes_at(drawing, x, y, PANEL_WIDTH, bars_height), table, row, names)
        return as_file(drawing, title)


def _panel(axes: Axes, table: Table, row: str, names: Sequence[str]) -> None:
    values = table.rows[row]
    most = max((max(values[name]) for name in names if values.get(name)), default=1) or 1
    better = "less is better" if table.is_less_better else "more is better"
    axes.set_title(row, loc="left", size=12.5, weight="bold", color=LIGHT["ink"])
    axes.set_title(f"{table.unit}, {better}", loc="right", size=11, color=LIGHT["soft"])
    axes.set_xlim(0, most * PANEL_WIDTH / (PANEL_WIDTH - LABEL_WIDTH))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    for number, name in enumerate(names):
        if not values.get(name):
            said = "nothing in between" if name == DIRECT else "not measured"
            axes.text(0, number, said, color=LIGHT["soft"], va="center_baseline")
            continue
        found = spread(values[name])
        axes.barh(number, found.median, _BAR_SHARE, color=colour_of(number))
        end = found.median
        if len(values[name]) > 1:
            end = found.most
            around = [[found.median - found.least], [found.most - found.median]]
            axes.errorbar(
                found.median,
                number,
                xerr=around,
                ecolor=LIGHT["ink"],
                elinewidth=1,
                capsize=_WHISKER,
                fmt="none",
            )
        write_beside(axes, (end, number), f"{found.median:,.{table.digits}f}", LIGHT["ink"])
