"""The pages of the documentation, read as their code spans, code blocks and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_INDENT = "    "


def page(name: str) -> str:
    """Return the text of a page of docs/, or of a page of the project's root."""
    folder = ROOT / "docs"
    path = folder / name if (folder / name).exists() else ROOT / name
    return path.read_text(encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of every page that describes the present state, by its name."""
    paths = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def spans(text: str) -> list[str]:
    """Return the code spans of a page, without those in code blocks."""
    return [match[1] for match in _SPAN.finditer(prose(text))]


def prose(text: str) -> str:
    """Return a page without its code blocks."""
    lines = _FENCE.sub("", text).splitlines()
    return "\n".join(line for line in lines if not line.startswith(_INDENT))


def fenced(text: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return [match[2] for match in _FENCE.finditer(text) if match[1] == language]


def commands(text: str) -> list[str]:
    """Return the lines of a page's shell examples; a line that `\\` continues is one."""
    indented = [line.strip() for line in _FENCE.sub("", text).splitlines() if line.startswith(_INDENT)]
    shell = [
        line.strip() for block in fenced(text, "sh") + fenced(text, "bash") for line in block.splitlines()
    ]
    return re.sub(r"\\\n", "", "\n".join(indented + shell)).splitlines()


@dataclass(frozen=True)
class Table:
    """A table, and the heading above it."""

    heading: str
    columns: list[str]
    rows: list[list[str]]

    def names(self, column: int = 0) -> list[str]:
        """Return the code spans in a column, over all rows."""
        return [name for row in self.rows for name in spans(row[column])]


def tables(text: str) -> list[Table]:
    """Return the tables of a page in their order."""
    return list(_tables(text))


def _tables(text: str) -> Iterator[Table]:
    heading, rows = "", list[list[str]]()
    for line in [*_FENCE.sub("", text).splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if rows:
            yield Table(heading, rows[0], rows[2:])
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def table(text: str, *columns: str) -> Table:
    """Return the one table of a page whose first columns have these names."""
    (found,) = [one for one in tables(text) if one.columns[: len(columns)] == list(columns)]
    return found
