"""Both drawings: what stands in them, and where."""

import re
from xml.etree import ElementTree

import pytest
from bench.bar_chart import draw_bars
from bench.line_chart import Lines, draw_lines
from bench.table import Table

SPACE = "{http://www.w3.org/2000/svg}"


def _texts(drawing: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawing).iter(f"{SPACE}text")]


def _paths(root: ElementTree.Element) -> list[ElementTree.Element]:
    return list(root.iter(f"{SPACE}path"))


def _across(path: ElementTree.Element) -> tuple[float, float]:
    """Return how far a path goes from left to right."""
    places = [float(one) for one in re.findall(r"[ML] (-?[0-9.]+)", path.get("d", ""))]
    return min(places), max(places)


def test_every_plotted_row_has_a_panel_and_every_subject_a_bar() -> None:
    table = Table("throughput", "TLS", "MB/s", 0, is_less_better=False, plotted=("produce",))
    for value in (100.0, 200.0, 300.0):
        table.add("produce", "direct", value)
        table.add("left out", "direct", value)
    table.add("produce", "gateway", 1500.0)
    table.add("produce", "absent", None)

    drawing = draw_bars("A title", "a subtitle", [table])

    texts = _texts(drawing)
    assert {"A title", "a subtitle", "produce", "MB/s, more is better"} <= set(texts)
    assert "left out" not in texts
    assert "absent" not in texts
    assert [one for one in texts if one in ("direct", "gateway")] == ["direct", "gateway"]
    assert [one for one in texts if one in ("200", "1,500")] == ["200", "1,500"]


def test_a_bar_is_as_long_as_its_median_and_its_line_as_the_spread() -> None:
    table = Table("t", "TLS", "s", 0, plotted=("row",))
    for value in (1.0, 2.0, 4.0):
        table.add("row", "gateway", value)

    root = ElementTree.fromstring(draw_bars("", "", [table]))

    bar = next(_across(one) for one in _paths(root) if "var(--s0)" in one.get("style", ""))
    line = next(_across(one) for one in _paths(root) if "stroke: var(--ink)" in one.get("style", ""))
    unit = (bar[1] - bar[0]) / 2
    assert line == (pytest.approx(bar[0] + unit, abs=0.1), pytest.approx(bar[0] + 4 * unit, abs=0.1))


def test_a_subject_without_a_figure_is_said_to_have_none() -> None:
    table = Table("t", "TLS", "s", 0, plotted=("one", "two"))
    table.add("one", "gateway", 1.0)
    table.add("two", "relay", 1.0)

    assert _texts(draw_bars("", "", [table])).count("not measured") == 2


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([3.0, 9.0], ["0", "2", "4", "6", "8", "10"]),
        ([20.0, 17.0], ["0", "5", "10", "15", "20"]),
        ([0.4, 0.5], ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([12.0, 900.0], ["10", "100", "1,000"]),
        ([0.0, 0.0], ["0"]),
    ],
)
def test_ticks_hold_every_value(values: list[float], ticks: list[str]) -> None:
    texts = _texts(draw_lines(Lines("t", "s", "x", "y", {"gateway": {7: values}})))

    assert [one for one in texts if one[0].isdigit() and one != "7"][: len(ticks)] == ticks


def _dots(drawing: str) -> list[tuple[float, float]]:
    """Return the places of the markers on the lines: the legend has those of its own, without a clip."""
    groups = ElementTree.fromstring(drawing).iter(f"{SPACE}g")
    clipped = [group for group in groups if group.get("clip-path")]
    uses = [
        use for group in clipped for use in group.findall(f"{SPACE}use") if "--paper" in use.get("style", "")
    ]
    return [(float(use.get("x", "")), float(use.get("y", ""))) for use in uses]


def test_lines_go_from_left_to_right_and_cheaper_is_lower() -> None:
    lines = Lines("Costs", "of what", "tenants", "µs", {"gateway": {1: [5.0, 6.0, 7.0], 100: [9.0]}})

    drawing = draw_lines(lines)

    first, second = _dots(drawing)
    assert first[0] < second[0]
    assert first[1] > second[1]
    assert {"Costs", "of what", "tenants", "µs", "gateway", "1", "100"} <= set(_texts(drawing))


def test_one_point_alone_can_be_drawn() -> None:
    assert len(_dots(draw_lines(Lines("t", "s", "x", "y", {"gateway": {10: [5.0]}})))) == 1


def test_a_wide_range_is_logarithmic() -> None:
    lines = Lines("t", "s", "x", "y", {"gateway": {1: [1.0], 10: [10.0], 100: [100.0]}})

    down = [y for _x, y in _dots(draw_lines(lines))]

    assert down[0] - down[1] == pytest.approx(down[1] - down[2], abs=0.1)
