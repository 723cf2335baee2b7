"""A gateway whose tenant has topics with virtual partitions: 12 on 4, and 7 on 3, where the groups are not full."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.kafka_cluster import KafkaTools
from support.brokers.tool_shell import ToolShell
from support.brokers.warm_cluster import warmed
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.virtual_topics import PHYSICAL, RULES, SIZES, create


def with_virtual_partitions(config: dict[str, Any]) -> None:
    config["tenants"][0]["virtual_partitions"] = RULES


@pytest.fixture(scope="module")
def warm(kafka: EmbeddedKafka) -> EmbeddedKafka:
    """The brokers of `dividing`."""
    return warmed(kafka)


@pytest.fixture(scope="module")
def dividing(warm: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("dividing")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": with_virtual_partitions, "has_admin": True}
    with GatewayProcess(directory, warm.bootstrap, **options) as process:
        yield process


@pytest.fixture
def endpoint(dividing: GatewayProcess) -> Endpoint:
    return dividing.endpoint("globex")


@pytest.fixture
def client(dividing: GatewayProcess) -> Iterator[RawClient]:
    """A raw client at the broker's own port."""
    with RawClient.authenticated(dividing.broker_endpoint("globex")) as client:
        yield client


@pytest.fixture(params=SIZES)
def topic(request: pytest.FixtureRequest, endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic of either kind, whose partitions have leaders."""
    kind = request.param
    return create(endpoint, direct, unique(kind), SIZES[kind], PHYSICAL[kind])


@pytest.fixture
def shell(kafka_tool: KafkaTools, endpoint: Endpoint, tmp_path: Path) -> ToolShell:
    return ToolShell(kafka_tool, endpoint, tmp_path)
