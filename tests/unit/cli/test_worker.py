"""The command that a supervisor starts its workers by."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bifrost.cli.run import LogFormat, LogLevel, worker_command
from bifrost.cli.worker import main


def test_a_worker_gets_what_its_supervisor_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = ModuleType("worker")
    fake.Inherited = lambda *numbers: numbers
    fake.run_worker = sum
    monkeypatch.setitem(sys.modules, "bifrost.gateway.workers.worker", fake)

    assert main(["json", "debug", "1", "2", "30", "4", "5", "6", "7"]) == 55


def test_the_command_is_this_interpreter_and_the_log_is_as_ours() -> None:
    command = worker_command(LogFormat.JSON, LogLevel.DEBUG)

    assert Path(command[0]).samefile(sys.executable)
    assert command[1:] == ["-P", "-m", "bifrost.cli.worker", "json", "debug"]
