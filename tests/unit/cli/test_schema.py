import json
import sys
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "config.schema.json"


def test_the_schema_is_printed_as_it_is_committed() -> None:
    result = CliRunner().invoke(app, ["schema"])

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == COMMITTED.read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(result.stdout))


def test_it_takes_no_arguments() -> None:
    result = CliRunner().invoke(app, ["schema", "proxy.yaml"])

    assert result.exit_code == 2
    assert "unexpected extra argument" in result.stderr


def test_other_commands_do_not_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bifrost.cli.schema", None)
    monkeypatch.setitem(sys.modules, "bifrost.config.json_schema", None)

    result = CliRunner().invoke(app, ["--help"])

    assert result.exit_code == 0
    assert "schema " in result.stdout
