import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli import state as commands
from bifrost.cli.commands import app


def state(*arguments: object) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of `bifrost state`."""
    result = CliRunner().invoke(app, ["state", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("command", [["export", "file"], ["verify"]])
def test_a_configuration_without_a_state_is_refused(config_file: Path, command: list[str]) -> None:
    assert state(*command, "--config", config_file) == (
        2,
        "",
        f"error: {config_file}: proxy.state is missing: write state: {{}} to have one\n",
    )


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    status, output, errors = state("verify", "--config", tmp_path / "absent.yaml")

    assert (status, output) == (2, "")
    assert "absent.yaml" in errors


def test_a_file_that_is_no_export_is_refused_before_a_broker_is_asked(
    config_file: Path, tmp_path: Path
) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("{}\n")

    for command in (["import", file], ["verify", "--against", file]):
        status, _, errors = state(*command, "--config", config_file)
        assert (status, errors) == (1, f"error: {file}: line 1 is not the header of an export of the state\n")


def test_an_export_is_written_in_one_step_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("old")

    commands._write(file, b"new\n")

    assert file.read_bytes() == b"new\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
