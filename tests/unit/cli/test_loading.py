from __future__ import annotations

from pathlib import Path

import pytest
import typer

from bifrost.cli.loading import config_files, read_config


@pytest.mark.parametrize("status", [1, 2])
def test_a_configuration_that_is_not_valid_ends_the_command_with_its_status(
    status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "proxy.yaml"
    file.write_text("no_such_section: {}\n", encoding="utf-8")

    with pytest.raises(typer.Exit) as ended:
        read_config(config_files(file), status=status)

    assert ended.value.exit_code == status
    assert "no_such_section" in capsys.readouterr().err
