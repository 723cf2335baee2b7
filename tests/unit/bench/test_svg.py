from xml.etree import ElementTree

from bench.svg import DARK, LIGHT, Svg

SPACE = "{http://www.w3.org/2000/svg}"


def test_a_drawing_is_well_formed_and_says_what_it_is() -> None:
    svg = Svg(100, 50, "costs < gains & more")
    svg.text(1.25, 2, 'a < b & "c"', bold=True, anchor="end")

    root = ElementTree.fromstring(svg.render())

    assert root.get("viewBox") == "0 0 100 50"
    assert root.findtext(f"{SPACE}title") == "costs < gains & more"
    text = root.find(f"{SPACE}text")
    assert text is not None
    assert (text.text, text.get("x"), text.get("text-anchor")) == ('a < b & "c"', "1.2", "end")


def test_shapes_are_in_the_colours_of_the_style() -> None:
    svg = Svg(10, 10, "")
    svg.rect(0, 1, 2, 3, "s0", 2)
    svg.line(0, 0, 1, 1, "grid")
    svg.path([(0, 0), (1.5, 2)], "s1")
    svg.area([(0, 0), (1, 0), (1, 1)], "s1")
    svg.dot(1, 1, "s2")

    root = ElementTree.fromstring(svg.render())

    path = root.find(f"{SPACE}path")
    assert path is not None
    assert path.get("d") == "M0 0 L1.5 2"
    classes = [one for element in root if (one := element.get("class"))]
    assert classes == ["f-paper", "f-s0", "l-grid", "l-s1", "f-s1", "f-s2 rim"]


def test_both_themes_have_every_colour() -> None:
    style = ElementTree.fromstring(Svg(1, 1, "").render()).findtext(f"{SPACE}style") or ""

    assert LIGHT.keys() == DARK.keys()
    assert all(colour in style for theme in (LIGHT, DARK) for colour in theme.values())


def test_a_width_below_zero_is_none() -> None:
    svg = Svg(10, 10, "")
    svg.rect(0, 0, -5, 1, "s0")

    assert 'width="0" height="1"' in svg.render()
