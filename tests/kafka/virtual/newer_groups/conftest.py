"""Groups of the newer protocol (KIP-848) of topics with virtual partitions, at brokers that miss a member soon.

The topics are 12 on 4, 7 on 3, where the groups of partitions are not full, and 6 on 2 by a ratio.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.kafka_versions import cluster_of, version_under_test
from support.brokers.warm_cluster import warmed
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic
from support.faults.relayed_kafka import QUICK_SESSIONS
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import HOST
from support.physical_names import physical_name
from support.virtual_topics import PHYSICAL, RATIO, SIZES, WAIT_S

OF_RATIO = 2
"""Physical partitions of a topic of a ratio."""


@pytest.fixture(scope="session")
def quick() -> Iterator[EmbeddedKafka]:
    with cluster_of(version_under_test(), properties=QUICK_SESSIONS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def warm(quick: EmbeddedKafka) -> EmbeddedKafka:
    return warmed(quick)


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
