"""Runs pytest with the arguments given; a file in which something failed is run once more, alone and in a new process.

What passes then is unsteady: it depends on the load of the machine or on other tests. It is listed in build/unsteady,
which `run_tests.py list` prints, and does not fail the run. The run fails if something fails twice, or in more than
MAX_FILES files: then something is broken, and there is no need to try it again.

Behind each run stand the files that took longest, for what makes all runs longer should be seen.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

MAX_FILES = 6
"""With three processes side by side one moment of a busy machine disturbs three files; a run of an hour has two of
them."""
FAILED = 1
"""The status of pytest when tests failed (`pytest.ExitCode.TESTS_FAILED`); others say that it did not run them all."""
UNSTEADY = Path("build/unsteady")
LONGEST_FILES = 12
"""How many are listed; a few of them take most of a run's time."""
SKIPS_VARIABLE = "BIFROST_SKIPS_FILE"
"""Where the list of skipped tests is (`support/skips/skip_list.py`)."""


def failures_of(report: Path) -> dict[str, list[str]]:
    """Return the names of the tests that failed, by their files, from a report in the form `xunit1`."""
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            # A file that could not even be read stands there without its path; it is not one to run again.
            found.setdefault(case.get("file", case.get("classname", "")), []).append(case.attrib["name"])
    return found


def longest_of(report: Path) -> list[str]:
    """Return lines with the seconds and names of the files whose tests took longest together, from the same report."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[case.get("file", case.get("classname", ""))] += float(case.get("time", "0"))
    return [f"{taken:7.1f} s  {file}" for file, taken in seconds.most_common(LONGEST_FILES)]


def run(arguments: list[str], environment: Mapping[str, str] | None = None) -> int:
    """Run pytest, and return its exit status."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], env=environment, check=False
    ).returncode


def run_again(failures: Mapping[str, list[str]]) -> bool:
    """Run each of these files, and return whether all of them pass; the names that failed before are listed."""
    # What they skip is in the list already.
    environment = {name: value for name, value in os.environ.items() if name != SKIPS_VARIABLE}
    for file, names in failures.items():
        print(f"\n{file} is run again, alone: {', '.join(names[:5])} failed", flush=True)
        if run(["-n", "0", file], environment) != 0:
            return False
        UNSTEADY.parent.mkdir(parents=True, exist_ok=True)
        with UNSTEADY.open("a") as unsteady:
            unsteady.writelines(f"{file}::{name}\n" for name in names)
    return True


def main(arguments: list[str]) -> int:
    """Do what the arguments say; see the module."""
    if arguments == ["list"]:
        if UNSTEADY.exists():
            print(
                f"Unsteady, for they failed and passed when run again alone:\n{UNSTEADY.read_text()}", end=""
            )
        return 0
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.xml")
        status = run([*arguments, f"--junitxml={report}", "-o", "junit_family=xunit1"])
        if report.exists():
            print("\n".join(["Files that took longest:", *longest_of(report)]), flush=True)
        if status != FAILED:
            return status
        failures = failures_of(report)
    if not 0 < len(failures) <= MAX_FILES:
        return status
    return 0 if run_again(failures) else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
