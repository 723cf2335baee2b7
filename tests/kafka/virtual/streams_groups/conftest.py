"""Streams groups (KIP-1071) of two tenants: one has topics of 12 virtual partitions on 4, the other of a ratio of 3."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.kafka_versions import cluster_of, version_under_test
from support.brokers.warm_cluster import warmed
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import GLOBEX, HOST, INITECH, GatewayProcess
from support.gateways.reloadable_gateway import Reloadable
from support.java.java_clients import JavaClients
from support.java.streams_shop import shop_jvm

VIRTUAL, PHYSICAL, RATIO = 12, 4, 3

QUICK_GROUPS = {
    "group.streams.min.session.timeout.ms": "6000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


def rules(**numbers: int) -> list[dict[str, Any]]:
    """Return the rules of an application: its changelogs are compacted, what it reads is not."""
    return [
        {"topics": ["*-changelog"], "compacted": True, **numbers},
        {"topics": ["shop-*", "even-*"], **numbers},
        {"topics": ["odd-*"], "virtual": 7, "physical": 3},
    ]


RULES = {"globex": rules(virtual=VIRTUAL, physical=PHYSICAL), "initech": rules(ratio=RATIO)}


def with_rules(config: dict[str, Any]) -> None:
    for tenant in config["tenants"]:
        tenant["virtual_partitions"] = RULES[tenant["name"]]
        # Kafka Streams deletes from its repartition topics what it has read.
        tenant["allow_topic_deletion"] = True


@pytest.fixture(scope="module")
def quick() -> Iterator[EmbeddedKafka]:
    with cluster_of(version_under_test(), properties=QUICK_GROUPS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def dividing(quick: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloadable]:
    directory = tmp_path_factory.mktemp("streams_groups")
    options: dict[str, Any] = {"tenants": [GLOBEX, INITECH], "adjust": with_rules, "has_admin": True}
    with Reloadable(directory, warmed(quick).bootstrap, **options) as process:
        yield process


@pytest.fixture(scope="module")
def three() -> Iterator[EmbeddedKafka]:
    """Three brokers: leaders and coordinators are spread over them."""
    with cluster_of(version_under_test(), brokers=3, properties=QUICK_GROUPS) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def before_three(three: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("before_three")
    options: dict[str, Any] = {"tenants": [GLOBEX, INITECH], "adjust": with_rules, "brokers": 3}
    with GatewayProcess(directory, warmed(three).bootstrap, **options) as process:
        yield process


@pytest.fixture
def new_jvm() -> Iterator[Callable[[], JavaClients]]:
    """Start a JVM for an instance that is to be killed; those that are left end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(shop_jvm())


@pytest.fixture
def direct(quick: EmbeddedKafka) -> Iterator[RawClient]:
    with RawClient(Endpoint(HOST, quick.broker_port(1))) as client:
        yield client


@pytest.fixture
def client(dividing: Reloadable) -> Iterator[RawClient]:
    """A raw client of globex at the broker's own port."""
    with RawClient.authenticated(dividing.broker_endpoint("globex")) as client:
        yield client
