from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

REQUIRED = ["--bootstrap-servers", "a:1", "--out", "o"]
REKEY = ["rekey", *REQUIRED, "--topic", "t", "--to", "u", "--kek", "file:keks#new"]


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
        ([*REKEY, "--sealing-key", "none"], "no such file"),
        ([*REKEY, "--config", "none"], "none"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_said_before_spark_starts(
    arguments: list[str], said: str
) -> None:
    result = CliRunner().invoke(app, ["pipeline", *arguments])

    assert result.exit_code == 2
    assert said in result.output


def test_a_topic_that_no_filter_seals_is_said_before_spark_starts(config_file: Path) -> None:
    result = CliRunner().invoke(app, ["pipeline", *REKEY, "--config", str(config_file)])

    assert result.exit_code == 1
    assert "error: no EnvelopeEncryption of --config is for t" in result.output
