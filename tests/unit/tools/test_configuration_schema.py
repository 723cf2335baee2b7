import json
from pathlib import Path

import pytest

from configuration_schema import SCHEMA, main


def test_the_committed_schema_is_current() -> None:
    assert main(["--check"]) == 0, "run .venv/bin/python tools/configuration_schema.py"
    assert json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]


def test_a_schema_that_is_not_current_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("configuration_schema.SCHEMA", tmp_path / "config.schema.json")

    assert main(["--check"]) == 1
    assert capsys.readouterr().out == (
        "config.schema.json is not current: run .venv/bin/python tools/configuration_schema.py\n"
    )
    assert main([]) == 0
    assert main(["--check"]) == 0
