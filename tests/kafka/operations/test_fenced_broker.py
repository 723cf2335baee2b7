"""A single broker that is fenced or paused: the cluster names no broker, and clients come all the same.

The broker's heartbeats come more seldom than its session lasts, so the controller fences it again and again: for three
seconds it is in the metadata, for six there is none.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import ask
from support.gateways.gateway_process import ACME, HOST, GatewayProcess

SESSION_MS, HEARTBEAT_MS = 3_000, 9_000
CYCLE_S = HEARTBEAT_MS / 1000
LIMITS = {"metadata_refresh_ms": 1000, "upstream_connect_timeout_ms": 1000}
OPEN: dict[str, Any] = {"security_protocol": "PLAINTEXT", "tenant": "acme"}

pytestmark = pytest.mark.timeout(180)

Start = Callable[..., GatewayProcess]


@pytest.fixture(scope="module")
def fenced() -> Iterator[EmbeddedKafka]:
    properties = {
        "broker.session.timeout.ms": str(SESSION_MS),
        "broker.heartbeat.interval.ms": str(HEARTBEAT_MS),
    }
    with EmbeddedKafka(heap_mb=256, properties=properties) as kafka:
        yield kafka


@pytest.fixture
def start(fenced: EmbeddedKafka, tmp_path: Any) -> Iterator[Start]:
    started: list[GatewayProcess] = []

    def start(**options: Any) -> GatewayProcess:
        process = GatewayProcess(
            tmp_path, fenced.bootstrap, tenants=[ACME], limits=LIMITS, has_admin=True, **options
        )
        process.start()
        started.append(process)
        return process

    yield start
    for one in started:
        one.stop()


def is_named(kafka: EmbeddedKafka) -> bool:
    """Whether the cluster's metadata has its broker."""
    with RawClient(Endpoint(HOST, kafka.broker_port(1))) as client:
        return bool(client.request(MetadataRequest(topics=[]), 9).brokers)


def await_named(kafka: EmbeddedKafka, wanted: bool) -> None:
    deadline = time.monotonic() + 3 * CYCLE_S
    while is_named(kafka) is not wanted:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def client_of(gateway: GatewayProcess, listener: dict[str, Any], port: int) -> RawClient:
    if listener:
        return RawClient(Endpoint(HOST, port))
    return RawClient.authenticated(Endpoint(HOST, port, ACME.name, ACME.password))


class Knocking(threading.Thread):
    """Connects to all ports of a gateway all the time, as clients do that have lost their broker."""

    def __init__(self, gateway: GatewayProcess, listener: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.ports = (gateway.bootstrap_port, gateway.broker_port(1))
        self.gateway, self.listener = gateway, listener
        self.accepted, self.refused, self.is_over = 0, 0, False

    def run(self) -> None:
        while not self.is_over:
            for port in self.ports:
                try:
                    with socket.create_connection((HOST, port), timeout=5):
                        self.accepted += 1
                except ConnectionRefusedError:
                    self.refused += 1
                try:
                    with client_of(self.gateway, self.listener, port) as client:
                        client.request(MetadataRequest(topics=[]), 9)
                except (OSError, EOFError):
                    pass  # Its broker is away: it tries again.
            time.sleep(0.05)


def assert_served(gateway: GatewayProcess, listener: dict[str, Any]) -> None:
    """Each port answers, within the time that clients try again for."""
    for port in (gateway.bootstrap_port, gateway.broker_port(1)):
        deadline = time.monotonic() + 3 * CYCLE_S
        while True:
            try:
                with client_of(gateway, listener, port) as client:
                    brokers = client.request(MetadataRequest(topics=[]), 9).brokers
                if brokers:
                    assert [one.port for one in brokers] == [gateway.broker_port(1)]
                    break
            except (OSError, EOFError):
                pass
            assert time.monotonic() < deadline, f"port {port} does not serve:\n{gateway.log()}"
            time.sleep(0.1)


CASES = [({}, 1), (OPEN, 1), ({}, 2)]
IDS = ["SASL_PLAINTEXT", "PLAINTEXT", "SASL_PLAINTEXT, two workers"]


@pytest.mark.parametrize(("listener", "workers"), CASES, ids=IDS)
def test_ports_accept_while_the_metadata_names_no_broker(
    fenced: EmbeddedKafka, start: Start, listener: dict[str, Any], workers: int
) -> None:
    await_named(fenced, True)
    gateway = start(listener=listener, proxy={"workers": workers})
    knocking = Knocking(gateway, listener)
    knocking.start()
    since = gateway.mark()
    for _ in range(2):
        await_named(fenced, False)
        gateway.await_event(since, event="refresh_failed", timeout_s=2 * CYCLE_S)
        await_named(fenced, True)
    knocking.is_over = True
    knocking.join(30)

    assert knocking.refused == 0
    assert knocking.accepted > 50
    assert_served(gateway, listener)
    failed = [one["error"] for one in gateway.events(since) if one["event"] == "refresh_failed"]
    assert any("names no broker" in one for one in failed)
    assert [one for one in gateway.events() if one["event"] == "broker_gone"] == []


@pytest.mark.parametrize(("listener", "workers"), CASES, ids=IDS)
def test_ports_accept_while_the_broker_is_paused(
    fenced: EmbeddedKafka, start: Start, listener: dict[str, Any], workers: int
) -> None:
    await_named(fenced, True)
    gateway = start(listener=listener, proxy={"workers": workers})
    (pid,) = fenced.pids
    knocking = Knocking(gateway, listener)
    since = gateway.mark()
    os.kill(pid, signal.SIGSTOP)
    try:
        knocking.start()
        gateway.await_event(since, event="refresh_failed", timeout_s=30)
        time.sleep(2 * SESSION_MS / 1000)
        assert ask(gateway, "/readyz")[0] == 503
    finally:
        os.kill(pid, signal.SIGCONT)
    time.sleep(CYCLE_S)
    knocking.is_over = True
    knocking.join(30)

    assert knocking.refused == 0
    assert_served(gateway, listener)
    assert [one for one in gateway.events() if one["event"] == "broker_gone"] == []
