from xml.etree import ElementTree

from bifrost.pipeline.plots import Series, figure, ranked_bars, stacked_bars


def test_a_stack_has_the_height_of_its_sum() -> None:
    svg = ElementTree.fromstring(
        stacked_bars(["a", "b"], [Series("x", [1, 3]), Series("y", [1, 0])], title="T", unit="EUR")
    )

    bars = svg.findall("rect")
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert [bar.attrib["class"] for bar in bars] == ["s0", "s1", "s0"]
    assert abs(heights[2] - 3 * heights[0]) < 0.1
    assert bars[2].findtext("title") == "b: x 3.00 EUR"


def test_names_of_tenants_cannot_leave_their_place() -> None:
    text = ranked_bars([("<script>alert(1)</script>", 2.0)], title='"><b>', unit="EUR")

    assert "<script>" not in text
    assert ElementTree.fromstring(text).attrib["aria-label"] == '"><b>'


def test_nothing_at_all_is_still_a_plot() -> None:
    assert ElementTree.fromstring(stacked_bars([], [], title="T", unit="EUR")).tag == "svg"
    assert (
        ElementTree.fromstring(stacked_bars(["a"], [Series("x", [0])], title="T", unit="")).find("rect")
        is None
    )
    assert ElementTree.fromstring(ranked_bars([], title="T", unit="")).tag == "svg"


def test_figures_are_read_at_a_glance() -> None:
    assert [figure(value) for value in (0, 0.00042, 1.234, 12345.6)] == ["0", "0.0004", "1.23", "12,346"]
