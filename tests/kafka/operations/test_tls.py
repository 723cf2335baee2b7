"""TLS listeners: certificates that change under live connections, strangers, limits, what is counted."""

from __future__ import annotations

import datetime
import os
import socket
import ssl
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce, records_of
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.certificates import Authority, Files, Identity

LOOK_EVERY_S = 3.2
"""A little more than a gateway believes that its files are what they were."""

TENANTS = (TenantSpec("acme", principals=("CN=billing",)), TenantSpec("globex", principals=("CN=shop",)))


@dataclass(frozen=True)
class Pki:
    """A CA, and the gateway's files by it."""

    folder: Path
    authority: Authority
    server: Files
    ca_file: Path

    @property
    def section(self) -> dict[str, str]:
        return {"certificate_file": str(self.server.certificate), "key_file": str(self.server.key)}

    @property
    def mutual(self) -> dict[str, str]:
        return self.section | {"client_auth": "required", "client_ca_file": str(self.ca_file)}

    def context(self, client: Identity | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file)
        if client is not None:
            files = client.write(self.folder, "client")
            context.load_cert_chain(files.certificate, files.key)
        return context


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    authority = Authority("CA")
    server = authority.server(HOST, "localhost").write(tmp_path, "server")
    return Pki(tmp_path, authority, server, authority.write(tmp_path / "ca.pem"))


def at(gateway: GatewayProcess) -> Endpoint:
    return Endpoint(HOST, gateway.broker_port(1))


def serial_of(client: RawClient) -> int:
    assert isinstance(client.socket, ssl.SSLSocket)
    certificate = client.socket.getpeercert()
    assert certificate is not None
    return int(str(certificate["serialNumber"]), 16)


def works(client: RawClient) -> bool:
    return bool(client.request(MetadataRequest(topics=[]), 9).brokers)


# -- certificates


def test_a_new_certificate_is_for_new_connections_and_old_ones_live_on(
    start_gateway: StartGateway, pki: Pki, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    # A reload would find the half that is written first, and refuse it.
    gateway = start_gateway(
        listener={"security_protocol": "SASL_SSL", "tls": pki.section}, proxy={"watch_files_ms": 0}
    )
    user, context = gateway.broker_endpoint("acme"), pki.context()
    with RawClient.authenticated(user, context=context) as old:
        assert produce(old, "orders", [b"before"]) == 0
        since = gateway.mark()
        renewed = pki.authority.server(HOST)
        # As an operator's tool does it: written beside, then put in place, the key a moment later.
        files = renewed.write(pki.folder, "new")
        os.replace(files.certificate, pki.server.certificate)
        time.sleep(LOOK_EVERY_S)
        with RawClient.authenticated(user, context=context) as between:
            assert serial_of(between) == serial_of(old)
        assert (
            "is not that of the first certificate"
            in gateway.await_event(since, event="certificate_not_renewed", key="tls.key_file")["error"]
        )
        os.replace(files.key, pki.server.key)
        time.sleep(LOOK_EVERY_S)
        with RawClient.authenticated(user, context=context) as new:
            assert serial_of(new) == renewed.certificate.serial_number != serial_of(old)
            assert works(new)
        gateway.await_event(since, event="certificate_renewed")
        assert produce(old, "orders", [b"after"]) == 1
        assert b"after" in records_of(old, "orders")


def test_the_ca_of_clients_changes_as_well(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(tenants=TENANTS, listener={"security_protocol": "SSL", "tls": pki.mutual})
    other = Authority("CA of later")
    later = other.client("shop").write(pki.folder, "later")
    context = ssl.create_default_context(cafile=pki.authority.write(pki.folder / "servers.pem"))
    context.load_cert_chain(later.certificate, later.key)
    with RawClient(at(gateway), context=context) as refused, pytest.raises((EOFError, ssl.SSLError)):
        works(refused)
    pki.ca_file.write_bytes(other.pem)
    time.sleep(LOOK_EVERY_S)

    with RawClient(at(gateway), context=context) as client:
        assert works(client)


def test_a_certificate_decides_the_tenant(
    start_gateway: StartGateway, pki: Pki, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    fresh_topic("globex", "orders")
    gateway = start_gateway(
        tenants=TENANTS, listener={"security_protocol": "SSL", "tls": pki.mutual}, log_level="debug"
    )
    for name, tenant in (("billing", "acme"), ("shop", "globex")):
        since = gateway.mark()
        with RawClient(at(gateway), context=pki.context(pki.authority.client(name))) as client:
            assert produce(client, "orders", [f"{tenant}'s".encode()]) == 0
            known = gateway.await_event(since, event="authenticated", peer=client.address)
        assert (known["tenant"], known["principal"]) == (tenant, f"User:CN={name}")


@pytest.mark.parametrize(
    ("tls", "principal"),
    [
        ({"client_auth": "required"}, "User:CN=any-user"),
        ({"client_auth": "requested"}, "User:ANONYMOUS"),
        ({}, "User:ANONYMOUS"),
    ],
    ids=["required", "requested", "none"],
)
def test_a_listener_set_of_one_tenant_takes_every_client_it_trusts(
    start_gateway: StartGateway, pki: Pki, tls: dict[str, str], principal: str
) -> None:
    section = pki.section | tls | ({"client_ca_file": str(pki.ca_file)} if tls else {})
    listener = {"security_protocol": "SSL", "tls": section, "tenant": "globex"}
    gateway = start_gateway(listener=listener, log_level="debug")
    since = gateway.mark()
    client = pki.authority.client("any-user") if "any-user" in principal else None
    with RawClient(at(gateway), context=pki.context(client)) as raw:
        assert works(raw)
        known = gateway.await_event(since, event="authenticated", peer=raw.address)

    assert (known["tenant"], known["principal"]) == ("globex", principal)


# -- who is not let in


def test_strangers_at_a_port_of_tls_are_told_by_the_log(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(listener={"security_protocol": "SASL_SSL", "tls": pki.section})
    for sent, reason, detail in (
        (b"\0\0\0\x0e\0\x12\0\0\0\0\0\1\xff\xff", "plaintext_on_tls", "security.protocol to SASL_SSL"),
        (b"GET / HTTP/1.1\r\n\r\n", "http", "HTTP"),
        (b"PROXY TCP4 127.0.0.1", "bad_proxy_header", "set proxy_protocol"),
        (b"\x16\x03\x01\0\5hello", "tls_handshake_failed", "handshake failed"),
    ):
        with RawClient(gateway.endpoint("acme")) as client:
            since = gateway.mark()
            client.send_bytes(sent)
            while client.socket.recv(100):
                pass  # An alert, where it is TLS.
            ended = gateway.await_event(since, event="connection_ended", peer=client.address)
        assert (ended["reason"], detail in ended["detail"]) == (reason, True), ended


def test_versions_older_than_the_oldest_are_refused(start_gateway: StartGateway, pki: Pki) -> None:
    section = pki.section | {"min_version": "TLSv1.3"}
    gateway = start_gateway(listener={"security_protocol": "SASL_SSL", "tls": section})
    context = pki.context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
        RawClient(gateway.endpoint("acme"), context=context)

    assert "min_version" in gateway.await_event(0, reason="tls_handshake_failed")["detail"]


def test_tls_1_2_works_and_neither_resumes_nor_renegotiates(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(tenants=TENANTS, listener={"security_protocol": "SSL", "tls": pki.mutual})
    context = pki.context(pki.authority.client("shop"))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.maximum_version = version
        with RawClient(at(gateway), context=context) as client:
            assert works(client)
            assert isinstance(client.socket, ssl.SSLSocket)
            session = client.socket.session
            assert session is None or not session.has_ticket
            assert client.socket.compression() is None


def test_a_session_of_before_does_not_outlive_its_certificate(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(tenants=TENANTS, listener={"security_protocol": "SSL", "tls": pki.mutual})
    context = pki.context(pki.authority.client("shop", lasts=datetime.timedelta(seconds=4)))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    expires = time.monotonic() + 5
    with RawClient(at(gateway), context=context) as client:
        assert works(client)
        assert isinstance(client.socket, ssl.SSLSocket)
        session = client.socket.session
        client.socket.unwrap()
    time.sleep(max(0.0, expires - time.monotonic()))
    plain = socket.create_connection((HOST, gateway.broker_port(1)))
    with context.wrap_socket(plain, server_hostname=HOST, session=session) as again:
        assert again.session_reused
        assert again.recv(1) == b""

    assert "expired since" in gateway.await_event(0, reason="client_certificate_refused")["detail"]


def test_the_handshake_is_within_the_time_to_authenticate(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(
        listener={"security_protocol": "SASL_SSL", "tls": pki.section},
        limits={"authentication_timeout_ms": 1000},
    )
    hello = bytes.fromhex("16030100c8010000c40303") + bytes(50)
    for sent in (b"", b"\x16\x03", hello):
        begun = time.monotonic()
        with RawClient(gateway.endpoint("acme")) as client:
            client.send_bytes(sent)
            assert client.receives_end(timeout_s=5)
            gateway.await_event(0, reason="authentication_timeout", peer=client.address)
        assert 0.9 < time.monotonic() - begun < 3
    with RawClient(gateway.endpoint("acme"), context=pki.context()) as client:
        begun = time.monotonic()
        assert client.receives_end(timeout_s=5)
        assert time.monotonic() - begun < 3


def test_connections_in_the_handshake_count_as_open(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(
        listener={"security_protocol": "SASL_SSL", "tls": pki.section}, limits={"max_connections": 2}
    )
    user = gateway.endpoint("acme")
    with RawClient(user) as one, RawClient(user) as two:
        one.send_bytes(b"\x16")
        two.send_bytes(b"\x16")
        time.sleep(0.2)
        with RawClient(user) as third:
            assert third.receives_end()
            gateway.await_event(0, reason="too_many_connections", peer=third.address)
    deadline = time.monotonic() + 10
    while True:
        try:
            with RawClient.authenticated(user, context=pki.context()) as client:
                assert works(client)
            break
        except (OSError, EOFError):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_failed_handshakes_are_counted(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(
        tenants=TENANTS, listener={"security_protocol": "SSL", "tls": pki.mutual}, has_admin=True
    )
    for context in (pki.context(), pki.context(pki.authority.client("unknown"))):
        with pytest.raises((EOFError, ssl.SSLError)), RawClient(at(gateway), context=context) as client:
            works(client)
    with pytest.raises(ssl.SSLError):
        RawClient(at(gateway), context=ssl.create_default_context())
    time.sleep(0.3)
    with urllib.request.urlopen(f"http://{HOST}:{gateway.admin_port}/metrics", timeout=10) as answer:
        text = answer.read().decode()

    for reason in ("client_certificate_refused", "authentication_failed", "tls_handshake_failed"):
        assert f'kafka_proxy_connections_ended_total{{reason="{reason}"}} 1.0' in text
    counted = 'kafka_proxy_authentications_total{mechanism="SSL",outcome="failure",tenant=""} 2.0'
    assert counted in text


def test_refused_certificates_slow_their_address_down(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(
        tenants=TENANTS,
        listener={"security_protocol": "SSL", "tls": pki.mutual},
        limits={"max_authentication_delay_ms": 1000},
    )
    for _ in range(4):
        with pytest.raises((EOFError, ssl.SSLError)), RawClient(at(gateway), context=pki.context()) as bad:
            works(bad)
    begun = time.monotonic()
    with RawClient(at(gateway), context=pki.context(pki.authority.client("shop"))) as client:
        assert works(client)

    assert time.monotonic() - begun > 0.5


def test_a_client_that_vanishes_in_the_handshake_is_quiet(start_gateway: StartGateway, pki: Pki) -> None:
    gateway = start_gateway(listener={"security_protocol": "SASL_SSL", "tls": pki.section})
    since = gateway.mark()
    for sent in (b"", b"\x16\x03\x01", bytes.fromhex("16030100c8010000c40303") + bytes(50)):
        with socket.create_connection((HOST, gateway.bootstrap_port)) as one:
            one.sendall(sent)
    with RawClient.authenticated(gateway.endpoint("acme"), context=pki.context()) as client:
        assert works(client)

    assert gateway.events(since) == []


def test_large_answers_and_slow_readers(
    start_gateway: StartGateway, pki: Pki, fresh_topic: FreshTopic
) -> None:
    """Backpressure is that of TLS's own buffers here: nothing is lost, and no other client waits."""
    fresh_topic("globex", "big")
    listener: dict[str, Any] = {"security_protocol": "SASL_SSL", "tls": pki.section}
    gateway = start_gateway(listener=listener)
    user = gateway.broker_endpoint("globex")
    with RawClient.authenticated(user, context=pki.context()) as client:
        for number in range(12):
            assert produce(client, "big", [bytes(900_000)]) == number
        found = records_of(client, "big")
        assert len(found) > 900_000
        time.sleep(0.5)
        assert works(client)
