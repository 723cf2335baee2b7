"""Configs by namespace on a real Kafka: `bifrost namespaces configs`, gateways, Kafka's own tools, and clients."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from support.brokers.kafka_cluster import CONFIGS, write_client_properties
from support.clients.endpoint import Endpoint
from support.control.control_process import ControlProcess
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec
from support.java.tool_server import ToolServer
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(240)

INHERITED, OWN = (
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG.value,
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value,
)


def create(endpoint: Endpoint, topic: str, **configs: str) -> None:
    config = {name.replace("_", "."): value for name, value in configs.items()}
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(topic, 1, 1, config=config)])[topic].result(30)


def retention(endpoint: Endpoint, topic: str) -> tuple[str, int]:
    """Return the value and the source of a topic's `retention.ms`."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient(endpoint.for_confluent)
    found = admin.describe_configs([resource])[resource].result(30)["retention.ms"]
    return found.value, found.source


def alter(endpoint: Endpoint, topic: str, value: str | None) -> None:
    kind = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    entry = ConfigEntry("retention.ms", value, incremental_operation=kind)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient(endpoint.for_confluent)
    admin.incremental_alter_configs([resource])[resource].result(30)


def await_retention(endpoint: Endpoint, topic: str, expected: tuple[str, int]) -> None:
    """Wait until a gateway has read the state, or the broker has told itself."""
    ends = time.monotonic() + 60
    while (found := retention(endpoint, topic)) != expected:
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def test_topics_inherit_follow_and_override(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path: Path, start_gateway: StartGateway
) -> None:
    topic, tenant = f"__state-{time.time_ns()}", TenantSpec(f"c{time.time_ns()}")
    gateway = start_gateway(tenants=(tenant,), proxy={"state": {"topic": topic}})
    name, endpoint = tenant.name, gateway.broker_endpoint(tenant.name)
    configs = ("namespaces", "configs")
    with ControlProcess(tmp_path, kafka.bootstrap, topic, tenants=[{"name": name}]) as control:
        for one, values in (
            ("plain", {}),
            ("same", {"retention_ms": "1000"}),
            ("other", {"retention_ms": "7"}),
        ):
            create(endpoint, one, **values)

        status, output, errors = control.command(
            *configs, "alter", name, "--add", "retention.ms=1000", "--dry-run"
        )
        assert (status, errors) == (0, "")
        expected = [
            f"would change\t{name}/plain\tretention.ms\t\t1000",
            f"overrides\t{name}/other\tretention.ms\t7\t7",
            f"overrides\t{name}/same\tretention.ms\t1000\t1000",
        ]
        assert output.splitlines() == expected
        assert retention(endpoint, "plain") == ("604800000", ConfigSource.DEFAULT_CONFIG.value)

        assert control.command(*configs, "alter", name, "--add", "retention.ms=1000")[0] == 0
        await_retention(endpoint, "plain", ("1000", INHERITED))
        assert retention(endpoint, "same") == ("1000", OWN)
        assert retention(endpoint, "other") == ("7", OWN)
        assert retention(broker, physical_name(name, "plain")) == ("1000", OWN)

        create(endpoint, "new")
        create(endpoint, "new-same", retention_ms="1000")
        assert retention(endpoint, "new") == ("1000", INHERITED)
        assert retention(endpoint, "new-same") == ("1000", OWN)
        alter(endpoint, "other", None)
        assert retention(endpoint, "other") == ("1000", INHERITED)
        alter(endpoint, "plain", "1000")
        assert retention(endpoint, "plain") == ("1000", OWN)

        status, output, _ = control.command(*configs, "alter", name, "--add", "retention.ms=2000")
        assert status == 0
        assert [line.split("\t")[:2] for line in output.splitlines()] == [
            ["changed", f"{name}/new"],
            ["changed", f"{name}/other"],
            ["overrides", f"{name}/new-same"],
            ["overrides", f"{name}/plain"],
            ["overrides", f"{name}/same"],
        ]
        await_retention(endpoint, "new", ("2000", INHERITED))
        for one in ("same", "plain", "new-same"):
            assert retention(endpoint, one) == ("1000", OWN)
        check_with_kafka_configs(endpoint, tmp_path)

        status, output, _ = control.command(*configs, "alter", name, "--remove", "retention.ms")
        assert status == 0
        await_retention(endpoint, "new", ("604800000", ConfigSource.DEFAULT_CONFIG.value))
        assert retention(endpoint, "same") == ("1000", OWN)


def check_with_kafka_configs(endpoint: Endpoint, folder: Path) -> None:
    """Kafka's tool shows an inherited value as one that is not the topic's, and takes a topic's own back."""
    properties = str(write_client_properties(folder / "client.properties", endpoint.for_java))
    server = ("--bootstrap-server", endpoint.bootstrap, "--command-config", properties)
    with ToolServer(DEFAULT_VERSION, folder / "tools.log") as run:
        described = run(CONFIGS, *server, "--describe", "--topic", "new").stdout
        assert "retention.ms" not in described
        described = run(CONFIGS, *server, "--describe", "--topic", "new", "--all").stdout
        assert "DYNAMIC_DEFAULT_BROKER_CONFIG:retention.ms=2000" in described
        assert "retention.ms=1000" in run(CONFIGS, *server, "--describe", "--topic", "same").stdout
        run(CONFIGS, *server, "--alter", "--topic", "new-same", "--delete-config", "retention.ms")
        assert retention(endpoint, "new-same") == ("2000", INHERITED)
        run(CONFIGS, *server, "--alter", "--topic", "new-same", "--add-config", "retention.ms=1000")
        assert retention(endpoint, "new-same") == ("1000", OWN)


def test_the_nearest_namespace_counts_and_another_process_ends_what_one_has_begun(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path: Path, start_gateway: StartGateway
) -> None:
    topic, tenant = f"__state-{time.time_ns()}", TenantSpec(f"n{time.time_ns()}")
    name = tenant.name
    control = ControlProcess(tmp_path, kafka.bootstrap, topic, tenants=[{"name": name}])
    control.start()
    for one, value in ((name, "1000"), (f"{name}:eu", "2000")):
        control.ask("POST", "/v1/namespaces", {"name": f"{name}:eu"})
        answer = control.ask("POST", f"/v1/namespaces/{one}/configs", {"set": {"retention.ms": value}})
        assert answer.status == 200, answer.body
    refused = control.ask("POST", f"/v1/namespaces/{name}/configs", {"set": {"segment.ms": "1"}})
    assert (refused.status, refused.body["type"]) == (400, "urn:bifrost:problem:invalid-config")
    control.kill()

    # A broker has created them by itself: no gateway has given them anything.
    physical = [physical_name(name, "orders"), physical_name(name, "--eu.orders")]
    admin = AdminClient(broker.for_confluent)
    for future in admin.create_topics([NewTopic(one, 1, 1) for one in physical]).values():
        future.result(30)
    control.start()
    try:
        for one, value in zip(physical, ("1000", "2000"), strict=True):
            await_retention(broker, one, (value, OWN))
        found = control.ask("GET", f"/v1/namespaces/{name}:eu/configs", admin="bob").body
        assert found["inherited"] == {"retention.ms": {"value": "2000", "namespace": f"{name}:eu"}}
        assert control.ask("GET", f"/v1/namespaces/{name}/configs/report").body["changed"] == []
    finally:
        control.stop()

    gateway = start_gateway(tenants=(tenant,), proxy={"state": {"topic": topic}})
    endpoint = gateway.broker_endpoint(name)
    assert retention(endpoint, "eu:orders") == ("2000", INHERITED)
    assert retention(endpoint, "orders") == ("1000", INHERITED)
