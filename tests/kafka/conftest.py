"""The one embedded Kafka of a test session, the one gateway before it, and Kafka's own tools."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# `support` is the tests' own library; nothing installs it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from bifrost.embedded.kafka import EmbeddedKafka
from support import gateway_fixtures
from support.kafka_cluster import KafkaTools
from support.kafka_versions import cluster_of, tested_version


def pytest_configure(config: pytest.Config) -> None:
    """Give all directories below the one gateway."""
    config.pluginmanager.register(gateway_fixtures, "gateway fixtures")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this directory: `-m "not kafka"` leaves it out."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """One broker of the version under test for the whole session: tests keep apart by their names."""
    with cluster_of(tested_version()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_cluster() -> Iterator[EmbeddedKafka]:
    """Three brokers, started by the first test that asks: leaders and coordinators are spread over them."""
    with cluster_of(tested_version(), brokers=3) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka_tool() -> KafkaTools:
    """Run one of Kafka's tools: `kafka_tool(TOPICS, "--bootstrap-server", kafka.bootstrap, "--list").stdout`."""
    return KafkaTools()
