"""Unmodified applications as tenants: one broker, one gateway before it, two tenants, and the operator.

Everything is played three times under the same names: directly, as `aurora`, and as `boreal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.brokers.emptied_cluster import empty_cluster
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.java.tool_server import ToolServer
from support.pages.console import Console


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this directory: `-m "not kafka"` leaves it out."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kafka)


DIRECT, TENANTS = "direct", ("aurora", "boreal")
"""The worlds; their names have the same length, so that records and log segments have the same size."""


HEARTBEAT_MS = 500
"""By default members of the new kinds of group speak every 5 s, and half of a test would be waiting for that."""


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """A broker of its own: what is listed directly is what these tests made."""
    intervals = {
        f"group.{kind}.{bound}heartbeat.interval.ms": str(HEARTBEAT_MS)
        for kind in ("consumer", "share", "streams")
        for bound in ("min.", "")
    }
    sessions = dict.fromkeys(
        ("group.streams.min.session.timeout.ms", "group.streams.session.timeout.ms"), "6000"
    )
    # How often it is looked for transactions whose producer was killed; by default every 10 s.
    aborts = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}
    with EmbeddedKafka(properties=intervals | sessions | aborts) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def gateway(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway with two tenants that may do everything a tenant may."""
    tenants = [TenantSpec(name, allow_topic_deletion=True) for name in TENANTS]
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), kafka.bootstrap, tenants=tenants) as process:
        yield process


@pytest.fixture(scope="session")
def endpoints(kafka: EmbeddedKafka, gateway: GatewayProcess) -> dict[str, Endpoint]:
    """How each world is reached."""
    tenants = {name: gateway.endpoint(name) for name in TENANTS}
    return {DIRECT: Endpoint(HOST, kafka.broker_port(1))} | tenants


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolServer]:
    """Kafka's command-line tools."""
    with ToolServer(DEFAULT_VERSION, tmp_path_factory.mktemp("tools") / "tools.log") as server:
        yield server


@pytest.fixture(scope="session")
def people(
    kafka: EmbeddedKafka,
    gateway: GatewayProcess,
    endpoints: dict[str, Endpoint],
    tools: ToolServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Console]:
    """A user of the tools at each world."""
    made = []
    for owner, endpoint in endpoints.items():
        port = kafka.broker_port(1) if owner == DIRECT else gateway.broker_port(1)
        with RawClient.authenticated(endpoint) as client:
            cluster_id = client.request(MetadataRequest(topics=[]), 5).cluster_id
        directory = tmp_path_factory.mktemp(f"console-{owner}")
        names = {cluster_id: "CLUSTER"}
        made.append(Console(owner, tools, endpoint, directory, broker_ports=[port], cluster_ids=names))
    return made


@pytest.fixture
def consoles(people: list[Console], endpoints: dict[str, Endpoint]) -> Iterator[list[Console]]:
    """The same, at clusters where nothing was done yet: what a test leaves behind is deleted."""
    yield people
    with RawClient(endpoints[DIRECT]) as client:
        empty_cluster(client)
