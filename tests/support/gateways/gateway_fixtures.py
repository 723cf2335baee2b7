"""The one gateway of a test session, before the one embedded Kafka, and what clients of it need.

A pytest plugin: `kafka/conftest.py` registers it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import recreate_topic, warm_up
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import ACME, GLOBEX, HOST, INITECH, SOYLENT, GatewayProcess
from support.java.java_clients import JavaClients, lacks_sasl
from support.physical_names import MARK, physical_name
from support.skips.optional_parts import OLDER_JAVA, lacks

StartGateway = Callable[..., GatewayProcess]
FreshTopic = Callable[..., bytes]
Connect = Callable[[str], RawClient]
UniqueName = Callable[[str], str]

THIRD_PARTY_WARNINGS = (
    # kafka-python reads its schemas so on every Python.
    "ignore:(read|open)_text is deprecated:DeprecationWarning",
)


def pytest_configure(config: pytest.Config) -> None:
    """Leave to other projects the warnings that are about their code."""
    for line in THIRD_PARTY_WARNINGS:
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(scope="session")
def broker(kafka: EmbeddedKafka) -> Endpoint:
    """The embedded Kafka itself, which sees physical names."""
    return Endpoint(HOST, kafka.broker_port(1))


@pytest.fixture(scope="session")
def gateway(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway with the tenants acme (a list of topics), globex (dynamic), initech and soylent (may delete)."""
    with RoutedClient(broker) as client:
        warm_up(client)
    directory, brokers = tmp_path_factory.mktemp("gateway"), brokers_under_test()
    tenants = (ACME, GLOBEX, INITECH, SOYLENT)
    with GatewayProcess(directory, kafka.bootstrap, tenants=tenants, brokers=brokers) as process:
        yield process


@pytest.fixture
def start_gateway(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartGateway]:
    """Start a gateway of one's own, with other limits: `start_gateway(limits={...})`. It is stopped afterwards."""
    started: list[GatewayProcess] = []

    def start(**options: object) -> GatewayProcess:
        directory = tmp_path / f"gateway-{len(started)}"
        directory.mkdir()
        process = GatewayProcess(directory, kafka.bootstrap, **options)  # type: ignore[arg-type]
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.stop()


@pytest.fixture(scope="session")
def acme(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint("acme")


@pytest.fixture(scope="session")
def globex(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint("globex")


@pytest.fixture(scope="session")
def initech(gateway: GatewayProcess) -> Endpoint:
    return gateway.endpoint("initech")


@pytest.fixture
def direct(broker: Endpoint) -> Iterator[RawClient]:
    """A raw client at the broker itself."""
    with RawClient(broker) as client:
        yield client


def address_of(broker: Endpoint) -> bytes:
    """Return how an answer would give the broker's address; a port alone may stand in a topic ID."""
    return broker.host.encode() + broker.port.to_bytes(4, "big")


@pytest.fixture
def connect(gateway: GatewayProcess, broker: Endpoint, kafka: EmbeddedKafka) -> Iterator[Connect]:
    """Connect as a tenant, to the broker's port: `connect("acme")`.

    Whatever such a client is told, no answer may hold a physical name, the physical cluster's ID or the
    broker's own address.
    """
    clients: list[RawClient] = []
    secret = (MARK.encode(), kafka.cluster_id.encode(), address_of(broker))

    def connect(tenant: str) -> RawClient:
        client = RawClient.authenticated(gateway.broker_endpoint(tenant), never_receives=secret)
        clients.append(client)
        return client

    yield connect
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def fresh_topic(broker: Endpoint) -> FreshTopic:
    """Make a tenant's topic anew, directly on the broker: `fresh_topic("acme", "orders", partitions=2)`.

    Tenants with a list have few topics, and what an earlier test left in them is none of this one's business.
    """

    def make(tenant: str, topic: str, partitions: int = 1) -> bytes:
        physical = physical_name(tenant, topic)
        with RoutedClient(broker) as client:
            return recreate_topic(client, physical, partitions)

    return make


@pytest.fixture(scope="module")
def java(request: pytest.FixtureRequest) -> Iterator[JavaClients]:
    """The Java clients of one version: `@pytest.mark.parametrize("java", ["2.8.2"], indirect=True)`."""
    if lacks_sasl(request.param):
        pytest.skip(lacks(OLDER_JAVA, f"kafka-clients {request.param} has no SASL on Java 24 and later"))
    with JavaClients(request.param) as clients:
        yield clients


_numbers = itertools.count(1)


@pytest.fixture
def unique(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Make a name that no other test has: `unique("group")`."""
    number = next(_numbers)
    return lambda kind: f"{kind}-{number}"
