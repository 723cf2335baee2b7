"""Policies of namespaces about records that are produced, from the configuration and from the state."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request
from support.clients.record_batches import build_batch
from support.control.control_process import ControlProcess
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec

pytestmark = pytest.mark.timeout(240)

POLICIES = [
    {"compression": ["none", "zstd", "lz4"]},
    {"namespace": "eu", "acks": ["all"], "compression": ["none", "zstd", "gzip"]},
]


def produced(endpoint: Endpoint, topic: str, **settings: Any) -> str:
    """Produce a record; return the name of the error, empty if there is none."""
    errors: list[str] = []
    options = endpoint.for_confluent | {key.replace("_", "."): one for key, one in settings.items()}
    producer = Producer(options | {"enable.idempotence": False, "message.timeout.ms": 60_000})
    producer.produce(
        topic, b"v" * 4096, on_delivery=lambda error, _: errors.append("" if error is None else error.name())
    )
    assert producer.flush(90) == 0
    return errors[0]


def test_producers_keep_to_the_policies_of_their_namespace_and_of_those_above(
    start_gateway: StartGateway,
) -> None:
    tenant = TenantSpec(f"r{time.time_ns()}")

    def adjust(configuration: dict[str, Any]) -> None:
        (one,) = configuration["tenants"]
        one["namespace_policies"] = POLICIES
        credentials = one["auth"]["credentials"]
        credentials.append(credentials[0] | {"username": f"{tenant.name}-eu", "namespace": "eu"})

    process = start_gateway(tenants=(tenant,), adjust=adjust, has_admin=True)
    above = process.endpoint(tenant.name)
    inside = replace(above, username=f"{tenant.name}-eu")

    outcomes = {
        (name, acks, codec): produced(endpoint, topic, acks=acks, compression_type=codec)
        for name, endpoint, topic in (
            ("outside", above, "orders"),
            ("above", above, "eu:orders"),
            ("inside", inside, "orders"),
        )
        for acks, codec in (("all", "zstd"), ("all", "gzip"), ("all", "lz4"), ("1", "none"))
    }

    allowed = [key for key, error in outcomes.items() if not error]
    assert allowed == [
        ("outside", "all", "zstd"),
        ("outside", "all", "lz4"),
        ("outside", "1", "none"),
        ("above", "all", "zstd"),
        ("inside", "all", "zstd"),
    ]
    assert {error for error in outcomes.values() if error} == {"POLICY_VIOLATION"}
    hits = {
        key: value(process, "kafka_proxy_limits_hit_total", limit=key, tenant=tenant.name)
        for key in ("acks", "compression")
    }
    assert hits == {"acks": 2, "compression": 5}
    with RawClient.authenticated(inside) as client:
        request = produce_request("orders", build_batch([b"v"]), acks=1)
        answer = client.request(request, PRODUCE_BY_NAME)
        (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == ErrorCode.POLICY_VIOLATION
    assert partition.error_message == f"Policy acks of namespace {tenant.name}:eu allows all, not 1"


def test_a_policy_of_the_state_holds_for_producers_that_are_connected(
    kafka: EmbeddedKafka, tmp_path: Path, start_gateway: StartGateway
) -> None:
    state, tenant = f"__state-{time.time_ns()}", TenantSpec(f"q{time.time_ns()}")
    gateway = start_gateway(tenants=(tenant,), proxy={"state": {"topic": state}, "workers": 2})
    endpoint = gateway.endpoint(tenant.name)
    errors: list[str] = []
    file = tmp_path / "policy.yaml"
    file.write_text(json.dumps({"acks": ["1"]}))
    producer = Producer(endpoint.for_confluent | {"acks": "all", "enable.idempotence": False})

    def until(error: str) -> None:
        ends = time.monotonic() + 60
        while errors[-1:] != [error]:
            assert time.monotonic() < ends, errors
            producer.produce(
                "orders", b"v", on_delivery=lambda one, _: errors.append("" if one is None else one.name())
            )
            assert producer.flush(60) == 0

    with ControlProcess(tmp_path, kafka.bootstrap, state, tenants=[{"name": tenant.name}]) as control:
        policy = ("namespaces", "policy")
        until("")
        assert control.command(*policy, "set", tenant.name, "--file", str(file))[0] == 0
        until("POLICY_VIOLATION")
        file.write_text(json.dumps({"acks": ["1", "all"]}))
        assert control.command(*policy, "set", tenant.name, "--file", str(file))[0] == 0
        until("")
        assert control.command(*policy, "delete", tenant.name)[0] == 0
        until("")
    assert set(errors) == {"", "POLICY_VIOLATION"}
