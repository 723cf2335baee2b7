"""Run the tests with real clients against each version of Kafka, one after the other, and say what came of it.

    make test-matrix [VERSIONS="2.8.2 3.9.1"] [ONLY=tests/kafka/clients]

What a version does not have is skipped by name (`support/brokers/kafka_versions.py`). Every skip's reason is listed, so
that nothing is skipped in silence. The exit status is 1 when a test failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from support.brokers.kafka_versions import VERSION_VARIABLE, VERSIONS

ROOT = Path(__file__).parents[2]
NOT_ABOUT_VERSIONS = ("tests/kafka/test_embedded.py", "tests/kafka/test_demo.py", "tests/kafka/faults")
"""They start clusters of their own, of the newest version."""


@dataclass(frozen=True)
class Outcome:
    """What came of the tests against one version."""

    version: str
    seconds: float
    tests: int
    failed: tuple[str, ...]
    skipped: Counter[str]
    """How many tests were skipped, by reason."""

    def __str__(self) -> str:
        passed = self.tests - len(self.failed) - self.skipped.total()
        counts = f"{passed:5} passed {len(self.failed):3} failed {self.skipped.total():3} skipped"
        lines = [f"Kafka {self.version:6} {counts} {self.seconds:6.0f} s"]
        lines += [f"    failed   {name}" for name in self.failed]
        lines += [f"    skipped  {number:3} x {reason}" for reason, number in sorted(self.skipped.items())]
        return "\n".join(lines)


def run(version: str, paths: list[str]) -> Outcome:
    """Run the tests against one version; what pytest prints passes through."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        ignored = [f"--ignore={path}" for path in NOT_ABOUT_VERSIONS]
        command = [sys.executable, "-m", "pytest", "--tb=short", f"--junit-xml={report}", *ignored, *paths]
        start_s = time.monotonic()
        status = subprocess.run(
            command, cwd=ROOT, env={**os.environ, VERSION_VARIABLE: version}, check=False
        ).returncode
        seconds = time.monotonic() - start_s
        if not report.exists():
            return Outcome(version, seconds, 1, (f"pytest ended with status {status}",), Counter())
        outcome = read_report(version, seconds, report.read_text(encoding="utf-8"))
    if status != 0 and not outcome.failed:
        return Outcome(version, seconds, 1, (f"pytest ended with status {status}",), Counter())
    return outcome


def read_report(version: str, seconds: float, text: str) -> Outcome:
    """Return what a JUnit report of pytest says."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    failed = dict.fromkeys(
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    )
    skips = [skip for case in cases if (skip := case.find("skipped")) is not None]
    return Outcome(
        version, seconds, len(cases), tuple(failed), Counter(str(skip.get("message")) for skip in skips)
    )


def main() -> None:
    """Run the versions named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Test against several versions of Kafka.")
    parser.add_argument(
        "versions", nargs="*", metavar="version", help=f"of {', '.join(VERSIONS)}; all without any"
    )
    parser.add_argument("--only", nargs="+", default=["tests/kafka"], metavar="path")
    arguments = parser.parse_args()
    outcomes = [run(version, arguments.only) for version in arguments.versions or VERSIONS]
    sys.stdout.write("\n".join([*map(str, outcomes), ""]))
    sys.exit(any(outcome.failed for outcome in outcomes))


if __name__ == "__main__":
    main()
