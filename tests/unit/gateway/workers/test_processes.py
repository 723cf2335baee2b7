"""How many processes a configuration asks for; tests/kafka/operations/test_workers.py starts them."""

import sys
from pathlib import Path
from typing import Any

import pytest

from bifrost.config.config_source import ConfigFiles
from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.workers import processes
from bifrost.gateway.workers.supervisor import Supervisor
from support.journal.loading import SALT_KEY
from support.skips.optional_parts import LINUX, lacks
from unit.gateway.test_gateway import CONFIG


def config(workers: int | str) -> Config:
    return Config.model_validate({**CONFIG, "proxy": {**CONFIG["proxy"], "workers": workers}})


@pytest.fixture
def source(tmp_path: Path) -> ConfigFiles:
    (tmp_path / "proxy.yaml").write_text("")
    return ConfigFiles(tmp_path / "proxy.yaml", SALT_KEY)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What would run: the class, and its configuration."""
    found: list[tuple[str, Any]] = []

    def note(kind: type) -> Any:
        async def run(self: Any) -> int:
            found.append((kind.__name__, self.config.proxy.workers))
            return 7

        return run

    for kind in (Gateway, Supervisor):
        monkeypatch.setattr(kind, "run", note(kind))
    return found


def test_one_process_is_a_gateway_by_itself(started: list[tuple[str, Any]], source: ConfigFiles) -> None:
    assert processes.run(config(1), source) == 7
    assert started == [("Gateway", 1)]


@pytest.mark.skipif(sys.platform != "linux", reason=lacks(LINUX))
def test_several_processes_have_a_supervisor(started: list[tuple[str, Any]], source: ConfigFiles) -> None:
    assert processes.run(config(2), source, ["worker"]) == 7
    assert started == [("Supervisor", 2)]


def test_several_processes_need_linux(
    started: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(StartError, match=r"proxy\.workers is 3: more than one worker needs Linux"):
        processes.run(config(3), source, ["worker"])

    assert started == []
