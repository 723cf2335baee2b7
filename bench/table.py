"""Figures with their spreads, as a table for a terminal and as one for a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.percentiles import spread

ABSENT = "-"


@dataclass
class Table:
    """Rows of figures in one unit; a column for each subject."""

    title: str
    protocol: str
    unit: str
    digits: int
    """Of the figures, behind the point."""
    is_less_better: bool = True
    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By the row's name and the subject's: one value of each round. A subject without a value in a row is absent there.
    The rounds of one index were run side by side."""
    plotted: Sequence[str] = ()
    """The rows that the plot shows."""

    @property
    def heading(self) -> str:
        """Title, protocol and unit."""
        return f"{self.title}, {self.protocol}, {self.unit}"

    @property
    def subjects(self) -> list[str]:
        """Every subject that a row has figures of, in the order in which they appeared."""
        return list(
            dict.fromkeys(name for row in self.rows.values() for name, values in row.items() if values)
        )

    def add(self, row: str, subject: str, value: float | None) -> None:
        """Add one round's value; None where there is none to be had."""
        values = self.rows.setdefault(row, {}).setdefault(subject, [])
        if value is not None:
            values.append(value)

    def cell(self, row: str, subject: str) -> str:
        """Return `median (minimum to maximum)`, or the value alone if there is but one."""
        values = self.rows[row].get(subject)
        if not values:
            return ABSENT
        found = spread(values)
        texts = [f"{one:,.{self.digits}f}" for one in (found.median, found.least, found.most)]
        return texts[0] if len(values) == 1 else f"{texts[0]} ({texts[1]} to {texts[2]})"

    def as_text(self) -> str:
        """Return it for a terminal."""
        lines = [["", *self.subjects]]
        lines += [[row, *(self.cell(row, one) for one in self.subjects)] for row in self.rows]
        widths = [max(len(line[n]) for line in lines) for n in range(len(lines[0]))]
        aligned = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in lines
        ]
        return "\n".join([self.heading, *(one.rstrip() for one in aligned)])

    def as_markdown(self) -> str:
        """Return it for a page."""
        head = [f"{self.title}, {self.unit}", *self.subjects]
        lines = [head, ["---", *("---:" for _ in self.subjects)]]
        lines += [[row, *(self.cell(row, one) for one in self.subjects)] for row in self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
