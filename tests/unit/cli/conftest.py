"""The command line run in this process, with a gateway that only remembers its configuration."""

import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest
import structlog

from bifrost.config.config_source import ConfigSource
from bifrost.config.model import Config

PROXY_YAML = """\
proxy:
  listener_sets:
    - name: plaintext
      port_range:
        advertised_host: "proxy.example.com"
        bootstrap_port: 9092
        broker_port_range: { start: 9093, end: 9095 }
upstream:
  bootstrap: ["kafka-1.internal:9092"]
tenants:
  - name: acme
    auth:
      credentials:
        - { username: acme, password_file: acme.password }
"""


class FakeGateway(ModuleType):
    """Stands for `bifrost.gateway.workers.processes`."""

    def __init__(self) -> None:
        super().__init__("bifrost.gateway.workers.processes")
        self.configs: list[Config] = []
        self.ends_with: int | BaseException = 0

    def run(self, config: Config, source: ConfigSource, worker_command: Sequence[str]) -> int:
        assert source.read() == config
        self.worker_command = list(worker_command)
        self.configs.append(config)
        structlog.get_logger().info("ready", tenants=len(config.tenants), detail="one line")
        if isinstance(self.ends_with, BaseException):
            raise self.ends_with
        return self.ends_with


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> FakeGateway:
    fake = FakeGateway()
    monkeypatch.setitem(sys.modules, "bifrost.gateway.workers.processes", fake)
    return fake


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    (tmp_path / "acme.password").write_text("hunter2\n")
    (tmp_path / "acme.password").chmod(0o600)
    (tmp_path / "proxy.yaml").write_text(PROXY_YAML)
    return tmp_path / "proxy.yaml"


@pytest.fixture(autouse=True)
def _restored_logs() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
