"""The plot of a growth: what a request costs over how much there is of something, both axes logarithmic or not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.percentiles import spread
from bench.svg import LIGHT, as_file, colour_of, write_text
from bifrost.pipeline.plots import axes_at, figure_of, style

WIDTH, HEIGHT = 760, 438
LEFT, RIGHT, TOP, BOTTOM = 74, 30, 150, 58
MARGIN = 28
SUBTITLE_CHARACTERS = 110
LEGEND, LEGEND_COLUMNS = 84, 3
WIDE_RANGE = 30.0
"""From this ratio of the largest value to the least on, the values' axis is logarithmic."""
_TICKS = 6
_ROOM = 0.03
"""Of the width, left and right of the points."""


@dataclass
class Lines:
    """What is plotted: for each series, the rounds' values at each point."""

    title: str
    subtitle: str
    x_label: str
    y_label: str
    series: dict[str, dict[int, list[float]]] = field(default_factory=dict)


def draw_lines(lines: Lines) -> str:
    """Return the drawing as an SVG file: a line through the medians, a band from minimum to maximum."""
    points = sorted({x for one in lines.series.values() for x in one})
    with style():
        drawing = figure_of(WIDTH, HEIGHT)
        write_text(drawing, MARGIN, 34, lines.title, size=17, weight="bold")
        for number, line in enumerate(wrap(lines.subtitle, SUBTITLE_CHARACTERS)):
            write_text(drawing, MARGIN, 54 + 16 * number, line, "soft", size=12)
        write_text(drawing, MARGIN, TOP - 14, lines.y_label, "soft", size=11.5)
        axes = axes_at(drawing, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
        for number, (name, rounds) in enumerate(lines.series.items()):
            _series(axes, name, rounds, colour_of(number + 1))
        _scale(axes, points, [value for one in lines.series.values() for v in one.values() for value in v])
        axes.set_xlabel(lines.x_label, size=12, color=LIGHT["ink"])
        axes.tick_params(labelcolor=LIGHT["soft"])
        axes.grid(axis="y", color=LIGHT["grid"], linewidth=1)
        drawing.legend(
            loc="upper left",
            bbox_to_anchor=(MARGIN / WIDTH, 1 - LEGEND / HEIGHT),
            ncols=LEGEND_COLUMNS,
            frameon=False,
            labelcolor=LIGHT["ink"],
            borderpad=0,
            borderaxespad=0,
        )
        return as_file(drawing, lines.title)


def _scale(axes: Axes, points: Sequence[int], values: Sequence[float]) -> None:
    if min(values) > 0 and max(values) / min(values) > WIDE_RANGE:
        axes.set_yscale("log")
    else:
        axes.update_datalim([(points[0], 0)])
        axes.yaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 2.5, 5, 10]))
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _place: _short(value))
    axes.set_xscale("log")
    room = (points[-1] / points[0]) ** _ROOM if len(points) > 1 else 2.0
    axes.set_xlim(points[0] / room, points[-1] * room)
    axes.set_xticks(points, [f"{point:,}" for point in points])
    axes.minorticks_off()


def _series(axes: Axes, name: str, rounds: Mapping[int, list[float]], colour: str) -> None:
    points = sorted(rounds)
    found = [spread(rounds[point]) for point in points]
    axes.fill_between(
        points,
        [one.least for one in found],
        [one.most for one in found],
        color=colour,
        alpha=0.18,
        linewidth=0,
    )
    axes.plot(
        points,
        [one.median for one in found],
        color=colour,
        linewidth=2,
        marker="o",
        markersize=7,
        markeredgecolor=LIGHT["paper"],
        label=name,
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"
