from xml.etree import ElementTree

from bench.svg import DARK, LIGHT, SERIES, as_file, colour_of, write_text

from bifrost.pipeline.plots import figure_of, style

SPACE = "{http://www.w3.org/2000/svg}"


def drawn() -> str:
    with style():
        drawing = figure_of(100, 50)
        write_text(drawing, 10, 20, 'a < b & "c"', "soft", size=12)
        return as_file(drawing, "costs < gains & more")


def test_a_drawing_is_well_formed_and_says_what_it_is() -> None:
    root = ElementTree.fromstring(drawn())

    assert (root.tag, root.get("viewBox"), root.get("width")) == (f"{SPACE}svg", "0 0 100 50", "100")
    assert root.findtext(f"{SPACE}title") == "costs < gains & more"
    (text,) = root.iter(f"{SPACE}text")
    assert (text.text, float(text.get("x", "")), float(text.get("y", ""))) == ('a < b & "c"', 10, 20)


def test_colours_follow_the_theme() -> None:
    text = drawn()

    style_text = ElementTree.fromstring(text).findtext(f"{SPACE}style") or ""
    assert "fill: var(--soft)" in text
    assert LIGHT.keys() == DARK.keys()
    assert all(f":{colour};" in style_text for theme in (LIGHT, DARK) for colour in theme.values())


def test_series_have_colours_of_their_own() -> None:
    assert len({colour_of(number) for number in range(SERIES)}) == SERIES
    assert colour_of(SERIES) == colour_of(0)
