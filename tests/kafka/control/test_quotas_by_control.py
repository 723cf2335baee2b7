"""Quotas that are set by `bifrost quotas` and by Kafka's own API are the same, on a real Kafka."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import DescribeClientQuotasRequest
from support.clients.raw_client import RawClient
from support.control.control_process import ControlProcess
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import StartGateway

pytestmark = pytest.mark.timeout(240)


def test_a_tenant_sees_the_quota_that_an_operator_has_set(
    kafka: EmbeddedKafka, tmp_path: Path, start_gateway: StartGateway
) -> None:
    topic = f"__state-{time.time_ns()}"
    gateway = start_gateway(has_admin=True, proxy={"state": {"topic": topic}})
    with ControlProcess(tmp_path, kafka.bootstrap, topic) as control:
        status, output, errors = control.command(
            "quotas", "alter", "globex", "--user", "bob", "--add", "producer_byte_rate=1048576"
        )

    assert (status, output, errors) == (0, "bob\t\tproducer_byte_rate\t1048576\n", "")
    await_value(lambda: value(gateway, "kafka_proxy_state_records"), 1)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        answer = client.request(DescribeClientQuotasRequest(components=[], strict=False), 1)
    found = [
        (
            [(part.entity_type, part.entity_name) for part in one.entity],
            [(v.key, v.value) for v in one.values],
        )
        for one in answer.entries or []
    ]
    assert found == [([("user", "bob")], [("producer_byte_rate", 1048576.0)])]
