from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from bifrost.cli.demo import read_duration


@pytest.mark.parametrize(
    ("text", "seconds"), [("15s", 15), ("2m", 120), ("1h", 3600), ("90", 90), (" 1.5m ", 90), ("0.5s", 0.5)]
)
def test_duration_is_read(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-5s", "15 s", "15x", "s", "1e3", "nan", "9999999s"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no duration: write 15s, 2m or 1h"):
        read_duration(text)


def test_command_line_costs_neither_rich_nor_a_client() -> None:
    script = "import sys, bifrost.cli.demo; print(sorted({'rich', 'kafka', 'jgo'} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert found == "[]\n"


def test_bad_duration_is_one_line_and_status_2() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "bifrost.cli.main", "demo", "--for", "soon"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 2
    assert "'soon' is no duration: write 15s, 2m or 1h" in result.stderr
