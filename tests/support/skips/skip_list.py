"""The list of tests that were skipped, with reasons: at the end of a run of pytest, or of several runs.

A pytest plugin (`tests/conftest.py`). With BIFROST_SKIPS_FILE each run only adds its skips to that file, and
`tools/optional_parts.py list` prints them behind the last run: `make test` has several. With BIFROST_SKIPS=fail a skip
for want of a part that can be installed is a failure; with BIFROST_SKIPS=present only if the part is there.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from support.skips.optional_parts import part_of

FILE_VARIABLE, FAIL_VARIABLE = "BIFROST_SKIPS_FILE", "BIFROST_SKIPS"
_PREFIX = "Skipped: "


def is_failure(reasons: Iterable[str]) -> bool:
    """Whether these skips fail a run: one is for want of a part that can be installed, and is wanted.

    All of these are wanted with BIFROST_SKIPS=fail; with BIFROST_SKIPS=present those that this machine has.
    """
    wanted = os.environ.get(FAIL_VARIABLE)
    parts = {part for reason in reasons if (part := part_of(reason)) is not None and part.packages}
    return any(wanted == "fail" or (wanted == "present" and part.is_there()) for part in parts)


def lines_of(reasons: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the list: first what a part is missing for, then all else, each with the number of tests."""
    counted = Counter(reasons)
    missing = sorted(reason for reason in counted if part_of(reason))
    others = sorted(reason for reason in counted if not part_of(reason))
    if not counted:
        yield "No test was skipped."
    if missing:
        yield "Skipped, because a part is missing on this machine:"
    for reason in missing:
        part = part_of(reason)
        assert part is not None
        yield f"  {counted[reason]:4} tests: {reason}"
        yield f"             not tested: {part.needed_for}; to get it: {part.how_to_get}"
    if others:
        yield "Skipped for other reasons:"
    for reason in others:
        yield f"  {counted[reason]:4} tests: {reason}"


def read_skips(path: Path) -> list[str]:
    """Return the reasons that runs have added to a file; there may be none."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class SkipList:
    """What one run skips; where tests run in several processes, in the one that shows the results."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note why a test was skipped."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why a whole file was skipped."""
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            self.reasons.append(str(report.longrepr[2]).removeprefix(_PREFIX))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add the skips to the file; without one, fail here if that is wanted."""
        path = os.environ.get(FILE_VARIABLE)
        if path:
            with Path(path).open("a", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(reason)}\n" for reason in self.reasons)
        elif is_failure(self.reasons) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the list, unless it comes behind several runs."""
        if self.reasons and not os.environ.get(FILE_VARIABLE):
            terminalreporter.section("skipped")
            for line in lines_of(self.reasons):
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Collect skips, except in a process whose results another one shows."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipList(), "skip list")
