import re
from xml.etree import ElementTree

from bifrost.pipeline.plots import Series, figure, ranked_bars, stacked_bars


def euros(value: float) -> str:
    return f"{value:.2f} EUR"


def bars_of(text: str) -> list[tuple[str, str, float, float]]:
    """Return the tip, the colour, the width and the height of each bar."""
    found = []
    for group in ElementTree.fromstring(text).iter("g"):
        tip, path = group.findtext("title"), group.find("path")
        if tip and path is not None:
            numbers = [float(one) for one in re.findall(r"-?[0-9.]+", path.attrib["d"])]
            across, down = numbers[::2], numbers[1::2]
            colour = re.search(r"fill: (\S+?)(;|$)", path.attrib["style"])
            assert colour
            found.append((tip, colour[1], max(across) - min(across), max(down) - min(down)))
    return found


def texts_of(text: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(text).iter("text")]


def test_a_stack_has_the_height_of_its_sum() -> None:
    bars = bars_of(
        stacked_bars(["a", "b"], [Series("x", [1, 3]), Series("y", [1, 0])], title="T", show=euros)
    )

    assert [(tip, colour) for tip, colour, _width, _height in bars] == [
        ("a: x 1.00 EUR", "var(--c0)"),
        ("b: x 3.00 EUR", "var(--c0)"),
        ("a: y 1.00 EUR", "var(--c1)"),
    ]
    assert abs(bars[1][3] - 3 * bars[0][3]) < 0.1


def test_the_axis_has_round_figures_and_not_every_day() -> None:
    days = [f"10-{day:02}" for day in range(1, 32)]

    texts = texts_of(stacked_bars(days, [Series("x", [375.0] * 31)], title="T", show=euros))

    assert {"0", "100", "200", "300", "400"} <= set(texts)
    assert {"10-01", "10-04", "10-31"} <= set(texts)
    assert "10-02" not in texts


def test_a_ranked_bar_is_as_long_as_its_value_and_says_it() -> None:
    plot = ranked_bars([("acme", 4.0), ("globex", 1.0), ("x" * 40, -1.0)], title="T", show=euros)

    bars = bars_of(plot)
    assert abs(bars[0][2] - 4 * bars[1][2]) < 0.1
    assert {"acme", "globex", "x" * 27 + "…", "4.00 EUR", "1.00 EUR", "-1.00 EUR"} == set(texts_of(plot))


def test_names_of_tenants_cannot_leave_their_place() -> None:
    text = ranked_bars([("<script>alert(1)</script>", 2.0)], title='"><b>', show=euros)

    assert "<script>" not in text
    assert ElementTree.fromstring(text).attrib["aria-label"] == '"><b>'


def test_a_name_is_shown_as_it_is() -> None:
    assert {"$a$ \U0001f600", "a_b #1d2430"} <= set(
        texts_of(ranked_bars([("$a$ \U0001f600", 2.0), ("a_b #1d2430", 1.0)], title="T", show=euros))
    )


def test_nothing_at_all_is_still_a_plot() -> None:
    for text in (
        stacked_bars([], [], title="T", show=euros),
        stacked_bars(["a"], [Series("x", [0])], title="T", show=euros),
        ranked_bars([], title="T", show=euros),
    ):
        assert ElementTree.fromstring(text).tag == "svg"
        assert bars_of(text) == []


def test_a_plot_fits_into_a_page() -> None:
    text = stacked_bars(["a"], [Series("x", [1])], title="T", show=euros)

    assert text == stacked_bars(["a"], [Series("x", [1])], title="T", show=euros)
    assert " id=" not in text
    assert "<style" not in text
    assert "url(" not in text
    assert "http" not in text
    assert "#" not in text.replace("&#", "")


def test_figures_are_read_at_a_glance() -> None:
    assert [figure(value) for value in (0, 0.00042, 1.234, 12345.6)] == ["0", "0.0004", "1.23", "12,346"]
