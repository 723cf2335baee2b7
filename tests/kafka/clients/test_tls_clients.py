"""Every client library over TLS: with a password (SASL_SSL), and with a certificate alone (SSL)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from support.clients.round_trips import by_aiokafka, by_confluent, by_java, by_python, first_error
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.certificates import DAY, Authority
from support.java.java_clients import JavaClients, JavaError

TENANTS = (TenantSpec("acme", principals=("shop",)), TenantSpec("globex"))
RULES = "RULE:^CN=([^,]+)(,.*)?$/$1/L"


@dataclass(frozen=True)
class World:
    """Two gateways, and the files of the clients."""

    passwords: TlsEndpoint
    certificates: TlsEndpoint
    of_no_tenant: TlsEndpoint
    """A trusted certificate of whom no tenant has."""
    stranger: TlsEndpoint
    """A certificate of another CA."""
    expired: TlsEndpoint
    naked: TlsEndpoint
    """No certificate."""
    gateway: GatewayProcess


@pytest.fixture(scope="module")
def world(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tls-clients")
    authority, other = Authority("CA of all"), Authority("CA of others")
    clients = Authority("CA of clients", authority)
    ca_file = authority.write(folder / "ca.pem")
    client_ca = clients.write(folder / "client-ca.pem")
    server = authority.server(HOST, "localhost").write(folder, "server")
    shop = clients.client("Shop").write(folder, "shop")
    tls = {"certificate_file": str(server.certificate), "key_file": str(server.key)}
    mutual = tls | {
        "client_auth": "required",
        "client_ca_file": str(client_ca),
        "principal_mapping_rules": RULES,
    }
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    with (
        GatewayProcess(
            folder / "one",
            kafka.bootstrap,
            tenants=TENANTS,
            listener={"security_protocol": "SASL_SSL", "tls": tls},
        ) as one,
        GatewayProcess(
            folder / "two",
            kafka.bootstrap,
            tenants=TENANTS,
            listener={"security_protocol": "SSL", "tls": mutual},
        ) as two,
    ):
        user = one.endpoint("acme", "SCRAM-SHA-512")
        certificates = TlsEndpoint(HOST, two.bootstrap_port, ca_file=ca_file, client=shop)
        yield World(
            passwords=TlsEndpoint(
                HOST, user.port, user.username, user.password, user.mechanism, ca_file=ca_file
            ),
            certificates=certificates,
            of_no_tenant=replace(certificates, client=clients.client("unknown").write(folder, "unknown")),
            stranger=replace(certificates, client=other.client("shop").write(folder, "stranger")),
            expired=replace(certificates, client=clients.client("shop", lasts=-DAY).write(folder, "expired")),
            naked=replace(certificates, client=None),
            gateway=two,
        )


@pytest.fixture(params=["passwords", "certificates"])
def endpoint(request: pytest.FixtureRequest, world: World, fresh_topic: FreshTopic) -> TlsEndpoint:
    """Either way in, with an empty topic `orders`."""
    fresh_topic("acme", "orders")
    found: TlsEndpoint = getattr(world, request.param)
    return found


def test_confluent_kafka(endpoint: TlsEndpoint) -> None:
    values = [b"from librdkafka", bytes(900_000)]

    assert by_confluent(endpoint.for_confluent, *values) == values


def test_kafka_python(endpoint: TlsEndpoint) -> None:
    assert by_python(endpoint.for_python, b"from kafka-python") == b"from kafka-python"


def test_aiokafka(endpoint: TlsEndpoint) -> None:
    assert by_aiokafka(endpoint.for_aiokafka, b"from aiokafka") == b"from aiokafka"


@pytest.mark.parametrize("java", ["2.8.2", DEFAULT_VERSION], indirect=True)
def test_java(java: JavaClients, endpoint: TlsEndpoint) -> None:
    assert by_java(java, endpoint, "from Java") == ["from Java"]


# -- who is not let in

REFUSED = {
    "stranger": ("unable to get local issuer certificate", "alert unknown ca"),
    "expired": ("certificate has expired", "alert certificate expired"),
    "naked": ("showed no certificate", "alert certificate required"),
}
"""What the log says, and what the client is told."""


@pytest.mark.parametrize("who", REFUSED)
def test_librdkafka_is_told_why_it_is_refused(world: World, who: str) -> None:
    detail, alert = REFUSED[who]
    since = world.gateway.mark()
    endpoint: TlsEndpoint = getattr(world, who)

    error = first_error(endpoint.for_confluent)

    # Not a mere end of the connection, which it would take for a fault of the network.
    assert alert in error.str(), error
    assert detail in world.gateway.await_event(since, reason="client_certificate_refused")["detail"]


@pytest.mark.parametrize("who", REFUSED)
@pytest.mark.parametrize("java", [DEFAULT_VERSION], indirect=True)
def test_java_is_told_why_it_is_refused(java: JavaClients, world: World, who: str) -> None:
    detail, _ = REFUSED[who]
    since = world.gateway.mark()
    admin = java.admin(getattr(world, who))

    with pytest.raises(JavaError) as caught:
        java("list_topics", admin)

    assert caught.value.name == "SslAuthenticationException"
    assert detail in world.gateway.await_event(since, reason="client_certificate_refused")["detail"]
    java("close", admin)


def test_a_trusted_certificate_of_no_tenant_is_closed(world: World) -> None:
    since = world.gateway.mark()
    producer = Producer(world.of_no_tenant.for_confluent | {"log_level": 0})
    producer.poll(1)
    ended = world.gateway.await_event(since, reason="authentication_failed")

    assert "User:unknown" in ended["detail"]


def test_a_client_that_does_not_know_the_ca_is_told_of_by_the_log(world: World, tmp_path: Path) -> None:
    since = world.gateway.mark()
    distrustful = replace(
        world.certificates, ca_file=Authority("CA of no gateway").write(tmp_path / "ca.pem")
    )
    producer = Producer(distrustful.for_confluent | {"log_level": 0})
    producer.poll(1)

    assert "truststore" in world.gateway.await_event(since, reason="tls_handshake_failed")["detail"]
