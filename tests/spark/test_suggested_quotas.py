"""From the journal to quotas that are set: what `bill` suggests, `bifrost quotas apply` takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.commands import app
from bifrost.cli.logs import configure_logs
from bifrost.pipeline.jobs.bill import Bill
from support.control.table_backend import Api
from support.journal.billing import BOOK, GIB, book
from support.journal.journal_records import Journal

BUDGETS = """budgets:
  - {tenant: acme, monthly: 0.5}
  - {tenant: acme, namespace: eu, monthly: 0.15}
  - {tenant: globex, monthly: 0.0001}
"""


def test_suggestions_of_a_bill_are_applied_as_they_are(
    metered: Callable[..., None], bill: Callable[..., Bill], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal()
    metered(
        journal.topic("acme", "orders", bytes_in=2 * GIB),
        journal.topic("acme", "clicks", bytes_in=GIB, namespace="acme:eu"),
        journal.requests("globex", requests=10**6),
    )
    bill(book(BOOK.partition("budgets:")[0] + BUDGETS))
    file = tmp_path / "out/2026-10/quotas.json"
    suggested = json.loads(file.read_text())
    api = Api(tmp_path)
    api.ask("POST", "/v1/namespaces", {"name": "acme:eu"})

    def send(_self: ApiClient, method: str, target: str, body: bytes | None, headers: Any) -> Any:
        answer = api.client.request(method, target, content=body, headers=headers)
        return answer.status_code, dict(answer.headers), answer.content

    configure_logs(as_json=False, level="critical")  # The API's lines would be in the output.
    monkeypatch.setattr(ApiClient, "_send", send)
    monkeypatch.setenv("BIFROST_CONTROL_TOKEN_FILE", str(tmp_path / "alice.token"))
    done = CliRunner().invoke(app, ["quotas", "apply", str(file)])
    again = CliRunner().invoke(app, ["quotas", "apply", str(file)])

    assert (done.exit_code, again.exit_code, again.stdout) == (0, 0, "nothing to change\n")
    assert [one["namespace"] for one in suggested["alterations"]] == ["acme", "acme:eu"]
    assert [one["namespace"] for one in suggested["unkept"]] == ["globex"]
    for one in suggested["alterations"]:
        [found] = api.ask("GET", f"/v1/quotas?namespace={one['namespace']}").json()["quotas"]
        assert found["entity"] == {"namespace": None}
        assert found["values"] == one["values"]
        assert found["values"]["producer_byte_rate"] > 0
