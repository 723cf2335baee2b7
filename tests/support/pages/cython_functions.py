"""The functions of a Cython source file, and how many lines each has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = re.compile(
    r"(?P<indent>\s*)(?:async\s+def|def|cpdef|cdef)\s+"
    r"(?!class\b|struct\b|enum\b|union\b|packed\b|extern\b)"
    r"[^=#]*?\b(?P<name>\w+)\s*\("
)


@dataclass(frozen=True)
class CythonFunction:
    """A function that has a body, of any of the kinds `def`, `cdef` and `cpdef`."""

    name: str
    line: int
    lines: int
    """From its head to its last statement or comment; decorators do not count."""


def cython_functions(text: str) -> Iterator[CythonFunction]:
    """Yield the functions of a source file in their order, inner ones too."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _HEAD.match(line)
        if match is None:
            continue
        body = _end_of_head(lines, number)
        # A declaration (of a .pxd file, say) has no body.
        if body is not None:
            last = _last_line(lines, body, len(match["indent"]))
            yield CythonFunction(match["name"], number + 1, last - number + 1)


def _end_of_head(lines: list[str], first: int) -> int | None:
    """Return the line on which a head ends with its colon; None if it ends without one."""
    depth = 0
    for number in range(first, len(lines)):
        code = lines[number].partition("#")[0].rstrip()
        depth += sum(code.count(one) for one in "([{") - sum(code.count(one) for one in ")]}")
        if depth == 0:
            return number if ":" in code[code.rfind(")") :] else None
    return None


def _last_line(lines: list[str], head: int, indent: int) -> int:
    """Return the last line that is deeper than the head."""
    last = head
    for number in range(head + 1, len(lines)):
        line = lines[number]
        if line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                break
            last = number
    return last
