"""SCRAM at a real gateway, said byte by byte: what is told to whom, and what guessing costs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce
from support.clients.scram_client import ScramClient
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GatewayProcess, TenantSpec

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SALTED = TenantSpec("salted", is_salted=True)
PLAIN = TenantSpec("acme")


@pytest.fixture(scope="module")
def scram_gateway(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway with a user of each kind."""
    with GatewayProcess(
        tmp_path_factory.mktemp("scram"), kafka.bootstrap, tenants=(PLAIN, SALTED)
    ) as process:
        yield process


def say(client: RawClient, scram: ScramClient, mechanism: str, version: int = 2) -> tuple[bytes, object]:
    """Authenticate; return the server's first message and the last response."""
    handshake = client.request(SaslHandshakeRequest(mechanism=mechanism), 1)
    assert handshake.error_code == ErrorCode.NONE
    first = client.request(SaslAuthenticateRequest(auth_bytes=scram.first()), version)
    assert first.error_code == ErrorCode.NONE
    final = scram.final(first.auth_bytes)
    return first.auth_bytes, client.request(SaslAuthenticateRequest(auth_bytes=final), version)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("tenant", ["acme", "salted"])
@pytest.mark.parametrize("version", range(3))
def test_both_sides_prove_that_they_know(
    scram_gateway: GatewayProcess, mechanism: str, tenant: str, version: int
) -> None:
    with RawClient(scram_gateway.endpoint(tenant)) as client:
        scram = ScramClient(mechanism, tenant, f"{tenant}-pw")

        first, last = say(client, scram, mechanism, version)

        assert first.endswith(b",i=8192" if tenant == "salted" else b",i=4096")
        assert scram.trusts(last.auth_bytes)  # type: ignore[attr-defined]
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []


def test_old_client_sends_both_tokens_without_a_header(
    scram_gateway: GatewayProcess, fresh_topic: FreshTopic
) -> None:
    fresh_topic("salted", "orders")
    with RawClient(scram_gateway.broker_endpoint("salted")) as client:
        client.request(SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 0)
        scram = ScramClient("SCRAM-SHA-512", "salted", "salted-pw")
        token = scram.first()
        client.send_bytes(len(token).to_bytes(4, "big") + token)
        token = scram.final(client.receive_frame())
        client.send_bytes(len(token).to_bytes(4, "big") + token)

        assert scram.trusts(client.receive_frame())
        assert produce(client, "orders", [b"from an old client"]) == 0


def test_a_verifier_is_enough_for_plain(scram_gateway: GatewayProcess) -> None:
    endpoint = scram_gateway.endpoint("salted")
    with RawClient.authenticated(endpoint) as client:
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
    with RawClient(endpoint) as client:
        assert (
            client.try_to_authenticate("salted", "guess").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("username", "password"), [("salted", "guess"), ("unknown", "salted-pw")])
def test_failure_is_told_alike_and_logged_without_secrets(
    scram_gateway: GatewayProcess, mechanism: str, username: str, password: str
) -> None:
    with RawClient(scram_gateway.endpoint("salted")) as client:
        since = scram_gateway.mark()
        scram = ScramClient(mechanism, username, password, nonce="a-nonce-to-be-found")

        _, last = say(client, scram, mechanism)

        assert (last.error_code, last.error_message, last.auth_bytes) == (  # type: ignore[attr-defined]
            ErrorCode.SASL_AUTHENTICATION_FAILED,
            f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}",
            b"",
        )
        assert client.receives_end()
        ended = scram_gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "authentication_failed"
    for secret in (password, "salted-pw", "a-nonce-to-be-found", "stored_key", "unknown"):
        assert secret not in scram_gateway.log()


def test_no_client_can_ask_which_users_there_are(scram_gateway: GatewayProcess) -> None:
    """Known and unknown names get messages of the same shape, an unknown one's salt stays, and the end is the same."""

    def seen(username: str) -> tuple[list[tuple[str, int]], bytes, object]:
        with RawClient(scram_gateway.endpoint("acme")) as client:
            scram = ScramClient("SCRAM-SHA-512", username, "guess")
            first, last = say(client, scram, "SCRAM-SHA-512")
            parts = [part.partition("=")[::2] for part in first.decode().split(",")]
            shape = [(key, len(value)) for key, value in parts]
            return shape, parts[1][1], (last.error_code, last.error_message, client.receives_end())  # type: ignore[attr-defined]

    known = [seen(name) for name in ("acme", "salted")]
    unknown = [seen(name) for name in ("acmf", "root", "x" * 256)]
    again = [seen(name) for name in ("acmf", "root", "x" * 256)]

    assert len({str(shape) for shape, _, _ in known + unknown}) == 1
    assert len({end for _, _, end in known + unknown}) == 1
    assert [salt for _, salt, _ in unknown] == [salt for _, salt, _ in again]
    assert len({salt for _, salt, _ in known + unknown}) == 5


def test_a_listener_set_offers_what_it_is_told(start_gateway: StartGateway) -> None:
    gateway = start_gateway(mechanisms=["SCRAM-SHA-512"], tenants=(PLAIN, SALTED))
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        with RawClient(gateway.endpoint("acme")) as client:
            answer = client.request(SaslHandshakeRequest(mechanism=mechanism), 1)
            assert (answer.error_code, answer.mechanisms) == (
                ErrorCode.UNSUPPORTED_SASL_MECHANISM,
                ["SCRAM-SHA-512"],
            )
    with RawClient(gateway.endpoint("acme")) as client:
        scram = ScramClient("SCRAM-SHA-512", "acme", "acme-pw")
        assert scram.trusts(say(client, scram, "SCRAM-SHA-512")[1].auth_bytes)  # type: ignore[attr-defined]


def _time_to_try(endpoint: Endpoint, password: str) -> float:
    started = time.monotonic()
    with RawClient(endpoint) as client:
        client.try_to_authenticate("acme", password)
    return time.monotonic() - started


def test_guessing_gets_slower_up_to_the_limit_and_right_passwords_wait_alike(
    start_gateway: StartGateway,
) -> None:
    gateway = start_gateway(limits={"max_authentication_delay_ms": 400})
    endpoint = gateway.endpoint("acme")

    times = [_time_to_try(endpoint, "guess") for _ in range(6)]

    for took, delay in zip(times, (0, 0.1, 0.2, 0.4, 0.4, 0.4), strict=True):
        assert delay <= took < delay + 0.3, times
    assert 0.4 <= _time_to_try(endpoint, "acme-pw") < 0.8


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("password", ["salted-pw", "guess"])
def test_a_password_is_checked_against_verifiers(
    scram_gateway: GatewayProcess, version: int, password: str
) -> None:
    token = b"\0salted\0" + password.encode()
    with RawClient(scram_gateway.endpoint("salted")) as client:
        client.request(SaslHandshakeRequest(mechanism="PLAIN"), version)
        if version == 0:
            client.send_bytes(len(token).to_bytes(4, "big") + token)
            if password == "guess":
                assert client.socket.recv(1) == b""
                return
            assert client.receive_frame() == b""
        else:
            answer = client.request(SaslAuthenticateRequest(auth_bytes=token), 2)
            is_wrong = password == "guess"
            assert (answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED) == is_wrong
            if is_wrong:
                return
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
