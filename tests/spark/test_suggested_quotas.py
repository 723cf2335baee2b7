"""From the journal to quotas that are set: what `bill` suggests, `bifrost quotas apply` takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bifrost.cli.admin.api_client import ApiClient
from bifrost.cli.commands import app
from bifrost.cli.logs import configure_logs
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.pipeline.jobs.bill import Bill
from bifrost.wire.messages import DescribeClientQuotasRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce_request, recreate_topic
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.control.control_process import ControlProcess
from support.control.table_backend import Api
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.journal.billing import BOOK, GIB, book
from support.journal.journal_records import Journal
from support.physical_names import physical_name

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


@pytest.mark.timeout(180)
def test_a_gateway_holds_clients_to_what_a_bill_has_suggested(
    metered: Callable[..., None], bill: Callable[..., Bill], kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    state, name, tenant = f"__state-{time.time_ns()}", "billed-orders", TenantSpec("acme")
    metered(Journal().topic("acme", "orders", bytes_in=2 * GIB))
    bill(book(BOOK))
    file = tmp_path / "out/2026-10/quotas.json"
    [suggested] = json.loads(file.read_text())["alterations"]
    with RoutedClient(Endpoint(HOST, kafka.broker_port(1))) as routed:
        recreate_topic(routed, physical_name("acme", name))
    (tmp_path / "gateway").mkdir()
    request = produce_request(name, build_batch([b"x" * 2 * int(suggested["values"]["producer_byte_rate"])]))

    with (
        GatewayProcess(
            tmp_path / "gateway",
            kafka.bootstrap,
            tenants=(replace(tenant, allow_quota_changes=True),),
            has_admin=True,
            proxy={"state": {"topic": state}},
        ) as gateway,
        ControlProcess(tmp_path / "control", kafka.bootstrap, state, tenants=[{"name": "acme"}]) as control,
    ):
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
            free = client.request(request, 9)
        applied = control.command("quotas", "apply", str(file))
        bob = control.command("quotas", "alter", "acme", "--user", "bob", "--add", "producer_byte_rate=1024")
        described = control.command("quotas", "describe", "acme", "--json")
        assert (applied[0], bob[0], described[0]) == (0, 0, 0), (applied, bob, described)
        await_value(lambda: value(gateway, "kafka_proxy_state_records"), 2)
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
            held = client.request(request, 9)
            told = client.request(DescribeClientQuotasRequest(components=[], strict=False), 1)

    whole, *_ = (one for one in json.loads(described[1])["quotas"] if one["entity"] == {"namespace": None})
    assert whole["values"] == suggested["values"]
    assert free.throttle_time_ms == 0
    assert held.throttle_time_ms > 500  # Of a second, and the margin that a bucket has.
    # Kafka has no entity for a namespace as a whole, so its own API tells the others alone.
    assert [[part.entity_name for part in one.entity] for one in told.entries or []] == [["bob"]]
