"""Both drawings: what stands in them, and where."""

from xml.etree import ElementTree

import pytest
from bench.bar_chart import draw_bars
from bench.line_chart import Lines, draw_lines, ticks_for
from bench.table import Table

SPACE = "{http://www.w3.org/2000/svg}"


def _texts(drawing: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(drawing).iter(f"{SPACE}text")]


def test_every_plotted_row_has_a_panel_and_every_subject_a_bar() -> None:
    table = Table("throughput", "TLS", "MB/s", 0, is_less_better=False, plotted=("produce",))
    for value in (100.0, 200.0, 300.0):
        table.add("produce", "direct", value)
        table.add("left out", "direct", value)
    table.add("produce", "gateway", 1500.0)
    table.add("produce", "absent", None)

    drawing = draw_bars("A title", "a subtitle", [table])

    texts = _texts(drawing)
    assert texts[:4] == ["A title", "a subtitle", "direct", "gateway"]
    assert "produce" in texts
    assert "left out" not in texts
    assert "MB/s, more is better" in texts
    assert texts[-2:] == ["200", "1,500"]


def test_a_bar_is_as_long_as_its_median_and_its_line_as_the_spread() -> None:
    table = Table("t", "TLS", "s", 0, plotted=("row",))
    for value in (1.0, 2.0, 4.0):
        table.add("row", "gateway", value)

    root = ElementTree.fromstring(draw_bars("", "", [table]))

    bar = list(root.iter(f"{SPACE}rect"))[-1]
    line = list(root.iter(f"{SPACE}line"))[1]
    left, unit = float(bar.get("x", "")), float(bar.get("width", "")) / 2
    assert float(line.get("x1", "")) == pytest.approx(left + unit, abs=0.1)
    assert float(line.get("x2", "")) == pytest.approx(left + 4 * unit, abs=0.1)


def test_a_subject_without_a_figure_is_said_to_have_none() -> None:
    table = Table("t", "TLS", "s", 0, plotted=("one", "two"))
    table.add("one", "gateway", 1.0)
    table.add("two", "relay", 1.0)

    assert _texts(draw_bars("", "", [table])).count("not measured") == 2


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([3.0, 9.0], [0, 2, 4, 6, 8, 10]),
        ([20.0, 17.0], [0, 5, 10, 15, 20]),
        ([0.4, 0.5], [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        ([12.0, 900.0], [10, 100, 1000]),
        ([0.0, 0.0], [0, 0.2]),
    ],
)
def test_ticks_hold_every_value(values: list[float], ticks: list[float]) -> None:
    found = ticks_for(values)

    assert found[: len(ticks)] == pytest.approx(ticks)
    assert found[-1] >= max(values)


def test_lines_go_from_left_to_right_and_cheaper_is_lower() -> None:
    lines = Lines("Costs", "of what", "tenants", "µs", {"gateway": {1: [5.0, 6.0, 7.0], 100: [9.0]}})

    root = ElementTree.fromstring(draw_lines(lines))

    first, second = root.findall(f"{SPACE}circle")
    assert float(first.get("cx", "")) < float(second.get("cx", ""))
    assert float(first.get("cy", "")) > float(second.get("cy", ""))
    texts = [one.text for one in root.iter(f"{SPACE}text")]
    assert {"Costs", "tenants", "µs", "gateway", "1", "100"} <= set(texts)


def test_one_point_alone_can_be_drawn() -> None:
    drawing = draw_lines(Lines("t", "s", "x", "y", {"gateway": {10: [5.0]}}))

    assert len(ElementTree.fromstring(drawing).findall(f"{SPACE}circle")) == 1
