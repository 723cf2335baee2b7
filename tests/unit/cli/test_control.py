import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bifrost.cli.commands import app

CONTROL = {"port": 9405, "admins": [{"name": "alice", "token_sha256": "0" * 64}]}


def control(config: Path) -> tuple[int, str]:
    """The exit status and standard error of `bifrost control`."""
    result = CliRunner().invoke(app, ["control", "--config", str(config)])
    return result.exit_code, result.stderr


def write(config_file: Path, **proxy: object) -> None:
    config = yaml.safe_load(config_file.read_text())
    config["proxy"] |= proxy
    config_file.write_text(yaml.safe_dump(config))


def test_a_configuration_without_the_section_is_refused(config_file: Path) -> None:
    assert control(config_file) == (
        2,
        f"error: {config_file}: proxy.control is missing: docs/control.md says what it has\n",
    )


def test_the_section_needs_a_state(config_file: Path) -> None:
    write(config_file, control=CONTROL)

    status, errors = control(config_file)

    assert status == 2
    assert "proxy.control changes what gateways share, and proxy.state is missing: write state: {}" in errors


def test_without_its_packages_it_says_how_to_install_them(
    config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(config_file, control=CONTROL, state={})
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    assert control(config_file) == (
        1,
        "error: bifrost control needs more packages: pip install '.[control]' in a clone of Bifrost\n",
    )
