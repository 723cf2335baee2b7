"""A load balancer's PROXY header in front of connections, with TLS and without."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess
from support.gateways.proxy_relay import BEHIND, LOCAL, ProxyRelay, proxy_header
from support.identity.certificates import Authority
from support.java.java_clients import JavaClients

CLIENT = "203.0.113.9"
HEADER = proxy_header(CLIENT, 5555)

StartRelay = Callable[..., ProxyRelay]


@pytest.fixture
def start_relay() -> Iterator[StartRelay]:
    """Put a load balancer before a gateway that listens at BEHIND."""
    with ExitStack() as stack:

        def start(gateway: GatewayProcess, header: bytes = HEADER) -> ProxyRelay:
            ports = (gateway.bootstrap_port, gateway.broker_port(1))
            return stack.enter_context(ProxyRelay(ports, header))

        yield start


@pytest.fixture
def tls(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """A section `tls`, and the file of its CA."""
    authority = Authority("CA")
    files = authority.server(HOST).write(tmp_path, "server")
    section = {"certificate_file": str(files.certificate), "key_file": str(files.key)}
    return section, authority.write(tmp_path / "ca.pem")


def test_clients_behind_a_balancer_without_tls(
    start_gateway: StartGateway, start_relay: StartRelay, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(listener={"proxy_protocol": "required"}, bind_host=BEHIND, log_level="debug")
    start_relay(gateway)
    since = gateway.mark()
    user = gateway.endpoint("acme", "SCRAM-SHA-256")
    producer = Producer(user.for_confluent)
    producer.produce("orders", b"relayed")
    assert producer.flush(20) == 0
    consumer = Consumer(user.for_confluent | {"group.id": "proxy", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(20)
    consumer.close()

    assert message is not None
    assert message.value() == b"relayed"
    assert gateway.await_event(since, event="authenticated")["peer"] == f"{CLIENT}:5555"


@pytest.mark.parametrize("java", [DEFAULT_VERSION], indirect=True)
def test_clients_behind_a_balancer_with_tls_after_its_header(
    java: JavaClients,
    start_gateway: StartGateway,
    start_relay: StartRelay,
    tls: tuple[dict[str, str], Path],
    fresh_topic: FreshTopic,
) -> None:
    fresh_topic("acme", "orders")
    section, ca_file = tls
    gateway = start_gateway(
        listener={"proxy_protocol": "required", "security_protocol": "SASL_SSL", "tls": section},
        bind_host=BEHIND,
        log_level="debug",
    )
    start_relay(gateway, proxy_header("2001:db8::7", 4242, tlvs=b"\x04\x0b\xb8" + bytes(3000)))
    since = gateway.mark()
    user = gateway.endpoint("acme")
    endpoint = TlsEndpoint(HOST, user.port, user.username, user.password, ca_file=ca_file)
    producer = Producer(endpoint.for_confluent)
    producer.produce("orders", b"from librdkafka")
    assert producer.flush(20) == 0
    consumer = java.consumer(endpoint)
    java("assign", consumer, "orders", 0)
    records = java.poll_until(consumer, 1)
    java("close", consumer)

    assert [record[3] for record in records] == ["from librdkafka"]
    assert gateway.await_event(since, event="authenticated")["peer"] == "2001:db8::7:4242"


def test_the_address_in_the_header_is_the_one_that_waits_after_failures(start_gateway: StartGateway) -> None:
    gateway = start_gateway(
        listener={"proxy_protocol": "required"}, limits={"max_authentication_delay_ms": 2000}
    )
    right, wrong = gateway.endpoint("acme"), replace(gateway.endpoint("acme"), password="guess")

    def seconds(header: bytes) -> float:
        begun = time.monotonic()
        with RawClient.authenticated(right, greeting=header) as client:
            client.request(MetadataRequest(topics=[]), 9)
        return time.monotonic() - begun

    for _ in range(5):
        with pytest.raises(AssertionError):
            RawClient.authenticated(wrong, greeting=HEADER)

    assert seconds(HEADER) > 1.5
    assert seconds(proxy_header("203.0.113.10", 1)) < 1


REFUSED = {
    "nothing of the kind": (b"\0\0\0\x0e\0\x12\0\0\0\0\0\1\xff\xff\0\0\0\0", "no PROXY header"),
    "version 1": (b"PROXY TCP4 203.0.113.9 127.0.0.1 5555 9092\r\n", "version 1"),
    "version 3": (HEADER[:12] + b"\x31" + HEADER[13:], "version 3"),
    "unknown command": (HEADER[:12] + b"\x22" + HEADER[13:], "unknown command"),
    "unknown family": (HEADER[:13] + b"\x71" + HEADER[14:], "unknown family"),
    "addresses too short": (HEADER[:14] + b"\0\4" + bytes(4), "4 bytes for addresses of 12"),
    "too long": (HEADER[:14] + b"\xff\xff", "at most 4096"),
}


@pytest.fixture(scope="module")
def strict(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway whose clients all come through a load balancer."""
    directory = tmp_path_factory.mktemp("behind-a-balancer")
    with GatewayProcess(directory, kafka.bootstrap, listener={"proxy_protocol": "required"}) as process:
        yield process


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_sound_header_is_closed_and_told_by_the_log(name: str, strict: GatewayProcess) -> None:
    sent, detail = REFUSED[name]
    since = strict.mark()
    with RawClient(strict.endpoint("acme"), greeting=sent) as client:
        assert client.receives_end()
        ended = strict.await_event(since, reason="bad_proxy_header", peer=client.address)

    assert detail in ended["detail"]


def test_a_header_may_come_byte_by_byte_or_not_at_all_where_it_is_allowed(
    start_gateway: StartGateway, tls: tuple[dict[str, str], Path]
) -> None:
    section, ca_file = tls
    gateway = start_gateway(listener={"proxy_protocol": "allowed"}, log_level="debug")
    encrypted = start_gateway(
        listener={"proxy_protocol": "allowed", "security_protocol": "SASL_SSL", "tls": section}
    )
    context = ssl.create_default_context(cafile=ca_file)
    for one, wrap in ((gateway, None), (encrypted, context)):
        for greeting in (b"", HEADER, proxy_header("203.0.113.1", 7, command=LOCAL)):
            with RawClient.authenticated(one.endpoint("acme"), greeting=greeting, context=wrap) as client:
                assert client.request(MetadataRequest(topics=[]), 9).brokers
    peers = [event["peer"] for event in gateway.events() if event["event"] == "authenticated"]
    assert peers[1] == f"{CLIENT}:5555"
    assert peers[0].startswith(f"{HOST}:")
    assert peers[2].startswith(f"{HOST}:")

    with RawClient(gateway.endpoint("acme")) as slow:
        since = gateway.mark()
        for byte in HEADER:
            slow.send_bytes(bytes([byte]))
            time.sleep(0.005)
        slow.close()
        ended = gateway.await_event(since, event="connection_ended", peer=f"{CLIENT}:5555")
    assert ended["reason"] == "client_closed"


def test_a_header_where_none_is_expected_is_told_by_the_log(gateway: GatewayProcess) -> None:
    since = gateway.mark()
    with RawClient(gateway.endpoint("acme"), greeting=HEADER) as client:
        assert client.receives_end()
        ended = gateway.await_event(since, reason="bad_proxy_header", peer=client.address)

    assert "set proxy_protocol" in ended["detail"]


def test_who_never_sends_its_header_is_cut(start_gateway: StartGateway) -> None:
    gateway = start_gateway(
        listener={"proxy_protocol": "required"}, limits={"authentication_timeout_ms": 1000}
    )
    with RawClient(gateway.endpoint("acme"), greeting=HEADER[:20]) as client:
        assert client.receives_end(timeout_s=5)
        gateway.await_event(0, reason="authentication_timeout", peer=client.address)
