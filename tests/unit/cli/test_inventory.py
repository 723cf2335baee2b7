from pathlib import Path

from typer.testing import CliRunner

from bifrost.cli.commands import app


def inventory(*arguments: object) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of `bifrost inventory`."""
    result = CliRunner().invoke(app, ["inventory", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_a_configuration_that_is_not_valid_is_told(config_file: Path) -> None:
    config_file.write_text("proxy: 7")

    status, output, errors = inventory("--config", config_file)

    assert (status, output) == (2, "")
    assert str(config_file) in errors
