from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

REQUIRED = ["--bootstrap-servers", "a:1", "--out", "o", "--topic", "t", "--transform", "mine.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "t"], "it is the topic itself"),
        (["--to", "u", "--fail", "quarantine"], "no quarantine"),
        (["--to", "u", "--open-with", "x"], "names no KEK"),
        (["--to", "u", "--to-bootstrap-servers", "b"], "is no HOST:PORT"),
        (["--to", "u", "--direction", "sideways"], "--direction"),
        ([], "--to"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said_before_spark_starts(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["pipeline", "transform", *REQUIRED, *arguments])

    assert result.exit_code == 2
    assert said in result.output


def test_a_topic_of_no_tenant_is_said_before_spark_starts(config_file: Path) -> None:
    result = CliRunner().invoke(
        app, ["pipeline", "transform", *REQUIRED, "--to", "u", "--config", str(config_file)]
    )

    assert result.exit_code == 1
    assert "error: no tenant of --config has the topic t" in result.output
