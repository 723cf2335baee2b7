"""Writes SVG: a handful of shapes in the colours of one style, which follows the reader's light or dark theme."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
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
"""How many colours for series there are: the classes s0 to s5."""


class Svg:
    """A drawing, in pixels from the top left."""

    def __init__(self, width: float, height: float, title: str) -> None:
        """Begin with an empty sheet; `title` is what a screen reader says."""
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, colour: str, radius: float = 0) -> None:
        """Draw a filled rectangle."""
        rounded = f' rx="{_n(radius)}"' if radius else ""
        self._parts.append(
            f'<rect class="f-{colour}" x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" '
            f'height="{_n(height)}"{rounded}/>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<line class="l-{colour}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" '
            f'stroke-width="{_n(width)}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], colour: str, width: float = 2) -> None:
        """Draw a line from point to point."""
        steps = " ".join(f"{'L' if n else 'M'}{_n(x)} {_n(y)}" for n, (x, y) in enumerate(points))
        self._parts.append(f'<path class="l-{colour}" d="{steps}" fill="none" stroke-width="{_n(width)}"/>')

    def area(self, points: Sequence[tuple[float, float]], colour: str, opacity: float = 0.18) -> None:
        """Draw a filled shape, through which one can see."""
        corners = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(f'<polygon class="f-{colour}" points="{corners}" opacity="{opacity:g}"/>')

    def dot(self, x: float, y: float, colour: str, radius: float = 3.5) -> None:
        """Draw a filled circle with a rim of paper, which sets it off from its line."""
        self._parts.append(
            f'<circle class="f-{colour} rim" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" stroke-width="1.5"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        colour: str = "ink",
        size: float = 12,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Write a line of text; `y` is its base line, `anchor` start, middle or end."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text class="f-{colour}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" '
            f'text-anchor="{anchor}"{weight}>{escape(text)}</text>'
        )

    def render(self) -> str:
        """Return the whole document."""
        size = f'width="{_n(self.width)}" height="{_n(self.height)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        )
        style = f"{_colours(LIGHT)}@media (prefers-color-scheme: dark) {{{_colours(DARK)}}}"
        sheet = f'<rect class="f-paper" width="{_n(self.width)}" height="{_n(self.height)}" rx="8"/>'
        return "\n".join(
            [
                f'{head} role="img" font-family="{FONT}">',
                f"<title>{escape(self._title)}</title>",
                f"<style>{style}</style>",
                sheet,
                *self._parts,
                "</svg>\n",
            ]
        )


def _colours(theme: dict[str, str]) -> str:
    rules = [f".f-{name}{{fill:{colour}}}.l-{name}{{stroke:{colour}}}" for name, colour in theme.items()]
    return "".join([*rules, f".rim{{stroke:{theme['paper']}}}"])


def _n(number: float) -> str:
    """Return a number without needless digits."""
    return f"{number:.1f}".rstrip("0").rstrip(".") if number % 1 else str(int(number))
