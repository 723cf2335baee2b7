import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app
from bifrost.cli.run import LogFormat, LogLevel, RunArguments, read_arguments
from bifrost.gateway.errors import StartError

from .conftest import FakeGateway


def run(*arguments: object) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of `bifrost run`."""
    result = CliRunner().invoke(app, ["run", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("status", [0, 1, 7])
def test_the_gateway_gets_the_configuration_and_gives_the_exit_status(
    gateway: FakeGateway, config_file: Path, status: int
) -> None:
    gateway.ends_with = status

    assert run("--config", config_file)[0] == status
    assert [config.tenants[0].name for config in gateway.configs] == ["acme"]


def test_every_mistake_in_the_configuration_is_a_line_and_the_status_is_two(
    gateway: FakeGateway, config_file: Path
) -> None:
    text = (
        config_file.read_text().replace("bootstrap_port", "bootstrp_port").replace("acme.password", "nowhere")
    )
    config_file.write_text(text)

    status, output, errors = run("-c", config_file)

    assert (status, output, gateway.configs) == (2, "", [])
    assert [line.removeprefix(f"{config_file}:").split(" ")[0] for line in errors.splitlines()] == [
        "4:",
        "6:",
        "14:",
    ]
    assert errors.splitlines()[1] == (
        f"{config_file}:6: proxy.listener_sets[0].port_range.bootstrp_port: unknown key; "
        "did you mean bootstrap_port?"
    )


def test_a_missing_configuration_is_one_line(gateway: FakeGateway, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.yaml"

    assert run("--config", path) == (2, "", f"{path}: no such file\n")


def test_the_configuration_has_to_be_named(gateway: FakeGateway) -> None:
    status, _, errors = run()

    assert status == 2
    assert "Missing option '--config'" in errors


def test_a_gateway_that_cannot_start_says_why_in_one_line(gateway: FakeGateway, config_file: Path) -> None:
    gateway.ends_with = StartError("port 9092 on 0.0.0.0 is in use: stop its owner or choose another")

    status, output, errors = run("--config", config_file, "--log-level", "error")

    assert (status, output) == (1, "")
    assert errors == "error: port 9092 on 0.0.0.0 is in use: stop its owner or choose another\n"


def test_with_json_a_gateway_that_cannot_start_says_why_as_an_object(
    gateway: FakeGateway, config_file: Path
) -> None:
    gateway.ends_with = StartError("port 9092 on 0.0.0.0 is in use: stop its owner or choose another")

    status, output, errors = run("--config", config_file, "--log-format", "json", "--log-level", "error")

    event = json.loads(errors)
    assert (status, output) == (1, "")
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "not_started", "level": "error", "error": str(gateway.ends_with)}


def test_with_json_every_mistake_in_the_configuration_is_an_object(
    gateway: FakeGateway, config_file: Path
) -> None:
    text = config_file.read_text()
    config_file.write_text(text.replace("bootstrap_port", "bootstrp_port").replace("acme.pass", "none.pass"))
    plain = run("-c", config_file)[2].splitlines()

    status, output, errors = run("-c", config_file, "--log-format", "json")

    events = [json.loads(line) for line in errors.splitlines()]
    assert (status, output, len(plain)) == (2, "", 3)
    assert [(one["event"], one["error"]) for one in events] == [("not_started", line) for line in plain]


def test_a_password_that_others_can_read_is_warned_of_once(gateway: FakeGateway, config_file: Path) -> None:
    password = config_file.parent / "acme.password"
    password.chmod(0o644)
    status, _, errors = run("--config", config_file, "--log-format", "json")

    events = [json.loads(line) for line in errors.splitlines()]
    warned = [(one["level"], one["files"]) for one in events if one["event"] == "secrets_exposed"]
    assert (status, warned) == (0, [("warning", [str(password)])])


def test_a_bug_is_not_dressed_up_as_a_start_error(gateway: FakeGateway, config_file: Path) -> None:
    gateway.ends_with = AssertionError("impossible")

    result = CliRunner().invoke(app, ["run", "--config", str(config_file)])

    assert isinstance(result.exception, AssertionError)


def test_logs_are_plain_lines_or_json_on_standard_error(gateway: FakeGateway, config_file: Path) -> None:
    _, output, plain = run("--config", config_file)
    _, _, as_json = run("--config", config_file, "--log-format", "json")
    _, _, quiet = run("--config", config_file, "--log-level", "warning")

    assert output == quiet == ""
    assert plain.endswith(' info ready tenants=1 detail="one line"\n')
    event = json.loads(as_json)
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "ready", "level": "info", "tenants": 1, "detail": "one line"}


@pytest.mark.parametrize("option", [("--log-format", "xml"), ("--log-level", "loud")])
def test_a_wrong_option_is_a_usage_error(
    gateway: FakeGateway, config_file: Path, option: tuple[str, str]
) -> None:
    status, _, errors = run("--config", config_file, *option)

    assert status == 2
    assert f"'{option[1]}' is not one of" in errors


def test_a_running_gateway_does_not_carry_what_only_other_commands_use(config_file: Path) -> None:
    program = """
import sys
from types import ModuleType
fake = sys.modules["bifrost.gateway.workers.processes"] = ModuleType("processes")
def run(config, source, worker_command):
    unwanted = {"rich", "typer", "email", "kafka", "jgo", "bifrost.embedded", "bifrost.jars", "bifrost.cli.demo"}
    print(*unwanted.intersection(sys.modules))
    return 0
fake.run = run
sys.argv = ["bifrost", "run", "--config", sys.argv[1]]
from bifrost.cli.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(config_file)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run -c p.yaml", RunArguments(Path("p.yaml"))),
        ("run --config=p.yaml", RunArguments(Path("p.yaml"))),
        ("run --log-level debug --config a=b", RunArguments(Path("a=b"), log_level=LogLevel.DEBUG)),
        ("run --config x --log-format=json", RunArguments(Path("x"), LogFormat.JSON)),
    ],
)
def test_a_plain_command_line_is_read(line: str, expected: RunArguments) -> None:
    assert read_arguments(line.split()) == expected


@pytest.mark.parametrize(
    "line",
    [
        "",
        "run",
        "check -c p.yaml",
        "--version",
        "run --help",
        "run -c",
        "run -c p.yaml --help",
        "run -c p.yaml more",
        "run -c p.yaml -c q.yaml",
        "run -c --log-level info",
        "run -c=p.yaml",
        "run --config=",
        "run -c p.yaml --log-format xml",
        "run -c p.yaml --log-level",
    ],
)
def test_all_else_is_left_to_the_command_line_s_own(line: str) -> None:
    assert read_arguments(line.split()) is None


@pytest.mark.parametrize("line", ["run -c {} --log-format json", "run --log-format=json --config={}"])
def test_it_means_what_the_command_line_s_own_means(
    gateway: FakeGateway, config_file: Path, line: str
) -> None:
    arguments = line.format(config_file).split()

    asked = read_arguments(arguments)
    assert run(*arguments[1:])[0] == 0

    assert asked == RunArguments(config_file, LogFormat.JSON)
    assert gateway.worker_command[-2:] == [asked.log_format, asked.log_level]


@pytest.fixture
def remapper_file(tmp_path: Path) -> Path:
    path = tmp_path / "remap.yaml"
    path.write_text(
        'listen: { address: "127.0.0.1:9092" }\nkafka: { bootstrap_servers: ["a:9092"], request_timeout_ms: 100 }\n'
        "mapping: { virtual_partitions: 100, physical_partitions: 10 }\nlogging: { level: warn, json: true }\n"
    )
    return path


def test_the_file_of_a_remapper_says_how_to_log_and_what_differs(
    gateway: FakeGateway, remapper_file: Path
) -> None:
    status, _, errors = run("--config", remapper_file)

    events = [json.loads(line) for line in errors.splitlines()]
    assert (status, {one["event"] for one in events}) == (0, {"setting_differs"})
    assert [one["detail"].removeprefix(f"{remapper_file}:").split(": ")[:2] for one in events] == [
        ["2", "kafka.request_timeout_ms"],
        ["3", "mapping"],
    ]
    assert gateway.worker_command[-2:] == ["json", "warning"]


def test_an_option_says_more_than_the_file_of_a_remapper(gateway: FakeGateway, remapper_file: Path) -> None:
    errors = run("--config", remapper_file, "--log-level", "debug")[2]

    assert "ready" in errors
    assert gateway.worker_command[-2:] == ["json", "debug"]
