"""Certificates of clients that their CA has revoked (CRL), at a gateway in front of a real broker."""

from __future__ import annotations

import datetime
import ssl
import time
import urllib.request
from pathlib import Path

import pytest

from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.certificates import DAY, Authority, Identity

TENANTS = (TenantSpec("acme", principals=("CN=billing", "CN=shop")),)
AUTHORITY = Authority("CA")
BILLING, SHOP = AUTHORITY.client("billing"), AUTHORITY.client("shop")
LIMIT_S = 30.0


def listener(folder: Path, lists: bytes) -> dict[str, object]:
    files = AUTHORITY.server(HOST).write(folder, "server")
    (folder / "crl.pem").write_bytes(lists)
    tls = {
        "certificate_file": str(files.certificate),
        "key_file": str(files.key),
        "client_auth": "required",
        "client_ca_file": str(AUTHORITY.write(folder / "ca.pem")),
        "client_crl_file": str(folder / "crl.pem"),
    }
    return {"security_protocol": "SSL", "tls": tls}


def connect(gateway: GatewayProcess, folder: Path, client: Identity, version: ssl.TLSVersion) -> RawClient:
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    files = client.write(folder, "client")
    context.load_cert_chain(files.certificate, files.key)
    context.maximum_version = version
    return RawClient(Endpoint(HOST, gateway.broker_port(1)), context=context)


def works(client: RawClient) -> bool:
    return bool(client.request(MetadataRequest(topics=[]), 9).brokers)


def is_refused(gateway: GatewayProcess, folder: Path, client: Identity, version: ssl.TLSVersion) -> bool:
    try:
        with connect(gateway, folder, client, version) as raw:
            return not works(raw)
    except (EOFError, OSError):
        return True


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_is_revoked_while_the_gateway_runs_opens_no_connection_any_more(
    start_gateway: StartGateway, tmp_path: Path, version: ssl.TLSVersion
) -> None:
    gateway = start_gateway(
        tenants=TENANTS, listener=listener(tmp_path, AUTHORITY.revocations()), has_admin=True
    )
    with connect(gateway, tmp_path, SHOP, version) as open_before:
        assert works(open_before)
        since = gateway.mark()
        (tmp_path / "crl.pem").write_bytes(AUTHORITY.revocations(SHOP))
        deadline = time.monotonic() + LIMIT_S
        while not is_refused(gateway, tmp_path, SHOP, version):
            assert time.monotonic() < deadline
            time.sleep(0.2)

        ended = gateway.await_event(since, event="connection_ended", reason="client_certificate_refused")
        assert ended["detail"] == "the client's certificate: certificate revoked"
        assert works(open_before)  # As at a broker, an open connection stays.
        with connect(gateway, tmp_path, BILLING, version) as other:
            assert works(other)
    with urllib.request.urlopen(f"http://{HOST}:{gateway.admin_port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    counted = 'kafka_proxy_connections_ended_total{reason="client_certificate_refused"}'
    assert float(text.partition(counted)[2].split()[0]) >= 1


def test_an_expired_list_refuses_all_clients_of_its_ca_until_there_is_a_newer_one(
    start_gateway: StartGateway, tmp_path: Path
) -> None:
    late = AUTHORITY.revocations(until=datetime.datetime.now(datetime.UTC) - DAY)
    gateway = start_gateway(tenants=TENANTS, listener=listener(tmp_path, late))
    newest = ssl.TLSVersion.TLSv1_3

    assert is_refused(gateway, tmp_path, BILLING, newest)
    assert gateway.await_event(0, event="client_crl_expired")["client_crl_file"] == str(tmp_path / "crl.pem")
    ended = gateway.await_event(0, event="connection_ended", reason="client_certificate_refused")
    assert ended["detail"] == "the client's certificate: CRL has expired"

    (tmp_path / "crl.pem").write_bytes(AUTHORITY.revocations())
    deadline = time.monotonic() + LIMIT_S
    while is_refused(gateway, tmp_path, BILLING, newest):
        assert time.monotonic() < deadline
        time.sleep(0.2)
