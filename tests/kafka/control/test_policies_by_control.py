"""`bifrost namespaces policy` on a real Kafka, and gateways that follow it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.control.control_process import ControlProcess
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec

pytestmark = pytest.mark.timeout(240)


def creation(endpoint: Endpoint, topic: str, partitions: int = 1) -> str:
    """Create a topic, and return the text of the error; empty: there is none."""
    admin = AdminClient(endpoint.for_confluent)  # Without a name it would end before it is answered.
    error = admin.create_topics([NewTopic(topic, partitions, 1, config={"retention.ms": "7200000"})])[
        topic
    ].exception(30)
    return "" if error is None else str(error)


def await_creation(endpoint: Endpoint, topic: str, text: str) -> None:
    """Wait until a gateway has read what holds now; without a text until the topic is created."""
    ends = time.monotonic() + 30
    while (found := creation(endpoint, topic)) != text and not (text and text in found):
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def test_a_policy_is_checked_against_what_is_there_and_then_followed(
    kafka: EmbeddedKafka, tmp_path: Path, start_gateway: StartGateway
) -> None:
    topic, tenant = f"__state-{time.time_ns()}", TenantSpec(f"p{time.time_ns()}")
    gateway = start_gateway(tenants=(tenant,), proxy={"state": {"topic": topic}})
    name, endpoint = tenant.name, gateway.endpoint(tenant.name)
    with ControlProcess(tmp_path, kafka.bootstrap, topic, tenants=[{"name": name}]) as control:
        policy = ("namespaces", "policy")
        assert control.command("namespaces", "create", f"{name}:eu")[0] == 0
        await_creation(endpoint, "eu:clicks", "")
        file = tmp_path / "policy.yaml"
        rules = {
            "topic_names": ["orders*"],
            "topic_configs": [{"name": "retention.ms", "max": "1h"}],
            "forced_topic_configs": [{"name": "segment.bytes", "value": 33554432}],
        }
        file.write_text(json.dumps(rules))

        status, output, errors = control.command(
            *policy, "set", f"{name}:eu", "--file", str(file), "--dry-run"
        )
        assert (status, errors) == (0, "")
        told = [line.split("\t")[:2] for line in output.splitlines()[:-1]]
        keys = ["topic_names", "topic_configs", "forced_topic_configs"]
        assert told == [[f"{name}:eu/clicks", key] for key in keys]
        assert output.splitlines()[-1] == f"would set the policy of {name}:eu"
        assert creation(endpoint, "eu:views") == ""

        status, output, _ = control.command(*policy, "set", f"{name}:eu", "--file", str(file))
        assert (status, output.splitlines()[-1]) == (0, f"set the policy of {name}:eu")
        refusal = (
            f"Policy topic_names of namespace {name}:eu allows topic names that match orders*, not other"
        )
        await_creation(endpoint, "eu:other", refusal)
        assert "POLICY_VIOLATION" in creation(endpoint, "eu:orders")
        assert creation(endpoint, "other") == ""

        status, output, _ = control.command(*policy, "delete", f"{name}:eu")
        assert (status, output) == (0, f"deleted the policy of {name}:eu\n")
        await_creation(endpoint, "eu:orders", "")
        await_creation(endpoint, "eu:more", "")
