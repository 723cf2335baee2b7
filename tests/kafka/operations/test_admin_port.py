"""What the operator's HTTP port tells of a running gateway."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import DescribeAclsRequest, HeartbeatRequest
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import produce, produce_request, records_of
from support.clients.record_batches import build_batch
from support.gateways.admin_port import ask, await_value, value
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, free_ports
from support.skips.optional_parts import PROMTOOL, lacks


@pytest.fixture
def watched(start_gateway: StartGateway) -> GatewayProcess:
    return start_gateway(has_admin=True)


def test_requests_bytes_and_times_are_counted_by_tenant_and_api(
    watched: GatewayProcess, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    with RawClient.authenticated(watched.broker_endpoint("acme")) as client:
        for _ in range(5):
            produce(client, "orders", [b"x" * 10_000])
        assert len(records_of(client, "orders")) > 50_000
        labels = {"tenant": "acme", "api": "Produce"}
        assert value(watched, "kafka_proxy_requests_total", **labels) == 5
        assert 50_000 < value(watched, "kafka_proxy_bytes_received_total", **labels) < 52_000
        assert 100 < value(watched, "kafka_proxy_bytes_sent_total", **labels) < 1000
        assert value(watched, "kafka_proxy_request_duration_seconds_count", **labels) == 5
        assert 0 < value(watched, "kafka_proxy_request_duration_seconds_sum", **labels) < 30
        assert value(watched, "kafka_proxy_bytes_sent_total", tenant="acme", api="Fetch") > 50_000
        assert value(watched, "kafka_proxy_active_client_connections", tenant="acme") == 1
        assert value(watched, "kafka_proxy_active_broker_connections", upstream="upstream") == 1
        assert value(watched, "kafka_proxy_requests_total", tenant="globex", api="Produce") == 0
    await_value(lambda: value(watched, "kafka_proxy_active_client_connections", tenant="acme"), 0)
    await_value(lambda: value(watched, "kafka_proxy_active_broker_connections", upstream="upstream"), 0)


def test_errors_are_counted_by_who_answered_and_times_by_direction(
    watched: GatewayProcess, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    batch = build_batch([b"x"])

    with RawClient.authenticated(watched.broker_endpoint("acme")) as client:
        for version in (3, 9):
            client.request(produce_request("missing", batch), version)
            client.request(produce_request("orders", batch, partition=7), version)
        client.request(DescribeAclsRequest(), 3)
        client.request(HeartbeatRequest(group_id="nobody", member_id="m"), 4)

    labels = {"tenant": "acme", "api": "Produce", "source": "broker", "error": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert value(watched, "kafka_proxy_errors_total", **labels) == 4
    labels = {"tenant": "acme", "api": "DescribeAcls", "source": "gateway", "error": "SECURITY_DISABLED"}
    assert value(watched, "kafka_proxy_errors_total", **labels) == 1
    for direction in ("request", "response"):
        labels = {"tenant": "acme", "direction": direction}
        assert value(watched, "kafka_proxy_gateway_duration_seconds_count", **labels) == 5
        assert 0 < value(watched, "kafka_proxy_gateway_duration_seconds_sum", **labels) < 30
    assert re.search(
        r'^bifrost_build_info{[^}]*version="[\d.]+"[^}]*} 1.0$', ask(watched, "/metrics")[1], re.MULTILINE
    )


def test_every_request_is_counted_whichever_way_it_takes(watched: GatewayProcess) -> None:
    sent = 0
    with RawClient.authenticated(watched.broker_endpoint("initech")) as client:
        stream = b""
        for number in range(200):
            stream += request_frame(HeartbeatRequest(group_id=f"g{number % 7}", member_id="m"), 4, number)
        sent = len(stream)
        client.send_bytes(stream)
        for _ in range(200):
            client.receive_frame()
        labels = {"tenant": "initech", "api": "Heartbeat"}
        assert value(watched, "kafka_proxy_requests_total", **labels) == 200
        assert value(watched, "kafka_proxy_bytes_received_total", **labels) == sent


def test_what_came_of_authentication_is_counted(watched: GatewayProcess) -> None:
    good = watched.endpoint("acme")
    with RawClient.authenticated(good):
        await_value(
            lambda: value(
                watched,
                "kafka_proxy_authentications_total",
                tenant="acme",
                mechanism="PLAIN",
                outcome="success",
            ),
            1,
        )
    with contextlib.suppress(Exception):
        RawClient.authenticated(type(good)(good.host, good.port, "acme", "not-the-password")).close()
    await_value(
        lambda: value(
            watched, "kafka_proxy_authentications_total", tenant="", mechanism="PLAIN", outcome="failure"
        ),
        1,
    )
    assert value(watched, "kafka_proxy_connections_ended_total", reason="authentication_failed") == 1
    assert "not-the-password" not in ask(watched, "/metrics")[1]


def test_a_client_that_does_not_read_is_seen_as_a_pause(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(has_admin=True, limits={"max_in_flight_requests": 1})
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        stream = b"".join(
            request_frame(HeartbeatRequest(group_id="g", member_id="m"), 4, number) for number in range(100)
        )
        client.send_bytes(stream)
        for _ in range(100):
            client.receive_frame()
    assert value(gateway, "kafka_proxy_reads_paused_seconds_total", side="client") > 0


def test_the_metrics_are_as_prometheus_wants_them(watched: GatewayProcess) -> None:
    with RawClient.authenticated(watched.endpoint("acme")) as client:
        client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
    status, text = ask(watched, "/metrics")

    assert status == 200
    names = set(re.findall(r"^# TYPE (kafka_proxy_\w+)", text, re.MULTILINE))
    assert names >= {
        "kafka_proxy_requests_total",
        "kafka_proxy_request_duration_seconds",
        "kafka_proxy_active_client_connections",
        "kafka_proxy_bytes_received_total",
        "kafka_proxy_bytes_sent_total",
    }


@pytest.mark.skipif(not shutil.which("promtool"), reason=lacks(PROMTOOL))
def test_promtool_finds_nothing_wrong_with_the_metrics(watched: GatewayProcess) -> None:
    with RawClient.authenticated(watched.endpoint("acme")) as client:
        client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
    _, text = ask(watched, "/metrics")

    command = ["promtool", "check", "metrics"]
    checked = subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")


def test_probes_tell_a_gateway_that_serves(watched: GatewayProcess) -> None:
    assert ask(watched, "/healthz") == (200, "ok\n")
    assert ask(watched, "/readyz") == (200, "ready\n")
    assert ask(watched, "/")[0] == 404


def test_a_gateway_without_brokers_is_healthy_and_not_ready(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path, f"{HOST}:{free_ports(1)}", has_admin=True)
    gateway.launch()
    try:
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(urllib.error.URLError):
                assert ask(gateway, "/healthz")[0] == 200
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        status, text = ask(gateway, "/readyz")
        assert status == 503
        assert "no broker answers" in text
    finally:
        gateway.kill()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_gateway_whose_ports_lead_to_no_broker_is_not_ready(
    kafka: EmbeddedKafka, tmp_path: Path, workers: int
) -> None:
    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["listener_sets"][0]["port_range"]["broker_id_base"] = 100

    with GatewayProcess(
        tmp_path, kafka.bootstrap, has_admin=True, adjust=adjust, proxy={"workers": workers}
    ) as gateway:
        said = gateway.await_event(0, event="no_broker_has_a_port")
        assert (said["listener"], said["node_ids"]) == ("plaintext", [1])
        deadline = time.monotonic() + 5
        while ask(gateway, "/readyz")[0] != 503:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert "none has a port" in ask(gateway, "/readyz")[1]
        assert value(gateway, "kafka_proxy_ready") == 0


def test_a_stall_of_the_event_loop_is_measured(watched: GatewayProcess) -> None:
    largest = "bifrost_event_loop_stall_largest_seconds"
    count = value(watched, "bifrost_event_loop_stall_seconds_count", worker="")

    # A stopped process is one whose loop stands still in the middle of a turn, or while it waits; a turn under load.
    with RawClient.authenticated(watched.endpoint("acme")) as client:
        beat = HeartbeatRequest(group_id="g", member_id="m")
        for _ in range(20):
            for _ in range(50):
                client.send(beat, 4)
            os.kill(watched.pid, signal.SIGSTOP)
            time.sleep(0.05)
            os.kill(watched.pid, signal.SIGCONT)
            for _ in range(50):
                client.receive_frame()

    assert value(watched, "bifrost_event_loop_stall_seconds_count", worker="") > count
    assert value(watched, largest, worker="", since="start", clock="wall") > 0.04
    assert value(watched, largest, worker="", since="start", clock="cpu") < 0.04
