"""The errors of a configuration, all reported at once.

The counterpart is `load.py`, which collects the problems; the command line prints them and exits with status
2. Neither type ever holds the content of a password file.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake of the operator: its place, what is wrong and how to correct it.

    Printed as `file:line: text`, which editors and CI turn into a link; without a line as `file: text`.
    """

    file: str
    """The configuration file, as the caller named it."""

    line: int | None
    """The line, from 1; None when the file itself cannot be read."""

    text: str
    """What is wrong and how to correct it, in one line."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        line = f"{where}: {self.text}"
        # A path or a value may hold any character; it must not start a new line or control the terminal.
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)


class ConfigError(ValueError):
    """A configuration that cannot be used; `problems` has every mistake found, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(
            sorted(problems, key=lambda problem: (problem.file, problem.line or 0))
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))
