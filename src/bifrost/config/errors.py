"""What is wrong with a configuration, all of it at once.

The counterpart is `load.py`, which collects the problems; the command line prints them and exits with status
2. Neither type ever holds the content of a password file.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake of the operator: where it stands, what it is and how to mend it.

    Printed as `file:line: text`, the form editors and CI jump to; without a line as `file: text`.
    """

    file: str
    """The configuration file, as the caller named it."""

    line: int | None
    """The line, from 1; None when the file itself cannot be read."""

    text: str
    """What is wrong and how to mend it, in one line."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        line = f"{where}: {self.text}"
        # A path or a value may hold anything; it begins no line and steers no terminal.
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


class ConfigError(ValueError):
    """A configuration that cannot be used; `problems` has every mistake found, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            sorted(problems, key=lambda problem: (problem.file, problem.line or 0))
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))
