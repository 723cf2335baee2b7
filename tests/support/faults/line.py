"""Client, fault proxy, gateway, fault proxy, broker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, warm_up
from support.clients.routed_client import RoutedClient
from support.faults.fault_proxy import FaultProxy
from support.faults.relayed_kafka import RelayedKafka
from support.gateways.admin_port import value
from support.gateways.gateway_process import HOST, INITECH, GatewayProcess
from support.gateways.proxy_relay import BEHIND
from support.physical_names import physical_name

IS_WHOLE = os.environ.get("BIFROST_FAULTS") == "all"
"""Whether every fault is tried on both sides (`make faults`), not only the core."""
LIMITS = {
    # Clients that are gone without a word, and brokers that are silent, are missed while a test waits.
    "max_idle_ms": 8_000,
    "upstream_connect_timeout_ms": 5_000,
    "metadata_refresh_ms": 1_000,
}


@dataclass
class Line:
    """A gateway between two fault proxies."""

    kafka: RelayedKafka
    gateway: GatewayProcess
    before_gateway: FaultProxy
    tenant_name: str = INITECH.name

    @property
    def tenant(self) -> Endpoint:
        """How clients come in."""
        return self.gateway.endpoint(self.tenant_name)

    @property
    def broker(self) -> Endpoint:
        """The broker itself, past both proxies."""
        return Endpoint(HOST, self.kafka.broker_port(1))

    @property
    def connections(self) -> int:
        """How many connections the tenant has to the gateway."""
        return int(value(self.gateway, "kafka_proxy_active_client_connections", tenant=self.tenant_name))

    @property
    def in_flight(self) -> int:
        """How many of the tenant's requests await an answer."""
        return int(value(self.gateway, "kafka_proxy_in_flight_requests", tenant=self.tenant_name))

    def proxy(self, side: str) -> FaultProxy:
        """Return the proxy at the `client` side or at the `broker` side of the gateway."""
        return self.before_gateway if side == "client" else self.kafka.proxy

    def make_topics(self, *names: str, partitions: int = 2) -> None:
        """Make topics of the tenant at the broker itself."""
        with RawClient(self.broker) as client:
            for name in names:
                create_topic(client, physical_name(self.tenant_name, name), partitions)


@contextmanager
def line_of(directory: Path) -> Iterator[Line]:
    """Start all of it.

    Args:
        directory: an empty one, for the gateway.
    """
    with RelayedKafka() as kafka:
        with RoutedClient(Endpoint(HOST, kafka.broker_port(1))) as client:
            warm_up(client)
        with GatewayProcess(
            directory, kafka.told, tenants=[INITECH], limits=LIMITS, bind_host=BEHIND, has_admin=True
        ) as gateway:
            ports = (gateway.bootstrap_port, gateway.broker_port(1))
            with FaultProxy({(HOST, port): (BEHIND, port) for port in ports}) as proxy:
                yield Line(kafka, gateway, proxy)
