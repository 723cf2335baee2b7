"""The one embedded Kafka of a test session, the one gateway before it, and Kafka's own tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.message import Message
from support.brokers.kafka_cluster import KafkaTools
from support.brokers.kafka_versions import (
    brokers_under_test,
    cluster_of,
    skip_unless_offered,
    version_under_test,
)
from support.brokers.placed_topics import place_internal_topics
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.routed_client import RoutedClient
from support.clients_of_other_languages import CLIENTS, OtherClient, other_client
from support.gateways import gateway_fixtures


def pytest_configure(config: pytest.Config) -> None:
    """Give all directories below the one gateway."""
    config.pluginmanager.register(gateway_fixtures, "gateway fixtures")
    config.addinivalue_line("markers", "needs_api(key, version): skipped if the broker under test lacks it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this directory: `-m "not kafka"` leaves it out."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """One broker of the version under test for the whole session: tests keep apart by their names.

    Tests that can do with several have as many as BIFROST_TEST_BROKERS says (`make three-brokers`).
    """
    brokers = brokers_under_test()
    with cluster_of(version_under_test(), brokers=brokers) as cluster:
        if brokers > 1:
            with RoutedClient(Endpoint("127.0.0.1", cluster.broker_port(1))) as client:
                place_internal_topics(client)
        yield cluster


@pytest.fixture(scope="session")
def kafka_cluster() -> Iterator[EmbeddedKafka]:
    """Three brokers, started by the first test that asks: leaders and coordinators are spread over them."""
    with cluster_of(version_under_test(), brokers=3) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_tool() -> KafkaTools:
    """Run one of Kafka's tools: `kafka_tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--list").stdout`."""
    return KafkaTools()


@pytest.fixture(scope="session")
def offered_versions(kafka: EmbeddedKafka) -> dict[int, tuple[int, int]]:
    """What the broker under test says in ApiVersions: oldest and newest version by API key."""
    with RawClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as client:
        return client.versions()


@pytest.fixture(autouse=True)
def only_what_the_broker_has(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip, against an older Kafka, a test that needs or comes to send what that Kafka does not have.

    The newest has everything, so nothing is skipped there. What equivalence tests send that a broker does not have is
    compared, not skipped; the differential tests choose by themselves.
    """
    if version_under_test() == DEFAULT_VERSION:
        return
    offered = request.getfixturevalue("offered_versions")
    for marker in request.node.iter_markers("needs_api"):
        skip_unless_offered(*marker.args, offered)
    if {"equivalence", "differential"} & set(request.path.parts):
        return
    send = RawClient.send

    def send_what_is_offered(self: RawClient, message: Message, version: int) -> int:
        assert message.SCHEMA.api_key is not None
        skip_unless_offered(message.SCHEMA.api_key, version, offered)
        return send(self, message, version)

    monkeypatch.setattr(RawClient, "send", send_what_is_offered)


@pytest.fixture(scope="module", params=CLIENTS)
def other(request: pytest.FixtureRequest) -> OtherClient:
    """A client library of another language; tests with it may take BUILD_TIMEOUT_S, for one has to be compiled."""
    return other_client(request.param)
