"""Every client library with SCRAM, as a user whose password the gateway knows and as one whose it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.round_trips import by_aiokafka, by_confluent, by_java, by_python, first_error
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.java.java_clients import JavaClients, JavaError

TENANTS = (TenantSpec("known"), TenantSpec("salted", is_salted=True))


@pytest.fixture(scope="module")
def scram_gateway(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway that offers SCRAM alone: no client can fall back on PLAIN."""
    mechanisms = ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    directory = tmp_path_factory.mktemp("scram-clients")
    with GatewayProcess(directory, kafka.bootstrap, tenants=TENANTS, mechanisms=mechanisms) as process:
        yield process


@pytest.fixture(params=["SCRAM-SHA-256", "SCRAM-SHA-512"])
def mechanism(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=["known", "salted"])
def user(
    request: pytest.FixtureRequest, scram_gateway: GatewayProcess, mechanism: str, fresh_topic: FreshTopic
) -> Endpoint:
    """A user of either kind, with an empty topic `orders`."""
    fresh_topic(request.param, "orders")
    return scram_gateway.endpoint(request.param, mechanism)


def wrong(user: Endpoint) -> Endpoint:
    return Endpoint(user.host, user.port, user.username, "guess", user.mechanism)


def test_confluent_kafka(user: Endpoint) -> None:
    assert by_confluent(user.for_confluent, b"from librdkafka") == [b"from librdkafka"]


def test_confluent_kafka_with_a_wrong_password(user: Endpoint) -> None:
    error = first_error(wrong(user).for_confluent)

    assert error.code() == KafkaError._AUTHENTICATION
    assert f"invalid credentials with SASL mechanism {user.mechanism}" in error.str()


def test_kafka_python(user: Endpoint) -> None:
    assert by_python(user.for_python, b"from kafka-python") == b"from kafka-python"


def test_aiokafka(user: Endpoint) -> None:
    assert by_aiokafka(user.for_aiokafka, b"from aiokafka") == b"from aiokafka"


@pytest.mark.parametrize("java", ["2.8.2", DEFAULT_VERSION], indirect=True)
def test_java(java: JavaClients, user: Endpoint) -> None:
    assert by_java(java, user, "from Java") == ["from Java"]


@pytest.mark.parametrize("java", [DEFAULT_VERSION], indirect=True)
def test_java_with_a_wrong_password(java: JavaClients, user: Endpoint) -> None:
    admin = java.admin(wrong(user))

    with pytest.raises(JavaError) as caught:
        java("list_topics", admin)

    assert caught.value.name == "SaslAuthenticationException"
    assert "invalid credentials with SASL mechanism" in str(caught.value)
    java("close", admin)


@pytest.mark.parametrize("java", [DEFAULT_VERSION], indirect=True)
def test_java_refuses_a_gateway_that_wants_its_password(java: JavaClients, user: Endpoint) -> None:
    """The listener offers SCRAM alone: a client that would send its password in clear is told so, and does not."""
    plain = Endpoint(user.host, user.port, user.username, user.password)
    admin = java.admin(plain)

    with pytest.raises(JavaError) as caught:
        java("list_topics", admin)

    assert caught.value.name == "UnsupportedSaslMechanismException"
    java("close", admin)


def test_console_tools(user: Endpoint, kafka_tool: KafkaTools, tmp_path: Path) -> None:
    config = ("--command-config", str(write_client_properties(tmp_path / "client", user.for_java)))
    server = ("--bootstrap-server", user.bootstrap)
    kafka_tool(tools.CONSOLE_PRODUCER, *server, *config, "--topic", "orders", stdin="from a console\n")

    options = ("--topic", "orders", "--from-beginning", "--max-messages", "1")
    printed = kafka_tool(tools.CONSOLE_CONSUMER, *server, *config, *options).stdout

    assert printed.splitlines() == ["from a console"]
