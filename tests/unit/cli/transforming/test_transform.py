import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

EXAMPLES = Path(__file__).parents[4] / "examples"


def run(*arguments: object) -> tuple[int, list[str], str]:
    result = CliRunner().invoke(app, ["transform", "test", *map(str, arguments)])
    return result.exit_code, result.stdout.splitlines(), result.stderr


def files(folder: Path, code: str, sample: Any) -> tuple[str, ...]:
    (folder / "mine.py").write_text(code)
    (folder / "sample.json").write_text(sample if isinstance(sample, str) else json.dumps(sample))
    return str(folder / "mine.py"), "--records", str(folder / "sample.json")


def test_the_example_says_what_it_changes() -> None:
    status, lines, errors = run(
        EXAMPLES / "transform.py", "--records", EXAMPLES / "transform-records.json", "--topic", "eu:orders"
    )

    assert (status, errors) == (0, "")
    assert lines == [
        "record 0",
        '- value: {"country": "de", "amount": 12.5}',
        '+ value: {"country": "DE", "amount": 12.5}',
        "- headers: trace=t1",
        "+ headers: trace=t1, passed=produce of eu:orders",
        "record 1",
        "- headers: none",
        "+ headers: passed=produce of eu:orders",
        "record 2",
        "- headers: none",
        "+ headers: passed=produce of eu:orders",
        "3 records, 3 changed, 0 of them left out",
    ]


FIRST = "def transform(batch, context):\n    return batch.slice(0, 1)\n"


def test_records_may_be_left_out_on_fetch_only(tmp_path: Path) -> None:
    arguments = files(tmp_path, FIRST, [{"key": "a"}, {"value": "b"}])

    assert run(*arguments, "--direction", "fetch") == (
        0,
        ["record 1 is left out", "2 records, 1 changed, 1 of them left out"],
        "",
    )
    status, _, errors = run(*arguments)
    assert status == 1
    assert "the gateway would refuse this batch: it returned 1 records for 2" in errors


def test_an_exception_is_shown_with_its_text(tmp_path: Path) -> None:
    status, _, errors = run(*files(tmp_path, "def transform(batch, context):\n    return 1 / 0\n", []))

    assert status == 1
    assert "ZeroDivisionError: division by zero" in errors


@pytest.mark.parametrize(
    ("code", "sample", "why"),
    [
        ("x", [], "NameError"),
        (FIRST, "{", "sample.json"),
        (FIRST, {}, "a list of records"),
        (FIRST, [{"vlaue": "x"}], "record 0: it may have key, value"),
        (FIRST, [{"headers": []}], "headers (a mapping)"),
        (FIRST, [{"timestamp": "now"}], "timestamp (a number)"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, code: str, sample: Any, why: str) -> None:
    status, _, errors = run(*files(tmp_path, code, sample))

    assert status == 2
    assert why in errors
