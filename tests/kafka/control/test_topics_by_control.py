"""`bifrost topics` and `bifrost kafka-topics --topic` on a real Kafka, beside a gateway's clients."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from bifrost.embedded.kafka import EmbeddedKafka
from support.control.control_process import ControlProcess
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec

pytestmark = pytest.mark.timeout(240)


def test_topics_are_created_listed_moved_and_deleted_for_clients(
    kafka: EmbeddedKafka, tmp_path: Path, start_gateway: StartGateway
) -> None:
    state, tenant = f"__state-{time.time_ns()}", TenantSpec(f"t{time.time_ns()}")
    gateway = start_gateway(tenants=(tenant,), proxy={"state": {"topic": state}})
    name, admin = tenant.name, AdminClient(gateway.endpoint(tenant.name).for_confluent)

    def await_topics(*expected: str) -> None:
        ends = time.monotonic() + 60
        while (found := set(admin.list_topics(timeout=30).topics)) != set(expected):
            assert time.monotonic() < ends, found
            time.sleep(0.1)

    with ControlProcess(tmp_path, kafka.bootstrap, state, tenants=[{"name": name}]) as control:
        wrapper = ("kafka-topics", "--namespace", f"{name}:eu")
        assert control.command(*wrapper, "--create")[0] == 0
        inherit = ("namespaces", "configs", "alter", name, "--add", "retention.ms=7200000")
        assert control.command(*inherit)[0] == 0
        file = tmp_path / "policy.json"
        file.write_text(json.dumps({"topic_names": ["orders*"], "max_replication_factor": 1}))
        assert control.command("namespaces", "policy", "set", f"{name}:eu", "--file", str(file))[0] == 0

        sizes = ("--partitions", "2", "--config", "segment.bytes=33554432")
        create = ("topics", "create", f"{name}:eu/orders", *sizes)
        told = f"topic {name}:eu/orders with 2 partitions and 1 replicas"
        configs = "  retention.ms=7200000\n  segment.bytes=33554432\n"
        assert control.command(*create, "--dry-run") == (0, f"would create {told}\n{configs}", "")
        await_topics()
        assert control.command(*create) == (0, f"created {told}\n{configs}", "")
        status, _, errors = control.command(*wrapper, "--create", "--topic", "clicks")
        assert status == 1
        assert f"Policy topic_names of namespace {name}:eu allows topic names that match orders*" in errors
        status, _, errors = control.command(*create)
        assert status == 1
        assert "TOPIC_ALREADY_EXISTS" in errors
        await_topics("eu:orders")
        resource = ConfigResource(ResourceType.TOPIC, "eu:orders")
        found = admin.describe_configs([resource])[resource].result(30)
        assert (found["retention.ms"].value, found["segment.bytes"].value) == ("7200000", "33554432")

        altered = (
            "topics",
            "configs",
            f"{name}:eu/orders",
            "--remove",
            "segment.bytes",
            "--add",
            "retention.ms=9",
        )
        assert control.command(*altered) == (0, "retention.ms\t9\n", "")
        assert control.command(*altered[:3], "--remove", "retention.ms") == (0, "retention.ms\t7200000\n", "")

        configs_of = ("kafka-configs", "--namespace", f"{name}:eu", "--topic", "orders")
        lists = "cleanup.policy=[compact,delete],segment.bytes=33554432"
        assert control.command(*configs_of, "--alter", "--add-config", lists) == (
            0,
            "Completed updating config for topic orders.\n",
            "",
        )
        found = admin.describe_configs([resource])[resource].result(30)
        assert (found["cleanup.policy"].value, found["segment.bytes"].value) == ("compact,delete", "33554432")
        removed = ("--alter", "--delete-config", "cleanup.policy,segment.bytes")
        assert control.command(*configs_of, *removed)[0] == 0
        status, output, _ = control.command(*configs_of, "--describe")
        assert (status, output) == (0, "Dynamic configs for topic orders are:\n  retention.ms=7200000\n")
        status, _, errors = control.command(*configs_of, "--alter", "--add-config", "retention.ms=no")
        assert (status, "INVALID_CONFIG" in errors) == (1, True)

        assert control.command(*wrapper, "--move", "--topic", "orders", "--to", name)[0] == 0
        await_topics("orders")
        listed = control.command("kafka-topics", "--list", "--topics", "--recursive", "--namespace", name)[1]
        assert [line.split("\t")[:4] for line in listed.splitlines()] == [
            [f"{name}/orders", "2", "1", "owner"]
        ]
        delete = ("topics", "delete", f"{name}/orders")
        assert control.command(*delete) == (0, f"deleted topic {name}/orders\n", "")
        await_topics()
