"""What `make test` and CI do when a suite fails or a part is missing; programs only say how they are called."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LISTS = ["tools/run_tests.py list", "tools/optional_parts.py list build/skips"]
OTHER_KAFKA = "tests/kafka/transactions"

Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command beside a copy of the Makefile; calls with a certain text fail. Returns the status and the calls."""
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (tmp_path / ".ci").mkdir()
    for name in ("Makefile", ".ci/run"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("pyproject.toml", "setup.py", "constraints.txt", ".venv/.dev"):
        (tmp_path / name).touch()

    def run(*command: str, failing: str) -> tuple[int, list[str]]:
        for name in ("python", "ruff", "mypy", "lint-imports"):
            text = '#!/bin/sh\necho "called: $* [$BIFROST_SKIPS]"\n'
            text += f'case "$*" in *"{failing}"*) exit 1;; esac\n' if failing else ""
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("BIFROST_", "MAKE", "MFLAGS"))
        }
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=kept | {"PYTHON": "true", "CC": "true"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        calls = [line.removeprefix("called: ") for line in done.stdout.splitlines() if "called: " in line]
        return done.returncode, calls

    return run


def test_what_was_skipped_is_listed_behind_all_suites(run: Run) -> None:
    status, calls = run("make", "test", failing="")

    assert status == 0
    assert OTHER_KAFKA in calls[-3]
    assert calls[-2:] == [f"{one} []" for one in LISTS]


def test_what_was_skipped_is_listed_when_a_suite_fails(run: Run) -> None:
    status, calls = run("make", "test", failing="tests/spark --ignore")

    assert status == 2
    assert "tests/spark --ignore" in calls[-3]
    assert calls[-2:] == [f"{one} []" for one in LISTS]


def test_a_skip_that_is_a_failure_fails_the_run(run: Run) -> None:
    status, calls = run("make", "test", failing=LISTS[-1])

    assert status == 2
    assert calls[-1] == f"{LISTS[-1]} []"


@pytest.mark.parametrize(
    ("failing", "status", "wanted"),
    [
        ("", 0, "fail"),
        ("tools/optional_parts.py install", 0, "present"),
        (OTHER_KAFKA, 2, "fail"),
        (LISTS[-1], 2, "fail"),
    ],
)
def test_ci_says_at_its_end_what_it_did_not_have(run: Run, failing: str, status: int, wanted: str) -> None:
    ended, calls = run(".ci/run", failing=failing)

    assert ended == status
    assert calls[0].startswith("tools/optional_parts.py install")
    assert calls[-2:] == [f"{LISTS[-1]} [{wanted}]", f"tools/optional_parts.py missing [{wanted}]"]
