"""Isolation: what a tenant can never do, by any request, valid or forged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients import Endpoint
from support.gateway_fixtures import Connect
from support.gateway_process import GatewayProcess
from support.raw_client import RawClient


@pytest.fixture
def connect(gateway: GatewayProcess, broker: Endpoint, kafka: EmbeddedKafka) -> Iterator[Connect]:
    """Connect as a tenant, to the broker's port: `connect("acme")`.

    Whatever such a client is told, no answer may hold a physical name, the physical cluster's ID or the
    broker's own port.
    """
    clients: list[RawClient] = []
    secret = (b"__vt_", kafka.cluster_id.encode(), broker.port.to_bytes(4, "big"))

    def connect(tenant: str) -> RawClient:
        client = RawClient.authenticated(gateway.broker_endpoint(tenant), never_receives=secret)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()
