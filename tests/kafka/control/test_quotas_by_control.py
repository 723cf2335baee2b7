"""Quotas that are set by `bifrost quotas` and by Kafka's own API are the same, on a real Kafka."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import DescribeClientQuotasRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce_request, recreate_topic
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.control.control_process import ControlProcess
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import StartGateway
from support.physical_names import physical_name

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


def test_a_file_of_quotas_holds_for_all_clients_of_a_namespace_together(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path: Path, start_gateway: StartGateway
) -> None:
    topic = f"__state-{time.time_ns()}"
    name = f"quoted-{time.time_ns()}"
    with RoutedClient(broker) as routed:
        recreate_topic(routed, physical_name("globex", name))
    whole = {"namespace": "globex", "entity": {"namespace": None}, "values": {"producer_byte_rate": 4096}}
    file = tmp_path / "quotas.json"
    file.write_text(json.dumps({"quotas_format": 1, "alterations": [whole]}))
    gateway = start_gateway(has_admin=True, proxy={"state": {"topic": topic}, "workers": 2})
    with ControlProcess(tmp_path / "control", kafka.bootstrap, topic) as control:
        assert control.command("quotas", "apply", str(file), "--dry-run")[0] == 0
        assert value(gateway, "kafka_proxy_state_records") == 0
        status, output, errors = control.command("quotas", "apply", str(file))
        assert control.command("quotas", "apply", str(file)) == (0, "nothing to change\n", "")

    assert (status, output, errors) == (0, "set globex as a whole: producer_byte_rate none -> 4096\n", "")
    await_value(lambda: value(gateway, "kafka_proxy_state_records"), 1)
    request = produce_request(name, build_batch([b"x" * 8192]))
    told = []
    for _ in range(2):  # Each of another connection: they have one budget.
        with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
            told.append(client.request(request, 9).throttle_time_ms)
    assert told[0] > 0
    assert told[1] > told[0]
