"""OAUTHBEARER towards a real broker, with tokens of a real provider that hold for five seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.brokers.secure_kafka import SecureKafka
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    PRODUCE_BY_NAME,
    produce,
    produce_request,
    records_of,
    recreate_topic,
)
from support.clients.record_batches import build_batch
from support.gateways.secured_gateway import SecuredGateway, StartSecured
from support.identity.oidc_server import EXPIRY_S, OidcServer
from support.physical_names import physical_name, prefix_of

ISSUER = "brief"
CLIENT_SECRET = "a+client/secret="
_MODULE = "org.apache.kafka.common.security.oauthbearer"


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcServer]:
    with OidcServer() as server:
        yield server


@pytest.fixture(scope="module")
def secure_kafka(provider: OidcServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """A broker that takes this provider's tokens, and no token longer than it holds."""
    at = "listener.name.oauth"
    properties = {
        f"{at}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{at}.oauthbearer.sasl.jaas.config": f"{_MODULE}.OAuthBearerLoginModule required;",
        f"{at}.oauthbearer.sasl.server.callback.handler.class": f"{_MODULE}.OAuthBearerValidatorCallbackHandler",
        f"{at}.oauthbearer.connections.max.reauth.ms": "60000",
        "sasl.oauthbearer.jwks.endpoint.url": f"{provider.issuer(ISSUER)}/jwks",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": provider.issuer(ISSUER),
        "sasl.oauthbearer.clock.skew.seconds": "0",
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.issuer(ISSUER)}/jwks"
    with SecureKafka(
        tmp_path_factory.mktemp("certificates"),
        listeners={"OAUTH": "SASL_PLAINTEXT"},
        properties=properties,
        java_options=[allowed],
    ) as kafka:
        kafka.allow("alice", prefix_of("acme"))
        with kafka.admin() as admin:
            recreate_topic(admin, physical_name("acme", "orders"))
            recreate_topic(admin, physical_name("globex", "orders"))
        yield kafka


@pytest.fixture
def client_secret(tmp_path: Path) -> Path:
    file = tmp_path / "client.secret"
    file.write_text(CLIENT_SECRET)
    return file


def account(
    provider: OidcServer, client_secret: Path, client_id: str, issuer: str = ISSUER
) -> dict[str, Any]:
    return {
        "mechanism": "OAUTHBEARER",
        "token_endpoint_url": provider.token_url(issuer),
        "client_id": client_id,
        "client_secret_file": str(client_secret),
        "scope": "kafka",
    }


def security(sasl: dict[str, Any]) -> dict[str, Any]:
    return {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}


def test_a_token_is_asked_for_and_names_the_account(
    start_secured: StartSecured, provider: OidcServer, client_secret: Path
) -> None:
    of_gateway = security(account(provider, client_secret, "gateway"))
    of_tenants = {
        "acme": account(provider, client_secret, "alice"),
        "globex": account(provider, client_secret, "unknown"),
    }
    gateway = start_secured("OAUTH", of_gateway, accounts=of_tenants)

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"by token"]) >= 0
        assert b"by token" in records_of(client, "orders")
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        response = client.request(produce_request("orders", build_batch([b"x"])), PRODUCE_BY_NAME)
        (topic,) = response.responses
        assert topic.partition_responses[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    check_no_secret(gateway)


def check_no_secret(gateway: SecuredGateway) -> None:
    assert CLIENT_SECRET not in gateway.log()
    assert "eyJ" not in gateway.log(), "how every JWT begins"


@pytest.mark.timeout(120)
def test_a_connection_outlives_its_tokens(
    start_secured: StartSecured, provider: OidcServer, client_secret: Path
) -> None:
    gateway = start_secured("OAUTH", security(account(provider, client_secret, "gateway")), log_level="debug")
    written = 0
    ends = time.monotonic() + 3 * EXPIRY_S[ISSUER]

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        while time.monotonic() < ends:
            produce(client, "orders", [b"steady"])
            written += 1
            time.sleep(0.01)

    renewed = [event for event in gateway.events() if event["event"] == "logged_in_again"]
    assert len(renewed) >= 3
    assert written > 100
    assert [event for event in gateway.events() if event["event"] == "refresh_failed"] == []
    check_no_secret(gateway)


def test_a_token_from_a_file_is_read_anew_for_each_login(
    start_secured: StartSecured, provider: OidcServer, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(provider.token("gateway", ISSUER))
    gateway = start_secured("OAUTH", security({"mechanism": "OAUTHBEARER", "token_file": str(file)}))
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"by a file"]) >= 0
    since = gateway.mark()

    time.sleep(EXPIRY_S[ISSUER] + 1)
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client, pytest.raises(EOFError):
        produce(client, "orders", [b"too late"])

    ended = gateway.await_event(since, event="connection_ended", reason="upstream_login_failed")
    assert "the broker refused the token (invalid_token)" in ended["detail"]
    file.write_text(provider.token("gateway", ISSUER))
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"by a new one"]) >= 0
    check_no_secret(gateway)


@pytest.mark.parametrize(
    ("issuer", "changes", "expected"),
    [
        ("other", {}, "the broker refused the token (invalid_token)"),
        (
            ISSUER,
            {"token_endpoint_url": "http://127.0.0.1:1/token"},
            "token endpoint http://127.0.0.1:1/token: ",
        ),
    ],
)
def test_without_a_token_of_the_brokers_issuer_the_gateway_is_not_let_in(
    start_secured: StartSecured,
    provider: OidcServer,
    client_secret: Path,
    issuer: str,
    changes: dict[str, str],
    expected: str,
) -> None:
    sasl = account(provider, client_secret, "gateway", issuer) | changes

    gateway = start_secured("OAUTH", security(sasl), is_ready=False)
    event = gateway.await_event(0, event="upstream_unreachable", timeout_s=20)

    assert expected in event["error"]
    check_no_secret(gateway)
