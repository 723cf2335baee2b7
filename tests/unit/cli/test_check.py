import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bifrost.cli.commands import app
from support.gateways.virtual_cluster_texts import FILTERS, PROD
from support.physical_names import prefix_of

from .conftest import FakeGateway


def check(*arguments: object) -> tuple[int, str, str]:
    """The exit status, standard output and standard error of `bifrost check`."""
    result = CliRunner().invoke(app, ["check", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("option", ["--config", "-c"])
def test_a_valid_configuration_is_counted(config_file: Path, option: str) -> None:
    expected = f"{config_file}: ok: 1 listener set, 1 upstream, 1 tenant, 1 credential\n"

    assert check(option, config_file) == (0, expected, "")


def test_a_password_that_others_can_read_is_a_warning(config_file: Path) -> None:
    password = config_file.parent / "acme.password"
    password.chmod(0o644)

    status, output, errors = check("--config", config_file)

    assert (status, output.endswith(", 1 credential\n")) == (0, True)
    assert errors.startswith(
        f"warning: {password}: every user of this machine can read or change this secret"
    )
    assert errors.count("\n") == 1


def test_more_than_one_of_each_is_counted(config_file: Path) -> None:
    text = config_file.read_text()
    more_users = ", ".join(f"{{ username: u{n}, password_file: acme.password }}" for n in range(3))
    config_file.write_text(f"{text}  - name: globex\n    auth: {{ credentials: [{more_users}] }}\n")

    _, output, _ = check("--config", config_file)

    assert output.endswith(": ok: 1 listener set, 1 upstream, 2 tenants, 4 credentials\n")


def test_every_mistake_is_a_line_and_the_status_is_two(config_file: Path) -> None:
    mistaken = config_file.read_text().replace("bootstrap_port", "bootstrp_port").replace("acme", "a b")
    config_file.write_text(mistaken)

    status, output, errors = check("--config", config_file)

    assert (status, output) == (2, "")
    assert [line.removeprefix(f"{config_file}:").split(":")[0] for line in errors.splitlines()] == [
        "4",
        "6",
        "11",
        "14",
    ]


def test_what_it_says_of_a_mistake_is_what_run_says(gateway: FakeGateway, config_file: Path) -> None:
    config_file.write_text(config_file.read_text().replace("9092", "99999"))

    checked = check("--config", config_file)
    run = CliRunner().invoke(app, ["run", "--config", str(config_file)])

    assert checked == (run.exit_code, run.stdout, run.stderr)
    assert gateway.configs == []


def test_a_folder_of_virtual_clusters_is_checked_and_run_like_a_file(
    gateway: FakeGateway, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(PROD)
    other = PROD.replace("tenant-a-prod", "tenant-b").replace("t1-", "t2-").replace("9093", "9193")
    (tmp_path / "b.yaml").write_text(other)

    checked = check("--config", tmp_path)
    run = CliRunner().invoke(app, ["run", "--config", str(tmp_path)])

    assert checked == (0, f"{tmp_path}: ok: 2 listener sets, 1 upstream, 2 tenants, 0 credentials\n", "")
    assert run.exit_code == 0
    assert [[tenant.name for tenant in one.tenants] for one in gateway.configs] == [
        ["tenant-a-prod", "tenant-b"]
    ]


def test_a_virtual_cluster_with_all_its_sections_would_do(tmp_path: Path) -> None:
    file = tmp_path / "tenant-a-prod.yaml"
    file.write_text(PROD + FILTERS)

    assert check("--config", file) == (
        0,
        f"{file}: ok: 1 listener set, 1 upstream, 1 tenant, 0 credentials\n",
        "",
    )


def test_a_missing_configuration_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.yaml"

    assert check("--config", path) == (2, "", f"{path}: no such file\n")


def test_nothing_is_started(gateway: FakeGateway, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)

    assert check("--config", config_file)[0] == 0
    assert gateway.configs == []


def test_the_command_runs_as_a_user_runs_it_and_imports_no_gateway(config_file: Path) -> None:
    program = """
import sys
sys.argv = ["bifrost", "check", "--config", sys.argv[1]]
from bifrost.cli.main import main
try:
    main()
finally:
    print(*{"rich", "asyncio", "bifrost.gateway", "bifrost.embedded", "bifrost.jars"}.intersection(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(config_file)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0].startswith(f"{config_file}: ok: ")
    assert done.stdout.splitlines()[1] == ""


@pytest.mark.parametrize(
    ("expression", "mistake"),
    [("value.age >=", "is no CEL"), ("age >= 18", "uses age: there are key and value")],
)
def test_a_rule_that_is_no_cel_is_a_mistake(config_file: Path, expression: str, mistake: str) -> None:
    rule = f"{{ name: adult, expression: '{expression}' }}"
    settings = f"{{ registry_url: 'http://registry', level: rules, checks: [{rule}] }}"
    config_file.write_text(
        f"{config_file.read_text()}    filters: [{{ name: SchemaValidator, config: {settings} }}]\n"
    )

    status, output, errors = check("--config", config_file)

    assert (status, output) == (2, "")
    assert "tenants[acme].filters[0].config.checks[0].expression: " in errors
    assert mistake in errors


def test_a_rule_that_is_cel_is_none(config_file: Path) -> None:
    rule = "{ name: adult, expression: 'value.age >= 18' }"
    settings = f"{{ registry_url: 'http://registry', level: rules, checks: [{rule}] }}"
    config_file.write_text(
        f"{config_file.read_text()}    filters: [{{ name: SchemaValidator, config: {settings} }}]\n"
    )

    assert check("--config", config_file)[0] == 0


def test_what_differs_from_the_file_of_a_remapper_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "remap.yaml"
    path.write_text(
        'listen: { address: "127.0.0.1:9092" }\nkafka: { bootstrap_servers: ["a:9092"] }\n'
        "mapping: { virtual_partitions: 100, physical_partitions: 10 }\n"
    )

    status, output, errors = check("-c", path)

    assert (status, output) == (0, f"{path}: ok: 1 listener set, 1 upstream, 1 tenant, 0 credentials\n")
    prefix = prefix_of("remapper")
    assert errors.startswith(f"warning: {path}:3: mapping: topics and groups have the prefix {prefix} ")
