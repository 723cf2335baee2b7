"""The table of attacks on a page: a run of some attacks replaces their rows, and the others stay as they were.

All attacks take most of an hour. Each row says by a number in which run it was measured.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.hostile.attack import Attack
from bench.hostile.outcome import HEAD, Outcome

_RUN = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_NOT_FELT = "-"


@dataclass(frozen=True)
class Row:
    """What came of one attack, as it stands on the page."""

    cells: tuple[str, ...]
    """As `Outcome.cells`."""
    run: str
    """Where and how it was measured."""


def section_of(brokers: int, *, is_single: bool) -> str:
    """Return the name of a page's section: each kind of cluster and address has rows of its own."""
    one = "" if brokers == 1 else f"-{brokers}-brokers"
    return f"hostile{one}{'-single-address' if is_single else ''}"


def read_rows(section: str) -> dict[str, Row]:
    """Return the rows of a page's section by the attacks' names."""
    runs = dict(_RUN.findall(section))
    rows = {}
    for line in section.splitlines():
        cells = tuple(cell.strip() for cell in line.strip().strip("|").split(" | "))
        if line.startswith("| ") and len(cells) == len(HEAD) + 1 and cells[-1] in runs:
            rows[cells[0]] = Row(cells[:-1], runs[cells[-1]])
    return rows


def new_rows(outcomes: Iterable[Outcome], run: str) -> dict[str, Row]:
    """Return the rows of a run by the attacks' names; what was missed is bold."""
    return {one.name: Row(tuple(one.cells("**")), run) for one in outcomes}


def as_section(rows: dict[str, Row], attacks: Sequence[Attack], *, describes: bool = True) -> str:
    """Return a page's section: the runs, the table in the order of the attacks, and what every attack does.

    Args:
        rows: by the attacks' names; those of attacks that are not listed any more are left out.
        attacks: all that are listed.
        describes: whether it says what the attacks do.
    """
    known = [(one, rows[one.name]) for one in attacks if one.name in rows]
    runs = list(dict.fromkeys(row.run for _, row in known))
    kept = sum(row.cells[-1] == _NOT_FELT for _, row in known)
    lines = [[*HEAD, "run"], ["---", *["---:"] * (len(HEAD) - 2), "---", "---:"]]
    lines += [[*row.cells, str(runs.index(row.run) + 1)] for _, row in known]
    return "\n".join(
        [
            f"{kept} of {len(known)} attacks are not felt. The runs:",
            "",
            *(f"{number}. {run}" for number, run in enumerate(runs, 1)),
            "",
            *(f"| {' | '.join(line)} |" for line in lines),
            *(["", *(f"* `{one.name}`: {one.what}." for one, _ in known)] if describes else ()),
        ]
    )
