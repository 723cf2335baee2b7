"""A figure of matplotlib as an SVG file of its own, in colours that follow the reader's light or dark theme."""

from matplotlib.figure import Figure

from bifrost.pipeline.plots import PIXELS_PER_INCH, as_svg

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2330",
    "soft": "#667085",
    "grid": "#e4e7ec",
    "s0": "#98a2b3",
    "s1": "#e08a00",
    "s2": "#1570ef",
    "s3": "#0e9384",
    "s4": "#b42380",
    "s5": "#7a5af8",
}
DARK = LIGHT | {
    "paper": "#161b22",
    "ink": "#e6edf3",
    "soft": "#9aa4b2",
    "grid": "#2d3440",
    "s0": "#7d8899",
    "s1": "#f0a63a",
    "s2": "#58a6ff",
    "s3": "#3fc7b4",
    "s4": "#f178b6",
    "s5": "#a997ff",
}
SERIES = 6
"""How many colours for series there are: s0 to s5."""


def colour_of(number: int) -> str:
    """Return the colour of the subject or series of this number."""
    return LIGHT[f"s{number % SERIES}"]


def write_text(drawing: Figure, x: float, y: float, text: str, colour: str = "ink", **more: object) -> None:
    """Write a line of text; `x` and `y` are pixels from the top left, `y` that of its base line."""
    width, height = (float(inches) * PIXELS_PER_INCH for inches in drawing.get_size_inches())
    drawing.text(x / width, 1 - y / height, text, color=LIGHT[colour], va="baseline", **more)


def as_file(drawing: Figure, title: str) -> str:
    """Return the text of the file; `title` is what a screen reader says."""
    width, height = (round(float(inches) * PIXELS_PER_INCH) for inches in drawing.get_size_inches())
    rules = f":root{{{_variables(LIGHT)}background:var(--paper)}}"
    rules += f"@media (prefers-color-scheme: dark){{:root{{{_variables(DARK)}}}}}"
    head, _, rest = as_svg(drawing, title, LIGHT, {}).partition(">")
    return (
        f'{head} xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f"\n<style>{rules}</style>{rest}\n"
    )


def _variables(theme: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in theme.items())
