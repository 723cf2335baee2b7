"""Every client library over TLS: with a password (SASL_SSL), and with a certificate alone (SSL)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Producer

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from kafka import KafkaConsumer, KafkaProducer
from support.certificates import DAY, Authority
from support.gateway_fixtures import FreshTopic
from support.gateway_process import HOST, GatewayProcess, TenantSpec
from support.java_clients import JavaClients, JavaError
from support.tls_endpoint import TlsEndpoint

TENANTS = (TenantSpec("acme", principals=("shop",)), TenantSpec("globex"))
WAIT_MS = 20_000
RULES = "RULE:^CN=([^,]+)(,.*)?$/$1/L"


@dataclass(frozen=True)
class World:
    """Two gateways, and the files of whoever connects."""

    passwords: TlsEndpoint
    certificates: TlsEndpoint
    nobody: TlsEndpoint
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
            nobody=replace(certificates, client=clients.client("nobody").write(folder, "nobody")),
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
    producer = Producer(endpoint.for_confluent)
    large = bytes(900_000)
    for value in (b"from librdkafka", large):
        producer.produce("orders", value)
    assert producer.flush(20) == 0
    consumer = Consumer(endpoint.for_confluent | {"group.id": "tls", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    messages = [consumer.poll(20), consumer.poll(20)]
    consumer.close()

    assert [message and message.value() for message in messages] == [b"from librdkafka", large]


def test_kafka_python(endpoint: TlsEndpoint) -> None:
    producer = KafkaProducer(**endpoint.for_python)
    producer.send("orders", b"from kafka-python").get(timeout=20)
    producer.close()
    consumer = KafkaConsumer(
        "orders", **endpoint.for_python, auto_offset_reset="earliest", consumer_timeout_ms=WAIT_MS
    )
    message = next(consumer)
    consumer.close()

    assert message.value == b"from kafka-python"


def test_aiokafka(endpoint: TlsEndpoint) -> None:
    async def play() -> bytes:
        async with AIOKafkaProducer(**endpoint.for_aiokafka) as producer:
            await producer.send_and_wait("orders", b"from aiokafka")
        options = endpoint.for_aiokafka | {"auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer("orders", **options) as consumer:
            message = await asyncio.wait_for(consumer.getone(), 20)
            value: bytes = message.value
            return value

    assert asyncio.run(play()) == b"from aiokafka"


@pytest.mark.parametrize("java", ["2.8.2", DEFAULT_VERSION], indirect=True)
def test_java(java: JavaClients, endpoint: TlsEndpoint) -> None:
    producer = java.producer(endpoint)
    java("send", producer, "orders", ["from Java"])
    java("close", producer)
    consumer = java.consumer(endpoint)
    java("assign", consumer, "orders", 0)
    records = java.poll_until(consumer, 1)
    java("close", consumer)

    assert [record[3] for record in records] == ["from Java"]


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
    errors: list[KafkaError] = []
    endpoint: TlsEndpoint = getattr(world, who)
    producer = Producer(endpoint.for_confluent | {"error_cb": errors.append, "log_level": 0})
    deadline = time.monotonic() + 20
    while not errors and time.monotonic() < deadline:
        producer.poll(0.1)
    producer.purge()

    # Not a mere end of the connection, which it would take for a fault of the network.
    assert alert in errors[0].str(), errors
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


def test_a_trusted_certificate_of_nobody_is_closed(world: World) -> None:
    since = world.gateway.mark()
    producer = Producer(world.nobody.for_confluent | {"log_level": 0})
    producer.poll(1)
    ended = world.gateway.await_event(since, reason="authentication_failed")

    assert "User:nobody" in ended["detail"]


def test_a_client_that_does_not_know_the_ca_is_told_of_by_the_log(world: World, tmp_path: Path) -> None:
    since = world.gateway.mark()
    distrustful = replace(world.certificates, ca_file=Authority("CA of nobody").write(tmp_path / "ca.pem"))
    producer = Producer(distrustful.for_confluent | {"log_level": 0})
    producer.poll(1)

    assert "truststore" in world.gateway.await_event(since, reason="tls_handshake_failed")["detail"]
