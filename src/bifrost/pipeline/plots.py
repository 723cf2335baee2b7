"""Draws plots as SVG text for an HTML page, by matplotlib: no script, nothing fetched, readable on screen and in print.

Colours are variables (`--ink`, `--c0` ... `--c5`) whose values the page's style sheet defines, for light and dark mode.
Each bar has its figures in a `<title>`, so that a mouse pointer shows them and a screen reader reads them.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.typing import RcKeyType

WIDTH = 760
PIXELS_PER_INCH = 72
"""A pixel of the page is a point of the figure."""
COLOURS = 6
_THEME = {
    "ink": "#1d2430",
    "soft": "#5c6675",
    "line": "#e3e7ee",
    "c0": "#0072b2",
    "c1": "#e69f00",
    "c2": "#009e73",
    "c3": "#cc79a7",
    "c4": "#56b4e9",
    "c5": "#d55e00",
}
"""The colours of the figure, by the variables that take their place."""
_SETTINGS: dict[RcKeyType, Any] = {
    "axes.autolimit_mode": "round_numbers",  # an axis ends at a tick
    "axes.xmargin": 0,
    "axes.ymargin": 0,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, which measures the text by it
    "font.size": 11,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "bifrost",  # the same figures give the same file
    "text.parse_math": False,  # a dollar in a name is a dollar
}
_MEASURED_FONT, _SHOWN_FONT = "'DejaVu Sans'", "system-ui, 'DejaVu Sans', sans-serif"
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 8, 12, 26
_LABEL_EVERY_PX = 58
_TICKS = 5
_BAR_SHARE, _MAX_BAR_PX = 0.72, 46
_ROW_PX, _NAME_PX, _FIGURE_PX = 26, 190, 122
_MAX_NAME = 28


@dataclass(frozen=True, slots=True)
class Series:
    """One kind of bar: a value for each place on the axis."""

    name: str
    values: Sequence[float]


def stacked_bars(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    show: Callable[[float], str],
    height: int = 240,
) -> str:
    """Return stacked bars, one stack for each label.

    Args:
        labels: the texts below the stacks.
        series: at most COLOURS, each with a value (0 or more) for each label.
        title: what the plot shows, for screen readers.
        show: writes a value with its unit.
        height: in pixels.
    """
    slot = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    width = min(_BAR_SHARE, _MAX_BAR_PX / slot)
    tips: dict[str, str] = {}
    with style():
        drawing = figure_of(WIDTH, height)
        axes = axes_at(drawing, _LEFT, _TOP, WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM)
        axes.tick_params(labelcolor=_THEME["soft"])
        tops = [0.0] * len(labels)
        for index, one in enumerate(series):
            for place, value in enumerate(one.values):
                if value > 0:
                    tip = f"{labels[place]}: {one.name} {show(value)}"
                    _bar(axes, (place - width / 2, tops[place]), (width, value), index, tip, tips)
                    tops[place] += value
        axes.yaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 5, 10]))
        axes.yaxis.set_major_formatter("{x:,.10g}")
        axes.autoscale_view()
        axes.set_ylim(bottom=0)
        axes.set_xlim(-0.5, max(1, len(labels)) - 0.5)
        places = range(0, len(labels), max(1, math.ceil(_LABEL_EVERY_PX / slot)))
        axes.set_xticks(places, [labels[place] for place in places])
        axes.grid(axis="y", color=_THEME["line"], linewidth=1, clip_on=False)
        return as_svg(drawing, title, _THEME, tips)


def ranked_bars(rows: Sequence[tuple[str, float]], *, title: str, show: Callable[[float], str]) -> str:
    """Return horizontal bars in the given order, each with its name and figure.

    Args:
        rows: names and values.
        title: what the plot shows, for screen readers.
        show: writes a value with its unit.
    """
    count = max(1, len(rows))
    tips: dict[str, str] = {}
    with style():
        drawing = figure_of(WIDTH, _ROW_PX * count)
        axes = axes_at(drawing, _NAME_PX, 0, WIDTH - _NAME_PX - _FIGURE_PX, _ROW_PX * count)
        axes.tick_params(labelcolor=_THEME["ink"])
        for place, (name, value) in enumerate(rows):
            length = max(0.0, value)
            _bar(axes, (0, place - 0.35), (length, 0.7), 0, f"{name}: {show(value)}", tips)
            write_beside(axes, (length, place), show(value), _THEME["soft"])
        names = [name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…" for name, _value in rows]
        largest = max((value for _name, value in rows), default=0.0)
        axes.set_xlim(0, largest if largest > 0 else 1)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_xticks([])
        axes.set_yticks(range(len(rows)), names)
        return as_svg(drawing, title, _THEME, tips)


def figure(value: float) -> str:
    """Return a number with as many digits as are readable at a glance."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 2 if abs(value) >= 0.01 else 4
    return f"{value:,.{digits}f}"


@contextmanager
def style() -> Iterator[None]:
    """Set what all figures have in common, while one is drawn and written."""
    with rc_context(_SETTINGS), warnings.catch_warnings():
        # The page's font has characters that matplotlib's own font lacks; matplotlib only measures the text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def figure_of(width: float, height: float) -> Figure:
    """Return an empty figure of a size in pixels."""
    return Figure(figsize=(width / PIXELS_PER_INCH, height / PIXELS_PER_INCH), dpi=PIXELS_PER_INCH)


def axes_at(drawing: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Return axes without a frame, at a place in pixels from the top left."""
    whole_width, whole_height = (float(inches) * PIXELS_PER_INCH for inches in drawing.get_size_inches())
    bottom = whole_height - top - height
    axes = drawing.add_axes(
        (left / whole_width, bottom / whole_height, width / whole_width, height / whole_height)
    )
    axes.set_frame_on(False)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, pad=7)
    return axes


def write_beside(axes: Axes, end: tuple[float, float], text: str, colour: str) -> None:
    """Write the figure of a horizontal bar to the right of its end."""
    axes.annotate(
        text,
        end,
        xytext=(8, 0),
        textcoords="offset points",
        va="center_baseline",
        color=colour,
        annotation_clip=False,
    )


def as_svg(drawing: Figure, title: str, theme: Mapping[str, str], tips: Mapping[str, str]) -> str:
    """Return a figure as an SVG element for an HTML page: without a size, with variables in place of colours.

    Args:
        drawing: drawn within `style`.
        title: what it shows, for screen readers.
        theme: the colours that become variables, by their names.
        tips: texts for parts of the figure, by their gid.
    """
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    drawing.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    # Its only rule is for all elements, and would be one for the whole page.
    root.remove(root[0])
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": title}
    used = set(re.findall(r"#([\w-]+)", buffer.getvalue()))
    for element in list(root.iter()):
        # HTML needs no namespaces.
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        name = element.get("id", "")
        if name in tips:
            _title(element, tips[name])
        if name not in used:
            # A page has several plots, whose parts have the same names.
            element.attrib.pop("id", None)
        if "style" in element.attrib:
            element.set("style", _themed(element.attrib["style"], theme))
    _title(root, title)
    return ElementTree.tostring(root, encoding="unicode")


def _themed(text: str, theme: Mapping[str, str]) -> str:
    for variable, colour in theme.items():
        text = text.replace(colour, f"var(--{variable})")
    return text.replace(_MEASURED_FONT, _SHOWN_FONT)


def _title(element: ElementTree.Element, text: str) -> None:
    title = ElementTree.Element("title")
    title.text = text
    element.insert(0, title)


def _bar(
    axes: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    colour: int,
    tip: str,
    tips: dict[str, str],
) -> None:
    name = f"bar-{len(tips)}"
    tips[name] = tip
    bar = Rectangle(corner, *size, facecolor=_THEME[f"c{colour % COLOURS}"], linewidth=0, gid=name)
    axes.add_patch(bar)
    bar.set_clip_on(False)
