"""`bifrost control` and `bifrost namespaces` on a real Kafka."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.config.name_template import NamePrefixes, NameTemplate
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_key import StateKey
from support.brokers.kafka_cluster import TOPICS, KafkaTools
from support.clients.endpoint import Endpoint
from support.control.control_process import ControlProcess, Said
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec
from support.state_clients import reading

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def topic() -> str:
    """A topic for a state that no other test has."""
    return f"__state-{time.time_ns()}"


def test_an_operator_creates_lists_and_deletes_namespaces(
    kafka: EmbeddedKafka, tmp_path: Path, topic: str
) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, topic) as control:
        status, output, errors = control.command("namespaces", "create", "acme:analytics:eu")
        assert (status, output, errors) == (0, "created acme:analytics\ncreated acme:analytics:eu\n", "")

        status, output, errors = control.command("namespaces", "list")
        names = [line.split("\t")[0] for line in output.splitlines()]
        assert (status, errors, names) == (0, "", ["acme", "acme:analytics", "acme:analytics:eu", "globex"])
        assert "Admin:alice" in output

        status, output, errors = control.command("namespaces", "delete", "acme:analytics")
        assert (status, output) == (1, "")
        assert "1 namespaces are nested below acme:analytics (acme:analytics:eu)" in errors

        status, output, errors = control.command("namespaces", "delete", "acme:analytics", "--recursive")
        assert (status, errors) == (0, "")
        assert output == "deleted namespace acme:analytics\ndeleted namespace acme:analytics:eu\n"
        assert control.ask("GET", "/v1/namespaces/acme:analytics").status == 404

    asyncio.run(check_record(kafka.bootstrap, topic))
    changes = [one for one in control.events() if one["event"] == "control_request"]
    assert [(one["principal"], one["method"], one["status"]) for one in changes[:1]] == [
        ("Admin:alice", "POST", 201)
    ]


async def check_record(bootstrap: str, topic: str) -> None:
    """Check who deleted a namespace, by the state itself."""
    async with reading(bootstrap, topic, creates=False) as client:
        entry = client.table.entry(StateKey("namespace", "acme:analytics"))
        assert entry is not None
        assert entry.record.body is None
        assert entry.record.on_behalf_of == "Admin:alice"
        assert entry.record.writer.startswith("control/")


def test_the_topics_of_a_namespace_are_deleted_at_the_broker_and_no_others(
    kafka: EmbeddedKafka, kafka_tool: KafkaTools, tmp_path: Path, topic: str
) -> None:
    tenant = f"t{time.time_ns()}"
    root = NamePrefixes.of_tenant(tenant, NameTemplate())
    inside = [root.below(["eu"]).topic + "orders", root.below(["eu", "west"]).topic + "clicks"]
    outside = [root.topic + "orders", root.below(["us"]).topic + "orders"]
    for name in (*inside, *outside):
        kafka_tool(
            TOPICS, "--bootstrap-server", kafka.bootstrap, "--create", "--topic", name, "--partitions", "1"
        )

    with ControlProcess(tmp_path, kafka.bootstrap, topic, tenants=[{"name": tenant}]) as control:
        for name in ("eu:west", "us"):
            assert control.command("namespaces", "create", f"{tenant}:{name}")[0] == 0
        status, output, errors = control.command("namespaces", "delete", f"{tenant}:eu", "--recursive")

    assert (status, errors) == (0, "")
    assert f"deleted topic {tenant}:eu/orders\ndeleted topic {tenant}:eu:west/clicks\n" in output
    listed = kafka_tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--list").stdout.split()
    assert set(listed) & {*inside, *outside} == set(outside)


def test_of_two_processes_that_create_the_same_namespace_one_succeeds(
    kafka: EmbeddedKafka, tmp_path: Path, topic: str
) -> None:
    with (
        ControlProcess(tmp_path / "1", kafka.bootstrap, topic) as one,
        ControlProcess(tmp_path / "2", kafka.bootstrap, topic) as other,
    ):
        for number in range(5):
            said: list[Said] = []

            def create(control: ControlProcess, number: int = number, said: list[Said] = said) -> None:
                said.append(control.ask("POST", "/v1/namespaces", {"name": f"acme:n{number}"}))

            threads = [threading.Thread(target=create, args=(control,)) for control in (one, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)

            assert sorted(answer.status for answer in said) == [201, 409]
            [refused] = [answer for answer in said if answer.status == 409]
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.body["type"] in ("urn:bifrost:problem:exists", "urn:bifrost:problem:conflict")
        expected = ["acme", *(f"acme:n{number}" for number in range(5)), "globex"]
        for control in (one, other):
            await_names(control, expected)


def await_names(control: ControlProcess, expected: list[str]) -> None:
    """Wait until a process has read what the other one has written."""
    ends = time.monotonic() + 30
    while True:
        found = control.ask("GET", "/v1/namespaces", admin="bob").body["namespaces"]
        if [one["name"] for one in found] == expected:
            return
        assert time.monotonic() < ends, found
        time.sleep(0.05)


def test_of_two_versions_that_were_seen_only_the_newest_is_changed(
    kafka: EmbeddedKafka, tmp_path: Path, topic: str
) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, topic) as control:
        control.ask("POST", "/v1/namespaces", {"name": "acme:a"})
        seen = control.ask("GET", "/v1/namespaces/acme:a").headers["etag"]
        control.ask("POST", "/v1/namespaces", {"name": "acme:a:b"})  # writes the one above it anew

        refused = control.ask("DELETE", "/v1/namespaces/acme:a?recursive=true", headers={"If-Match": seen})
        assert refused.status == 412
        assert refused.body["conflict"]["expected"] < refused.body["conflict"]["found"]

        newest = control.ask("GET", "/v1/namespaces/acme:a").headers["etag"]
        deleted = control.ask("DELETE", "/v1/namespaces/acme:a?recursive=true", headers={"If-Match": newest})
        assert (deleted.status, deleted.body["namespaces"]) == (200, ["acme:a", "acme:a:b"])


def test_a_gateway_follows_what_is_created_and_goes_on_without_the_api(
    kafka: EmbeddedKafka, tmp_path: Path, topic: str, start_gateway: StartGateway
) -> None:
    tenant = TenantSpec(f"t{time.time_ns()}")
    gateway = start_gateway(has_admin=True, tenants=(tenant,), proxy={"state": {"topic": topic}})
    control = ControlProcess(tmp_path, kafka.bootstrap, topic, tenants=[{"name": tenant.name}])
    control.start()
    name, endpoint = tenant.name, gateway.endpoint(tenant.name)
    assert control.ask("POST", "/v1/namespaces", {"name": f"{name}:a:b"}).status == 201
    await_value(lambda: value(gateway, "kafka_proxy_state_records"), 2)
    assert creation(endpoint, "a:orders") == ""
    control.kill()

    assert creation(endpoint, "a:b:clicks") == ""
    assert value(gateway, "kafka_proxy_state_up") == 1
    control.start()
    try:
        await_names(control, [name, f"{name}:a", f"{name}:a:b"])
        deleted = control.ask("DELETE", f"/v1/namespaces/{name}:a:b")
    finally:
        control.stop()
    assert deleted.body["topics"] == [f"{name}:a:b/clicks"]
    await_value(lambda: value(gateway, "kafka_proxy_state_lag_offsets"), 0)
    assert creation(endpoint, "a:more") == ""
    ends = time.monotonic() + 30
    while "InvalidNamespace: namespace a:b does not exist" not in (found := creation(endpoint, "a:b:clicks")):
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def creation(endpoint: Endpoint, topic: str) -> str:
    """Create a topic, and return the text of the error; empty: there is none."""
    admin = AdminClient(endpoint.for_confluent)  # Without a name it would end before it is answered.
    error = admin.create_topics([NewTopic(topic, 1, 1)])[topic].exception(30)
    return "" if error is None else str(error)
