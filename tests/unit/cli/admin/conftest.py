"""The commands against the application in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.commands import app
from bifrost.cli.logs import configure_logs
from support.control.table_backend import Api, TableBackend

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def backends() -> list[TableBackend]:
    """The backend of the application, once there is a fixture that runs commands."""
    return []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backends: list[TableBackend]) -> Run:
    """Run a command of `bifrost` as alice; return its exit status, output and errors."""
    api = Api(tmp_path)
    backends.append(api.backend)
    configure_logs(as_json=False, level="critical")

    def send(_self: ApiClient, method: str, target: str, body: bytes | None, headers: Any) -> Any:
        answer = api.client.request(method, target, content=body, headers=headers)
        return answer.status_code, dict(answer.headers), answer.content

    monkeypatch.setattr(ApiClient, "_send", send)
    monkeypatch.setenv("BIFROST_CONTROL_TOKEN_FILE", str(tmp_path / "alice.token"))

    def command(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, arguments)
        return result.exit_code, result.stdout, result.stderr

    return command
