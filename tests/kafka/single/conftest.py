"""The gateway with a single address before three brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import GatewayProcess


@pytest.fixture(scope="module")
def gateway(
    kafka_cluster: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("single")
    with GatewayProcess(
        directory, kafka_cluster.bootstrap, brokers=3, is_single_address=True, has_admin=True
    ) as process:
        yield process


@pytest.fixture
def endpoint(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint("initech")


@pytest.fixture
def admin(endpoint: Endpoint) -> AdminClient:
    return AdminClient(endpoint.for_confluent)
