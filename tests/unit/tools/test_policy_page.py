from pathlib import Path

import pytest

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS
from policy_page import PAGE, main, page


def test_the_committed_page_is_what_the_tool_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run .venv/bin/python tools/policy_page.py"
    assert main(["--check"]) == 0


def test_a_page_that_is_not_current_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("policy_page.PAGE", tmp_path / "config-policy.md")

    assert main(["--check"]) == 1
    assert "config-policy.md is not current" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_every_config_has_a_row_with_a_reason() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]

    assert len(rows) == len(TOPIC_CONFIGS) + len(GROUP_CONFIGS)
    assert all(all(cell.strip() for cell in row.strip("|").split("|")) for row in rows)
