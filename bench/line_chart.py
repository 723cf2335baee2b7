"""The plot of a growth: what a request costs over how much there is of something, both axes logarithmic or not."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from bench.bar_chart import colour_of
from bench.percentiles import spread
from bench.svg import Svg

WIDTH, HEIGHT = 760, 438
LEFT, RIGHT, TOP, BOTTOM = 74, 30, 150, 58
MARGIN = 28
SUBTITLE_CHARACTERS = 110
LEGEND, LEGEND_LINE = 94, 17
"""The base line of the series' names, and of the next if they need two."""
WIDE_RANGE = 30.0
"""From this ratio of the largest value to the least on, the values' axis is logarithmic."""
_STEPS = (1, 2, 2.5, 5, 10)
_TICKS = 5


@dataclass
class Lines:
    """What is plotted: for each series, the rounds' values at each point."""

    title: str
    subtitle: str
    x_label: str
    y_label: str
    series: dict[str, dict[int, list[float]]] = field(default_factory=dict)


def draw_lines(lines: Lines) -> str:
    """Return the drawing as SVG: a line through the medians, a band from minimum to maximum."""
    svg = Svg(WIDTH, HEIGHT, lines.title)
    svg.text(MARGIN, 34, lines.title, size=17, bold=True)
    for number, line in enumerate(wrap(lines.subtitle, SUBTITLE_CHARACTERS)):
        svg.text(MARGIN, 54 + 16 * number, line, colour="soft", size=12)
    points = sorted({x for one in lines.series.values() for x in one})
    values = [value for one in lines.series.values() for rounds in one.values() for value in rounds]
    place = _Place(points, ticks_for(values))
    for tick in place.ticks:
        y = place.y(tick)
        svg.line(LEFT, y, WIDTH - RIGHT, y, "grid")
        svg.text(LEFT - 8, y + 4, _short(tick), colour="soft", size=11, anchor="end")
    for point in points:
        svg.line(place.x(point), HEIGHT - BOTTOM, place.x(point), HEIGHT - BOTTOM + 5, "soft")
        svg.text(place.x(point), HEIGHT - BOTTOM + 19, f"{point:,}", colour="soft", size=11, anchor="middle")
    svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, lines.x_label, size=12, anchor="middle")
    svg.text(MARGIN, TOP - 14, lines.y_label, colour="soft", size=11.5)
    for number, rounds in enumerate(lines.series.values()):
        _series(svg, place, rounds, colour_of(number + 1))
    _legend(svg, list(lines.series))
    return svg.render()


def ticks_for(values: Sequence[float]) -> list[float]:
    """Return the ticks of an axis that holds the values: from 0 on, or powers of ten if their range is wide."""
    least, most = min(values), max(values)
    if least > 0 and most / least > WIDE_RANGE:
        return [
            10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
        ]
    rough = (most or 1) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in _STEPS if one * power >= rough * 0.999)
    return [step * n for n in range(max(math.ceil(most / step - 1e-9), 1) + 1)]


class _Place:
    """Where a value is on the sheet."""

    def __init__(self, points: Sequence[int], ticks: list[float]) -> None:
        self.ticks = ticks
        self._is_log = ticks[0] > 0
        self._low, self._high = self._scaled(ticks[0]), self._scaled(ticks[-1])
        self._left, self._right = math.log10(points[0]), math.log10(points[-1])

    def x(self, point: float) -> float:
        share = (math.log10(point) - self._left) / ((self._right - self._left) or 1)
        return LEFT + 16 + share * (WIDTH - LEFT - RIGHT - 32)

    def y(self, value: float) -> float:
        share = (self._scaled(value) - self._low) / ((self._high - self._low) or 1)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self._is_log else value


def _series(svg: Svg, place: _Place, rounds: Mapping[int, list[float]], colour: str) -> None:
    found = [(place.x(point), spread(values)) for point, values in sorted(rounds.items())]
    upper = [(x, place.y(one.most)) for x, one in found]
    lower = [(x, place.y(one.least)) for x, one in reversed(found)]
    svg.area(upper + lower, colour)
    svg.path([(x, place.y(one.median)) for x, one in found], colour)
    for x, one in found:
        svg.dot(x, place.y(one.median), colour)


def _legend(svg: Svg, names: Sequence[str]) -> None:
    x, y = float(MARGIN), LEGEND
    for number, name in enumerate(names):
        width = 22 + 6.4 * len(name)
        if x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + LEGEND_LINE
        svg.line(x, y - 4, x + 16, y - 4, colour_of(number + 1), 2.5)
        svg.text(x + 22, y, name, size=11.5)
        x += width + 20


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:g}"
