"""Every client library with OAUTHBEARER and a real OpenID provider; and those whose tokens last five seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AiokafkaTokenProvider
from confluent_kafka import KafkaError, Producer
from kafka.net.sasl.oauth import AbstractTokenProvider

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.jars.locked_jars import broker_coordinates
from kafka import KafkaProducer
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.clients.round_trips import by_aiokafka, by_confluent, by_java, by_python, first_error
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.oidc_server import OidcServer
from support.java.java_clients import JavaClients, JavaError

pytestmark = pytest.mark.skipif(
    version_under_test() != DEFAULT_VERSION, reason="the broker has no part in it: one version is enough"
)
RUN_S = 21.0
"""More than two lives of a token of ten seconds."""
TENANT = TenantSpec("globex", principals=("alice",))
CALLBACK = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
LOGIN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module")
def oidc() -> Iterator[OidcServer]:
    with OidcServer() as server:
        yield server


def oauth(oidc: OidcServer, issuer: str = "kafka") -> dict[str, Any]:
    """The section of a gateway that trusts an issuer, and finds its keys by asking it."""
    return {"oauth": {"issuer": oidc.issuer(issuer), "audience": ["kafka"], "scope": ["read"]}}


@pytest.fixture(scope="module")
def oauth_gateway(
    kafka: EmbeddedKafka, oidc: OidcServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway that offers OAUTHBEARER alone: no client can fall back on a password."""
    options: dict[str, Any] = {"mechanisms": ["OAUTHBEARER"], "proxy": oauth(oidc), "log_level": "debug"}
    directory = tmp_path_factory.mktemp("oauth-clients")
    with GatewayProcess(directory, kafka.bootstrap, tenants=(TENANT,), **options) as process:
        process.await_event(0, event="jwks_fetched")
        yield process


@pytest.fixture
def bootstrap(oauth_gateway: GatewayProcess, fresh_topic: FreshTopic) -> str:
    """The gateway's address; the tenant has an empty topic `orders`."""
    fresh_topic("globex", "orders")
    return f"{HOST}:{oauth_gateway.bootstrap_port}"


@pytest.fixture
def brief(start_gateway: StartGateway, fresh_topic: FreshTopic, oidc: OidcServer) -> GatewayProcess:
    """A gateway that trusts the issuer of brief tokens, and sets no limit of its own to a session."""
    fresh_topic("globex", "orders")
    gateway = start_gateway(tenants=(TENANT,), proxy=oauth(oidc, "brief"), log_level="debug")
    gateway.await_event(0, event="jwks_fetched")
    return gateway


def seen(gateway: GatewayProcess, event: str, **fields: str) -> list[str]:
    """The clients' addresses in all events of this name."""
    return [
        one["peer"] for one in gateway.events() if one["event"] == event and fields.items() <= one.items()
    ]


# -- librdkafka


def with_oidc(bootstrap: str, oidc: OidcServer, issuer: str = "kafka", scope: str = "read") -> dict[str, Any]:
    """librdkafka fetches tokens itself."""
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "alice",
        "sasl.oauthbearer.client.secret": "secret",
        "sasl.oauthbearer.scope": scope,
        "sasl.oauthbearer.token.endpoint.url": oidc.token_url(issuer),
        "log_level": 0,
    }


def with_callback(bootstrap: str, oidc: OidcServer, lifetime_s: float = 120) -> dict[str, Any]:
    """The program gives the token."""
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _config: (oidc.token("alice"), time.time() + lifetime_s),
        "log_level": 0,
    }


@pytest.mark.parametrize("settings", [with_oidc, with_callback])
def test_librdkafka(bootstrap: str, oidc: OidcServer, settings: Any) -> None:
    assert by_confluent(settings(bootstrap, oidc), b"from librdkafka") == [b"from librdkafka"]


@pytest.mark.parametrize(
    ("issuer", "scope", "told"),
    [("other", "read", "invalid_token"), ("kafka", "write", "insufficient_scope")],
)
def test_librdkafka_with_a_token_that_is_not_good(
    bootstrap: str, oidc: OidcServer, issuer: str, scope: str, told: str
) -> None:
    error = first_error(with_oidc(bootstrap, oidc, issuer, scope))

    assert error.code() == KafkaError._AUTHENTICATION
    assert told in error.str()


def test_librdkafka_that_refreshes_outlives_its_tokens(brief: GatewayProcess, oidc: OidcServer) -> None:
    failures: list[str] = []
    settings = with_oidc(f"{HOST}:{brief.bootstrap_port}", oidc, "brief") | {"linger.ms": 0}
    producer = Producer(settings | {"error_cb": lambda error: failures.append(str(error))})
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        producer.produce(
            "orders", b"record", on_delivery=lambda error, _: error and failures.append(str(error))
        )
        assert producer.flush(10) == 0
        time.sleep(0.1)

    assert failures == []
    assert len(seen(brief, "authenticated_again")) >= 2
    assert seen(brief, "connection_ended", reason="session_expired") == []


# -- Java


@pytest.fixture(scope="module")
def java(oidc: OidcServer) -> Iterator[JavaClients]:
    """Java clients that may ask the provider, each URL of it; they need jose4j and Jackson, as a broker does."""
    urls = ",".join(oidc.token_url(issuer) for issuer in ("kafka", "other", "brief"))
    with pytest.MonkeyPatch.context() as patch:
        option = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={urls}"
        patch.setenv("JAVA_TOOL_OPTIONS", option)
        with JavaClients(DEFAULT_VERSION, coordinates=broker_coordinates(DEFAULT_VERSION)) as clients:
            yield clients


def java_options(oidc: OidcServer, issuer: str = "kafka") -> dict[str, str]:
    jaas = (
        f'{LOGIN_MODULE} required clientId="alice" clientSecret="secret" scope="read" extension_cluster="x";'
    )
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_jaas_config": jaas,
        "sasl_login_callback_handler_class": CALLBACK,
        "sasl_oauthbearer_token_endpoint_url": oidc.token_url(issuer),
        # Or no token is refreshed that lasts less than six minutes.
        "sasl_login_refresh_min_period_seconds": "1",
        "sasl_login_refresh_buffer_seconds": "1",
    }


def endpoint(gateway: GatewayProcess) -> Endpoint:
    return Endpoint(HOST, gateway.bootstrap_port)


def test_java(
    java: JavaClients, oauth_gateway: GatewayProcess, oidc: OidcServer, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", "orders")

    assert by_java(java, endpoint(oauth_gateway), "from Java", **java_options(oidc)) == ["from Java"]


def test_java_with_a_token_of_another_issuer(
    java: JavaClients, oauth_gateway: GatewayProcess, oidc: OidcServer
) -> None:
    producer = java.producer(endpoint(oauth_gateway), **java_options(oidc, "other"))

    with pytest.raises(JavaError) as caught:
        java("send", producer, "orders", ["from Java"])

    assert caught.value.name == "SaslAuthenticationException"
    assert '{"status":"invalid_token"}' in str(caught.value)
    java("close", producer)


def test_java_that_refreshes_outlives_its_tokens(
    java: JavaClients, brief: GatewayProcess, oidc: OidcServer
) -> None:
    producer = java.producer(endpoint(brief), **java_options(oidc, "brief"))
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        java("send", producer, "orders", ["record"])
        time.sleep(0.1)

    assert java("metric", producer, "successful-reauthentication-total") >= 2
    assert java("metric", producer, "failed-reauthentication-total") == 0
    assert seen(brief, "connection_ended", reason="session_expired") == []
    java("close", producer)


# -- kafka-python and aiokafka


class Provider(AbstractTokenProvider):
    """Gives a new token each time, as providers that refresh do."""

    def __init__(self, oidc: OidcServer, issuer: str = "kafka") -> None:
        self._oidc, self._issuer = oidc, issuer

    def token(self) -> str:
        return self._oidc.token("alice", self._issuer)

    def extensions(self) -> dict[str, str]:
        return {"cluster": "x"}


class AsyncProvider(AiokafkaTokenProvider):
    """The same, for aiokafka; `keeps` gives the first token for ever."""

    def __init__(self, oidc: OidcServer, issuer: str = "kafka") -> None:
        self._oidc, self._issuer = oidc, issuer

    async def token(self) -> str:
        return await asyncio.to_thread(self._oidc.token, "alice", self._issuer)


def for_python(bootstrap: str, provider: object) -> dict[str, Any]:
    return {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
    }


def test_kafka_python(bootstrap: str, oidc: OidcServer) -> None:
    assert by_python(for_python(bootstrap, Provider(oidc)), b"from kafka-python") == b"from kafka-python"


def test_kafka_python_that_refreshes_outlives_its_tokens(brief: GatewayProcess, oidc: OidcServer) -> None:
    producer = KafkaProducer(**for_python(f"{HOST}:{brief.bootstrap_port}", Provider(oidc, "brief")))
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        producer.send("orders", b"record").get(timeout=10)
        time.sleep(0.1)
    producer.close()

    assert len(seen(brief, "authenticated_again")) >= 2
    assert seen(brief, "connection_ended", reason="session_expired") == []


def test_aiokafka(bootstrap: str, oidc: OidcServer) -> None:
    assert by_aiokafka(for_python(bootstrap, AsyncProvider(oidc)), b"from aiokafka") == b"from aiokafka"


def test_aiokafka_does_not_renew_and_comes_back(brief: GatewayProcess, oidc: OidcServer) -> None:
    async def play() -> int:
        sent = 0
        settings = for_python(f"{HOST}:{brief.bootstrap_port}", AsyncProvider(oidc, "brief"))
        async with AIOKafkaProducer(**settings, enable_idempotence=True) as producer:
            end = time.monotonic() + RUN_S
            while time.monotonic() < end:
                await producer.send_and_wait("orders", b"record")
                sent += 1
                await asyncio.sleep(0.1)
        return sent

    assert asyncio.run(play()) > 20
    assert seen(brief, "connection_ended", reason="session_expired") != []


def test_no_token_is_in_any_log(oauth_gateway: GatewayProcess, tmp_path: Path) -> None:
    """The log of the gateway that all these clients used, at its most talkative."""
    assert len(seen(oauth_gateway, "authenticated")) >= 1
    assert "eyJ" not in oauth_gateway.log()
