"""Who is it? SASL/PLAIN in both of its forms, and what is told to whom when it fails. SCRAM: test_scram.py."""

from __future__ import annotations

import time

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ApiVersionsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, produce
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GatewayProcess

ALL = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def _token(username: str, password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{username}\0{password}".encode()


@pytest.mark.parametrize("version", range(3))
def test_right_password_is_let_in(version: int, acme: Endpoint) -> None:
    with RawClient(acme) as client:
        handshake = client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        answer = client.request(SaslAuthenticateRequest(auth_bytes=_token("acme", "acme-pw")), version)

        assert (handshake.error_code, handshake.mechanisms) == (ErrorCode.NONE, ALL)
        assert (answer.error_code, answer.error_message, answer.auth_bytes) == (ErrorCode.NONE, "", b"")
        assert answer.session_lifetime_ms == 0
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []


def test_old_client_sends_its_token_without_a_header(acme: Endpoint, fresh_topic: FreshTopic) -> None:
    """SaslHandshake v0: what follows is the mechanism's own, length and bytes (KIP-43)."""
    fresh_topic("acme", "orders")
    with RawClient(acme) as client:
        assert client.request(SaslHandshakeRequest(mechanism="PLAIN"), 0).error_code == ErrorCode.NONE
        token = _token("acme", "acme-pw")
        client.send_bytes(len(token).to_bytes(4, "big") + token)

        assert client.receive_frame() == b""
        assert produce(client, "orders", [b"from an old client"]) == 0


def test_everything_may_come_in_one_packet(acme: Endpoint) -> None:
    """A client need not wait between handshake, token and its first request."""
    with RawClient(acme) as client:
        sent = [
            client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1),
            client.send(SaslAuthenticateRequest(auth_bytes=_token("acme", "acme-pw")), 2),
            client.send(MetadataRequest(topics=[]), 9),
            client.send(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
        ]

        received = [int.from_bytes(client.receive_frame()[:4], "big") for _ in sent]

    assert received == sent


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (_token("acme", "not-the-password"), "Authentication failed: Invalid username or password"),
        (_token("acme", "globex-pw"), "Authentication failed: Invalid username or password"),
        (_token("unknown-user", "acme-pw"), "Authentication failed: Invalid username or password"),
        (_token("acme", ""), None),
        (_token("", "acme-pw"), None),
        (
            _token("acme", "acme-pw", "globex"),
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"\xff\xfe\0\xff\0\xff", None),
        (b"", None),
        (b"no separators at all", None),
        (b"\0" * 100, None),
    ],
)
@pytest.mark.parametrize("version", range(3))
def test_failure_is_the_protocols_error_and_one_log_line(
    version: int, token: bytes, message: str | None, acme: Endpoint, gateway: GatewayProcess
) -> None:
    with RawClient(acme) as client:
        since = gateway.mark()
        client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)

        answer = client.request(SaslAuthenticateRequest(auth_bytes=token), version)

        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == message or message is None
        assert answer.auth_bytes == b""
        assert client.receives_end()
        gateway.await_event(since, event="connection_ended", peer=client.address)
        about_it = [event for event in gateway.events(since) if client.address in str(event)]
    assert [(event["event"], event["reason"], event["level"]) for event in about_it] == [
        ("connection_ended", "authentication_failed", "warning")
    ]
    for secret in (b"not-the-password", b"globex-pw", b"acme-pw", b"unknown-user"):
        assert secret.decode() not in gateway.log()


def test_end_comes_a_moment_after_the_answer(acme: Endpoint) -> None:
    """As at a broker (connection.failed.authentication.delay.ms): who reads both at once sees only the end."""
    with RawClient(acme) as client:
        assert client.try_to_authenticate("acme", "wrong").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        answered = time.monotonic()

        assert client.receives_end()
        assert 0.05 < time.monotonic() - answered < 2


def test_failure_of_an_old_client_closes_the_connection(acme: Endpoint, gateway: GatewayProcess) -> None:
    with RawClient(acme) as client:
        since = gateway.mark()
        client.request(SaslHandshakeRequest(mechanism="PLAIN"), 0)
        token = _token("acme", "wrong")

        client.send_bytes(len(token).to_bytes(4, "big") + token)

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "authentication_failed"


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-1", "SCRAM-SHA-256-PLUS", "GSSAPI", "", "plain"])
@pytest.mark.parametrize("version", range(2))
def test_other_mechanism_is_told_which_there_are(
    version: int, mechanism: str, acme: Endpoint, gateway: GatewayProcess
) -> None:
    with RawClient(acme) as client:
        since = gateway.mark()

        answer = client.request(SaslHandshakeRequest(mechanism=mechanism), version)

        assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ALL)
        assert client.receives_end()
        gateway.await_event(since, event="connection_ended", peer=client.address)


def test_request_before_authentication_closes(acme: Endpoint, gateway: GatewayProcess) -> None:
    with RawClient(acme) as client:
        since = gateway.mark()
        client.send(MetadataRequest(topics=None), 9)

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "not_authenticated"
    assert "METADATA" in ended["detail"]


def test_token_before_the_handshake_closes(acme: Endpoint, gateway: GatewayProcess) -> None:
    with RawClient(acme) as client:
        since = gateway.mark()
        client.send(SaslAuthenticateRequest(auth_bytes=_token("acme", "acme-pw")), 2)

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "not_authenticated"


def test_versions_may_be_asked_before_authentication(acme: Endpoint) -> None:
    with RawClient(acme) as client:
        for version in range(5):
            request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
            assert client.request(request, version).error_code == ErrorCode.NONE
        client.authenticate("acme", "acme-pw")
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []


def test_credential_decides_the_tenant(acme: Endpoint, globex: Endpoint, fresh_topic: FreshTopic) -> None:
    """Same port, same names, same client: only the credential differs."""
    ids = {tenant: fresh_topic(tenant, "orders") for tenant in ("acme", "globex")}

    seen = {}
    for endpoint in (acme, globex):
        with RawClient.authenticated(endpoint) as client:
            seen[endpoint.username] = metadata_of(client, "orders")[0].topic_id

    assert seen == ids


def test_silence_and_half_a_frame_run_into_the_time_limit(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"authentication_timeout_ms": 500})
    endpoint = gateway.endpoint("acme")
    with (
        RawClient(endpoint) as silent,
        RawClient(endpoint) as half,
        RawClient(endpoint) as handshaken,
        RawClient.authenticated(endpoint) as authenticated,
    ):
        started = time.monotonic()
        half.send_bytes(b"\0\0\1\0\0\3")
        handshaken.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)

        assert [client.receives_end() for client in (silent, half, handshaken)] == [True] * 3
        assert 0.3 < time.monotonic() - started < 5
        for client in (silent, half, handshaken):
            ended = gateway.await_event(0, event="connection_ended", peer=client.address)
            assert ended["reason"] == "authentication_timeout"
        # Who is authenticated may be silent.
        assert authenticated.request(MetadataRequest(topics=[]), 9).brokers != []


def test_drop_by_drop_runs_into_the_time_limit(start_gateway: StartGateway) -> None:
    """The limit is from the connection on, not from the last byte."""
    gateway = start_gateway(limits={"authentication_timeout_ms": 500})
    with RawClient(gateway.endpoint("acme")) as client:
        client.send_bytes(b"\0\0\1\0")
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            _drip(client, for_s=10)
        ended = gateway.await_event(0, event="connection_ended", peer=client.address)
    assert ended["reason"] == "authentication_timeout"


def _drip(client: RawClient, for_s: float) -> None:
    deadline = time.monotonic() + for_s
    while time.monotonic() < deadline:
        client.send_bytes(b"\0")
        time.sleep(0.05)
