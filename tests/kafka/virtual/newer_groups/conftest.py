"""Groups of the newer protocol (KIP-848) of topics with virtual partitions, at brokers that miss a member soon.

The topics are 12 on 4, 7 on 3, where the groups of partitions are not full, and 6 on 2 by a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.kafka_versions import cluster_of, version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, warm_up
from support.clients.routed_client import RoutedClient
from support.faults.relayed_kafka import QUICK_SESSIONS
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, HOST, GatewayProcess
from support.physical_names import physical_name
from support.virtual_topics import PHYSICAL, RATIO, RULES, SIZES, WAIT_S

OF_RATIO = 2
"""Physical partitions of a topic of a ratio."""


@pytest.fixture(scope="session")
def quick() -> Iterator[EmbeddedKafka]:
    with cluster_of(version_under_test(), properties=QUICK_SESSIONS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dividing(quick: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with RoutedClient(Endpoint(HOST, quick.broker_port(1))) as client:
        warm_up(client)

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = RULES

    directory = tmp_path_factory.mktemp("newer_groups")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with GatewayProcess(directory, quick.bootstrap, **options) as process:
        yield process


@pytest.fixture
def direct(quick: EmbeddedKafka) -> Iterator[RawClient]:
    with RawClient(Endpoint(HOST, quick.broker_port(1))) as client:
        yield client


@pytest.fixture(params=[*SIZES, "ratio"])
def topic(request: pytest.FixtureRequest, endpoint: Endpoint, direct: RawClient, unique: UniqueName) -> str:
    """A new topic of each kind, whose partitions have leaders."""
    kind = str(request.param)
    name, physical = unique(kind), PHYSICAL.get(kind, OF_RATIO)
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, SIZES.get(kind, OF_RATIO * RATIO), 1)])[name].result(WAIT_S)
    await_topic(direct, physical_name("globex", name), physical)
    return name


@pytest.fixture
def size(topic: str) -> int:
    """How many virtual partitions the topic has."""
    return SIZES.get(topic.partition("-")[0], OF_RATIO * RATIO)


@pytest.fixture
def physical(topic: str) -> int:
    """How many partitions the brokers have of it."""
    return PHYSICAL.get(topic.partition("-")[0], OF_RATIO)
