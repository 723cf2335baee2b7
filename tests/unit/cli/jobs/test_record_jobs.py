import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

REQUIRED = ["--bootstrap-servers", "a:1", "--out", "o"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["census", *REQUIRED, "--pattern", "("], "--pattern"),
        (["census", *REQUIRED, "--since", "yesterday"], "is no time"),
        (["census", *REQUIRED, "--kafka-config", "none"], "No such file"),
        (["leakscan", *REQUIRED], "name the topics"),
        (["leakscan", "--out", "o", "--topic", "t"], "--bootstrap-servers"),
        (["validate", *REQUIRED], "--config"),
        (["validate", *REQUIRED, "--config", "c", "--open-with", "pay"], "names no KEK"),
        (["rekey", *REQUIRED, "--topic", "t", "--to", "u", "--kek", "{kms_provider: Vault}"], "key_id"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said_before_spark_starts(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["pipeline", *arguments])

    assert result.exit_code == 2
    assert said in result.output
