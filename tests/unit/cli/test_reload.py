from http.client import RemoteDisconnected
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli import reload as module
from bifrost.cli.commands import app

from .conftest import PROXY_YAML

ADMIN = PROXY_YAML.replace("proxy:\n", "proxy:\n  admin: { bind_host: 0.0.0.0, port: 9404 }\n")


def run(path: Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["reload", "--config", str(path)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, config_file: Path) -> list[tuple[int, str] | Exception]:
    """What the gateway answers; it is asked where the configuration says."""
    config_file.write_text(ADMIN)
    given: list[tuple[int, str] | Exception] = []

    def ask(host: str, port: int) -> tuple[int, str]:
        assert (host, port) == ("127.0.0.1", 9404)
        answer = given.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(module, "_ask", ask)
    return given


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((200, "applied: fine\n"), (0, "applied: fine\n", "")),
        ((422, "refused: upstream x: down\n"), (1, "", "refused: upstream x: down\n")),
        ((404, "here is only /metrics\n"), (2, "", "here is only /metrics\n")),
    ],
)
def test_the_status_is_what_came_of_it(
    answers: list[tuple[int, str] | Exception],
    config_file: Path,
    answer: tuple[int, str],
    expected: tuple[int, str, str],
) -> None:
    answers.append(answer)

    assert run(config_file) == expected


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), RemoteDisconnected("gone")]
)
def test_a_gateway_that_is_not_there_is_named(
    answers: list[tuple[int, str] | Exception], config_file: Path, error: Exception
) -> None:
    answers.append(error)
    status, _, errors = run(config_file)

    assert status == 2
    assert "no gateway answers at 0.0.0.0:9404" in errors


def test_a_configuration_that_does_not_load_is_refused_here_already(config_file: Path) -> None:
    config_file.write_text(ADMIN + "colour: red\n")

    assert run(config_file) == (
        1,
        "",
        f"{config_file}:16: colour: unknown key; known here: proxy, tenants, upstream, upstreams\n",
    )


def test_without_an_admin_port_no_gateway_can_be_asked(config_file: Path) -> None:
    status, _, errors = run(config_file)

    assert status == 2
    assert "send SIGHUP" in errors
