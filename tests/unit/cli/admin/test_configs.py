import json

import pytest

from unit.cli.admin.conftest import Run

CONFIGS = ("namespaces", "configs")


def test_configs_are_set_described_and_reported(run: Run) -> None:
    assert run(*CONFIGS, "alter", "acme", "--add", "retention.ms=1000", "--dry-run") == (0, "", "")
    assert run(*CONFIGS, "describe", "acme") == (0, "", "")
    assert run(*CONFIGS, "alter", "acme", "--add", "retention.ms=1000") == (0, "", "")
    assert run(*CONFIGS, "describe", "acme") == (0, "retention.ms\t1000\tacme\n", "")
    status, output, _ = run(*CONFIGS, "report", "acme", "--json")
    assert (status, json.loads(output)["configs"]) == (0, {"retention.ms": "1000"})
    status, output, _ = run(*CONFIGS, "alter", "acme", "--remove", "retention.ms", "--json")
    assert (status, json.loads(output)["configs"]) == (0, {})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], "nothing to change"), (["--add", "retention.ms"], "is no CONFIG=VALUE")],
)
def test_a_command_line_that_says_too_little_is_refused(
    run: Run, arguments: list[str], expected: str
) -> None:
    status, output, errors = run(*CONFIGS, "alter", "acme", *arguments)

    assert (status, output) == (2, "")
    assert expected in errors


def test_what_the_api_refuses_is_status_1(run: Run) -> None:
    status, _, errors = run(*CONFIGS, "alter", "acme", "--add", "segment.ms=1")

    assert status == 1
    assert "segment.ms" in errors
