import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.commands import app
from bifrost.cli.logs import configure_logs
from support.control.table_backend import Api

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `bifrost namespaces` against the application in this process."""
    api = Api(tmp_path)
    configure_logs(as_json=False, level="critical")

    def send(_self: ApiClient, method: str, target: str, body: bytes | None, headers: Any) -> Any:
        answer = api.client.request(method, target, content=body, headers=headers)
        return answer.status_code, dict(answer.headers), answer.content

    monkeypatch.setattr(ApiClient, "_send", send)
    monkeypatch.setenv("BIFROST_CONTROL_TOKEN_FILE", str(tmp_path / "alice.token"))

    def command(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, ["namespaces", *arguments])
        return result.exit_code, result.stdout, result.stderr

    return command


def test_namespaces_are_created_listed_and_deleted(run: Run) -> None:
    assert run("create", "acme:a:b") == (0, "created acme:a\ncreated acme:a:b\n", "")
    assert run("list", "acme") == (
        0,
        "acme:a\t1\tAdmin:alice\t1970-01-01T00:00:01Z\nacme:a:b\t1\tAdmin:alice\t1970-01-01T00:00:01Z\n",
        "",
    )
    assert run("delete", "acme:a", "--recursive", "--dry-run") == (
        0,
        "would delete namespace acme:a\nwould delete namespace acme:a:b\n",
        "",
    )
    assert (
        run("delete", "acme:a", "--recursive")[1] == "deleted namespace acme:a\ndeleted namespace acme:a:b\n"
    )
    assert run("list")[1] == "acme\t\tconfiguration\t\nglobex\t\tconfiguration\t\n"


def test_a_refusal_is_status_1_with_the_reason(run: Run) -> None:
    status, output, errors = run("delete", "acme:nowhere")

    assert (status, output) == (1, "")
    assert errors.startswith("error: InvalidNamespace: namespace acme:nowhere does not exist; ")


def test_json_is_what_the_api_answers(run: Run) -> None:
    assert json.loads(run("create", "acme:a", "--json")[1]) == {"created": ["acme:a"]}
    assert [one["name"] for one in json.loads(run("list", "--json")[1])["namespaces"]] == [
        "acme",
        "acme:a",
        "globex",
    ]
    assert json.loads(run("delete", "acme:a", "--json")[1])["namespaces"] == ["acme:a"]
