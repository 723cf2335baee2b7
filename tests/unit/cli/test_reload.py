from http.client import RemoteDisconnected
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli import reload as module
from bifrost.cli.commands import app

from .conftest import PROXY_YAML

asked: list[tuple[str, int]] = []
"""Where the command asked."""

ADMIN = PROXY_YAML.replace("proxy:\n", "proxy:\n  admin: { bind_host: 0.0.0.0, port: 9404 }\n")


def run(path: Path | None, *options: str) -> tuple[int, str, str]:
    given = [] if path is None else ["--config", str(path)]
    result = CliRunner().invoke(app, ["reload", *given, *options])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, config_file: Path) -> list[tuple[int, str] | Exception]:
    """What the gateway answers; it is asked where the configuration says."""
    config_file.write_text(ADMIN)
    asked.clear()
    given: list[tuple[int, str] | Exception] = []

    def ask(host: str, port: int) -> tuple[int, str]:
        asked.append((host, port))
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
    assert asked == [("127.0.0.1", 9404)]


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), RemoteDisconnected("gone")]
)
def test_a_gateway_that_is_not_there_is_named(
    answers: list[tuple[int, str] | Exception], config_file: Path, error: Exception
) -> None:
    answers.append(error)
    status, _, errors = run(config_file)

    assert status == 2
    assert f"no gateway answers at 0.0.0.0:9404 ({error}): does it run, with this proxy.admin?" in errors
    command = f"bifrost reload --config {config_file} --admin HOST:PORT"
    assert (
        f"If proxy.admin was changed, the gateway is still where it was before: say where, {command}"
        in errors
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("127.0.0.1:9500", ("127.0.0.1", 9500)),
        ("0.0.0.0:9500", ("127.0.0.1", 9500)),
        ("[::1]:9500", ("::1", 9500)),
        ("gateway.internal:9500", ("gateway.internal", 9500)),
    ],
)
@pytest.mark.parametrize("has_file", [True, False])
def test_a_gateway_is_asked_where_the_option_says(
    answers: list[tuple[int, str] | Exception],
    config_file: Path,
    said: str,
    expected: tuple[str, int],
    has_file: bool,
) -> None:
    answers.append((200, "applied: fine\n"))

    assert run(config_file if has_file else None, "--admin", said) == (0, "applied: fine\n", "")
    assert asked == [expected]


def test_the_option_is_for_a_file_whose_section_is_gone_as_well(
    answers: list[tuple[int, str] | Exception], config_file: Path
) -> None:
    config_file.write_text(PROXY_YAML)
    answers.append((200, "applied: fine\n"))

    assert run(config_file, "--admin", "127.0.0.1:9404")[0] == 0


def test_with_the_option_no_gateway_there_is_all_that_is_said(
    answers: list[tuple[int, str] | Exception],
) -> None:
    answers.append(ConnectionRefusedError("refused"))

    assert run(None, "--admin", "127.0.0.1:9500") == (
        2,
        "",
        "error: no gateway answers at 127.0.0.1:9500 (refused): does it run, with this proxy.admin?\n",
    )


@pytest.mark.parametrize("said", ["9404", "127.0.0.1", "http://127.0.0.1:9404", ":9404", "127.0.0.1:0", ""])
def test_an_address_that_is_none_is_refused(said: str) -> None:
    assert run(None, "--admin", said) == (
        2,
        "",
        f"error: --admin {said!r} is no address: write HOST:PORT, e.g. 127.0.0.1:9404\n",
    )


def test_no_gateway_is_named() -> None:
    assert run(None) == (2, "", "error: which gateway? Add --config FILE, or --admin HOST:PORT\n")


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
    assert "--admin HOST:PORT" in errors
