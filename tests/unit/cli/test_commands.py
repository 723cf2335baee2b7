import sys
from types import ModuleType

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app


def test_help_names_the_commands_without_importing_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bifrost.cli.demo", None)

    result = CliRunner().invoke(app, ["--help"])

    assert result.exit_code == 0
    assert "run " in result.stdout
    assert "demo " in result.stdout


def test_no_command_shows_the_help() -> None:
    result = CliRunner().invoke(app, [])

    assert result.exit_code == 2
    assert "Commands:" in result.output


def test_the_version() -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert result.exit_code == 0
    assert result.stdout.startswith("bifrost 0.")


def test_an_unknown_command_is_answered_with_the_closest() -> None:
    result = CliRunner().invoke(app, ["rnu"])

    assert result.exit_code == 2
    assert "Did you mean 'run'?" in result.stderr


def test_the_demo_is_imported_when_it_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("bifrost.cli.demo")
    calls: list[str] = []

    def demo(how: str = "long") -> None:
        calls.append(how)

    module.demo = demo  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bifrost.cli.demo", module)

    assert CliRunner().invoke(app, ["demo"]).exit_code == 0
    assert CliRunner().invoke(app, ["demo", "--how", "short"]).exit_code == 0
    assert calls == ["long", "short"]


def test_a_demo_that_lacks_its_packages_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'kafka'", name="kafka")

    monkeypatch.setattr("importlib.import_module", missing)

    result = CliRunner().invoke(app, ["demo", "--for", "15s"])

    assert result.exit_code == 1
    assert (
        result.stderr
        == "error: bifrost demo needs more packages: pip install '.[embedded]' in a clone of Bifrost\n"
    )
