import subprocess
import sys
from pathlib import Path

import pytest

from bifrost.cli import main as cli
from bifrost.cli import run

from .conftest import FakeGateway


def ran(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    monkeypatch.setattr(sys, "argv", ["bifrost", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code


def test_a_run_ends_with_the_status_of_the_gateway(
    gateway: FakeGateway, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.ends_with = 7

    assert ran(monkeypatch, "run", "-c", config_file) == 7
    assert gateway.worker_command[-2:] == ["plain", "info"]


def test_a_run_that_is_wrong_is_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, "run") == 2
    assert "Missing option '--config'" in capsys.readouterr().err


def test_other_commands_are_the_command_line_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(monkeypatch, "--version") == 0
    assert capsys.readouterr().out.startswith("bifrost 0.")


def test_an_interrupt_before_there_is_a_gateway_has_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(asked: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "serve", interrupted)

    assert ran(monkeypatch, "run", "-c", "proxy.yaml") == 130


@pytest.mark.parametrize("module", ["bifrost", "bifrost.cli.main"])
def test_the_command_runs_as_a_module(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "run", "--config", "/nowhere/proxy.yaml"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "/nowhere/proxy.yaml: no such file\n")
