"""The port of `bifrost control`: TLS, certificates of clients, probes, and its end, on a real Kafka."""

from __future__ import annotations

import socket
import ssl
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from support.control.control_process import ControlProcess
from support.gateways.gateway_process import HOST
from support.identity.certificates import Authority

pytestmark = pytest.mark.timeout(240)

ADMINS = [
    {"name": "alice", "role": "operator", "token_file": "alice.token"},
    {"name": "ci", "role": "operator", "certificate_principal": "CN=ci"},
]


def tls_of(folder: Path, authority: Authority, client_auth: str) -> dict[str, Any]:
    """Write the files of the API's TLS, and return its section."""
    authority.server(HOST).write(folder / "tls", "server")
    authority.write(folder / "tls/ca.pem")
    return {
        "certificate_file": "tls/server.pem",
        "key_file": "tls/server.key",
        "client_auth": client_auth,
        "client_ca_file": "tls/ca.pem",
    }


def test_an_admin_comes_with_a_certificate_or_a_token(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    authority = Authority("CA")
    tls = tls_of(tmp_path, authority, "requested")
    files = {name: authority.client(name).write(tmp_path / "clients", name) for name in ("ci", "eve")}
    for name, one in files.items():
        (tmp_path / f"{name}.pem").write_bytes(one.certificate.read_bytes() + one.key.read_bytes())
    topic = f"__state-{time.time_ns()}"
    with ControlProcess(tmp_path, kafka.bootstrap, topic, control={"tls": tls, "admins": ADMINS}) as control:
        ca = {"BIFROST_CONTROL_CA_FILE": str(tmp_path / "tls/ca.pem")}
        nothing = {**ca, "BIFROST_CONTROL_TOKEN_FILE": ""}

        by_token = control.command("namespaces", "create", "acme:a", **ca)
        by_certificate = control.command(
            "namespaces", "create", "acme:b", "--certificate-file", "ci.pem", **nothing
        )
        by_other = control.command(
            "namespaces", "create", "acme:c", "--certificate-file", "eve.pem", **nothing
        )
        by_none = control.command("namespaces", "list", **nothing)
        untrusted = control.command("namespaces", "list", BIFROST_CONTROL_CA_FILE="")
        listed = control.command("namespaces", "list", "acme", **ca)

    assert by_token == (0, "created acme:a\n", "")
    assert by_certificate == (0, "created acme:b\n", "")
    for refused in (by_other, by_none):
        assert refused[0] == 1
        assert "the request has no token and no certificate of an admin" in refused[2]
    assert untrusted[0] == 1
    assert "CERTIFICATE_VERIFY_FAILED" in untrusted[2]
    assert [line.split("\t")[2] for line in listed[1].splitlines()] == ["Admin:alice", "Admin:ci"]


def context_of(authority: Authority, folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.write(folder / "tls/ca.pem"))


def test_with_required_certificates_no_other_connection_is_made(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    authority = Authority("CA")
    control = ControlProcess(
        tmp_path,
        kafka.bootstrap,
        f"__state-{time.time_ns()}",
        control={"tls": tls_of(tmp_path, authority, "required"), "admins": ADMINS},
    )
    context = context_of(authority, tmp_path)
    with_certificate = context_of(authority, tmp_path)
    files = authority.client("ci").write(tmp_path / "clients", "ci")
    with_certificate.load_cert_chain(files.certificate, files.key)
    control.context = with_certificate
    with control:
        assert control.ask("GET", "/v1/namespaces", admin=None).status == 200
        with pytest.raises((urllib.error.URLError, OSError)):
            control.ask("GET", "/v1/namespaces", context=context)


def test_probes_and_metrics_tell_how_it_is(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, f"__state-{time.time_ns()}") as control:
        assert control.ask("GET", "/healthz", admin=None).body == "ok\n"
        assert control.ask("GET", "/readyz", admin=None).body == "ready\n"
        assert control.ask("GET", "/metrics", admin=None).status == 401
        metrics = control.ask("GET", "/metrics", admin="bob").body
        document = control.ask("GET", "/v1/openapi.json", admin=None).body

    assert "bifrost_control_state_up 1.0" in metrics
    assert document["openapi"].startswith("3.1")


def test_what_is_no_http_is_answered_and_harms_no_other_client(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, f"__state-{time.time_ns()}") as control:
        for sent in (b"\0\0\0\x10kafka" * 100, b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000):
            with socket.create_connection((HOST, control.port), timeout=30) as raw:
                raw.sendall(sent)
                assert raw.recv(1000).startswith(b"HTTP/1.1 400")
        assert control.ask("GET", "/v1/namespaces").status == 200


def test_without_brokers_it_says_so_and_ends(tmp_path: Path) -> None:
    control = ControlProcess(tmp_path, f"{HOST}:9", f"__state-{time.time_ns()}")
    control.launch()

    assert control.await_end(60) == 1
    assert "error: " in control.log_file.read_text()


def test_tokens_are_read_again_while_it_runs(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with ControlProcess(tmp_path, kafka.bootstrap, f"__state-{time.time_ns()}") as control:
        assert control.ask("GET", "/v1/namespaces", admin="bob").status == 200
        (tmp_path / "bob.token").write_text("another-" + "x" * 40)
        control.hang_up()

        ends = time.monotonic() + 30
        while control.ask("GET", "/v1/namespaces", admin="bob").status != 401:
            assert time.monotonic() < ends, "the old token is still taken"
            time.sleep(0.05)
        assert control.ask("GET", "/v1/namespaces").status == 200
        headers = {"Authorization": "Bearer another-" + "x" * 40}
        assert control.ask("GET", "/v1/namespaces", admin=None, headers=headers).status == 200
