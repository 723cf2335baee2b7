"""OAUTHBEARER against a running gateway: whose tokens are taken, and for how long."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.issuer import ISSUER, Issuer, client_first, encoded
from support.identity.key_server import KeyServer, write_certificate
from support.identity.oidc_server import OidcServer

pytestmark = pytest.mark.skipif(
    version_under_test() != DEFAULT_VERSION, reason="the broker has no part in it: one version is enough"
)
FIRST, SECOND = Issuer(), Issuer(number=2)
TENANTS = (TenantSpec("acme", principals=("bob",)), TenantSpec("globex", principals=("alice",)))


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    with KeyServer(FIRST) as server:
        yield server


def settings(server: KeyServer, **more: Any) -> dict[str, Any]:
    """What a gateway is told that trusts the tests' own issuer."""
    oauth = {"issuer": ISSUER, "jwks_url": server.url, "audience": ["kafka"], **more}
    return {"tenants": TENANTS, "proxy": {"oauth": oauth}, "log_level": "debug"}


@pytest.fixture(scope="module")
def oauth_gateway(
    kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[GatewayProcess, KeyServer]]:
    directory = tmp_path_factory.mktemp("oauth")
    with (
        KeyServer(FIRST) as server,
        GatewayProcess(
            directory, kafka.bootstrap, has_admin=True, **settings(server, scope=["read"])
        ) as process,
    ):
        process.await_event(0, event="jwks_fetched")
        yield process, server


@pytest.fixture
def gateway(oauth_gateway: tuple[GatewayProcess, KeyServer]) -> GatewayProcess:
    return oauth_gateway[0]


def connect(gateway: GatewayProcess) -> RawClient:
    return RawClient(Endpoint(HOST, gateway.bootstrap_port))


def show(client: RawClient, token: str) -> Any:
    """Show a token, and return the answer to it."""
    answer = client.request(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
    assert answer.error_code == ErrorCode.NONE
    return client.request(SaslAuthenticateRequest(auth_bytes=client_first(token)), 2)


def outcome(gateway: GatewayProcess, token: str) -> str:
    """What comes of a token: `good`, or what the client is told after the round that a refusal takes."""
    with connect(gateway) as client:
        answer = show(client, token)
        assert answer.error_code == ErrorCode.NONE
        if not answer.auth_bytes:
            return "good"
        told = answer.auth_bytes.decode()
        failure = client.request(SaslAuthenticateRequest(auth_bytes=b"\1"), 2)
        assert failure.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert failure.error_message == told
        assert client.receives_end()
        return str(told)


def good(issuer: Issuer = FIRST, **claims: Any) -> str:
    return issuer.token(time.time(), **{"scope": "read", **claims})


REFUSED = '{"status":"invalid_token"}'


def test_a_good_token_opens_its_tenants_namespace(gateway: GatewayProcess, fresh_topic: FreshTopic) -> None:
    fresh_topic("globex", "of-alice")
    fresh_topic("acme", "of-bob")
    seen = {}
    for name in ("alice", "bob"):
        with connect(gateway) as client:
            answer = show(client, good(sub=name))
            assert 295_000 < answer.session_lifetime_ms <= 300_000
            topics = client.request(MetadataRequest(topics=None), 9).topics
            seen[name] = {topic.name for topic in topics}

    assert "of-alice" in seen["alice"] - seen["bob"]
    assert "of-bob" in seen["bob"] - seen["alice"]


def tampered(token: str) -> str:
    head, _, signature = token.split(".")
    now_s = int(time.time())
    claims = {"iss": ISSUER, "aud": "kafka", "sub": "bob", "scope": "read", "iat": now_s, "exp": now_s + 300}
    return f"{head}.{encoded(claims)}.{signature}"


def unsigned(token: str) -> str:
    return f"{encoded({'alg': 'none', 'kid': FIRST.key_id})}.{token.split('.')[1]}."


def signed_by_the_public_key(token: str) -> str:
    public = FIRST.private_key.public_key()
    secret = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    signed = f"{encoded({'alg': 'HS256', 'kid': FIRST.key_id})}.{token.split('.')[1]}"
    digest = hmac.digest(secret, signed.encode(), hashlib.sha256)
    return f"{signed}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


@pytest.mark.parametrize(
    ("claims", "detail"),
    [
        ({"iss": f"{ISSUER}/other"}, "another issuer"),
        ({"aud": "another"}, "another audience"),
        ({"exp": int(time.time()) - 60}, "has expired"),
        ({"iat": int(time.time()) + 86_400}, "issued in the future"),
        ({"nbf": int(time.time()) + 86_400}, "not good yet"),
        ({"sub": "mallory"}, "belongs to no tenant"),
    ],
)
def test_a_claim_that_is_wrong_is_refused(
    gateway: GatewayProcess, claims: dict[str, Any], detail: str
) -> None:
    since = gateway.mark()

    assert outcome(gateway, good(**claims)) == REFUSED

    ended = gateway.await_event(since, event="connection_ended", reason="authentication_failed")
    assert detail in ended["detail"]


@pytest.mark.parametrize("forge", [tampered, unsigned, signed_by_the_public_key])
def test_a_forged_token_is_refused(gateway: GatewayProcess, forge: Any) -> None:
    assert outcome(gateway, good()) == "good"

    assert outcome(gateway, forge(good())) == REFUSED


def test_a_missing_scope_is_told(gateway: GatewayProcess) -> None:
    assert outcome(gateway, good(scope="write")) == '{"status":"insufficient_scope", "scope":"read"}'


def test_outcomes_are_counted_by_mechanism(gateway: GatewayProcess) -> None:
    def counted(labels: str) -> float:
        page = (
            urllib.request.urlopen(f"http://{HOST}:{gateway.admin_port}/metrics", timeout=10).read().decode()
        )
        lines = [line for line in page.splitlines() if line.startswith("kafka_proxy_authentications_total")]
        return sum(float(line.rpartition(" ")[2]) for line in lines if labels in line)

    failures = counted('mechanism="OAUTHBEARER",outcome="failure"')
    successes = counted('mechanism="OAUTHBEARER",outcome="success"')

    outcome(gateway, good())
    outcome(gateway, good(aud="another"))

    assert counted('mechanism="OAUTHBEARER",outcome="failure"') == failures + 1
    assert counted('mechanism="OAUTHBEARER",outcome="success"') == successes + 1


def test_no_token_is_in_the_log(gateway: GatewayProcess) -> None:
    token = good(aud="another")

    outcome(gateway, token)

    assert not any(part in gateway.log() for part in token.split("."))


def test_a_session_ends_with_its_token(gateway: GatewayProcess) -> None:
    with connect(gateway) as client:
        answer = show(client, good(exp=int(time.time()) + 3))
        assert 0 < answer.session_lifetime_ms <= 3_000
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
        time.sleep(3.1)

        client.send(MetadataRequest(topics=[]), 9)

        assert client.receives_end()
        ended = gateway.await_event(0, event="connection_ended", peer=client.address)
    assert ended["reason"] == "session_expired"


def test_a_new_token_on_the_same_connection_renews_it(gateway: GatewayProcess) -> None:
    with connect(gateway) as client:
        for _ in range(3):
            show(client, good(exp=int(time.time()) + 3))
            time.sleep(1.5)
            assert client.request(MetadataRequest(topics=[]), 9).brokers != []

        answer = show(client, good(sub="bob"))

        assert answer.error_message == (
            "Cannot change principals during re-authentication from User.alice: User.bob"
        )
        assert client.receives_end()


def test_a_new_key_is_fetched_when_the_first_token_comes_that_needs_it(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    gateway = start_gateway(**settings(key_server, jwks_unknown_key_refresh_ms="1s"))
    gateway.await_event(0, event="jwks_fetched")
    assert outcome(gateway, good()) == "good"
    time.sleep(1.0)
    key_server.issuers, key_server.delay_s = (FIRST, SECOND), 0.5

    with connect(gateway) as waiting:
        waiting.send(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        waiting.send(SaslAuthenticateRequest(auth_bytes=client_first(good(SECOND))), 2)
        assert outcome(gateway, good(SECOND)) == "good"
        assert outcome(gateway, good()) == "good"
        waiting.receive_frame()
        assert b"invalid_token" not in waiting.receive_frame()

    assert key_server.asked == 2


def test_names_of_unknown_keys_do_not_make_the_gateway_ask(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    gateway = start_gateway(**settings(key_server, jwks_unknown_key_refresh_ms="1min"))
    gateway.await_event(0, event="jwks_fetched")

    for number in range(20):
        token = FIRST.token(time.time(), headers={"kid": f"garbage-{number}"})
        assert outcome(gateway, token) == REFUSED

    assert key_server.asked == 1


def test_a_key_that_is_withdrawn_serves_no_more(start_gateway: StartGateway, key_server: KeyServer) -> None:
    gateway = start_gateway(**settings(key_server, jwks_refresh_ms="1s"))
    gateway.await_event(0, event="jwks_fetched")
    assert outcome(gateway, good()) == "good"

    key_server.issuers = (SECOND,)
    time.sleep(1.5)

    assert outcome(gateway, good()) == REFUSED
    assert outcome(gateway, good(SECOND)) == "good"


def test_a_gateway_starts_without_its_issuer_and_takes_tokens_when_that_is_back(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    key_server.close()
    gateway = start_gateway(**settings(key_server))
    failed = gateway.await_event(0, event="jwks_failed")
    assert failed["error"] == f"{key_server.url}: Connection refused"
    assert outcome(gateway, good()) == '{"status":"temporarily_unavailable"}'

    key_server.open()
    gateway.await_event(0, event="jwks_fetched", timeout_s=15)

    assert outcome(gateway, good()) == "good"


def test_keys_come_by_https_from_who_is_vouched_for(start_gateway: StartGateway, tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "keys.pem")
    with KeyServer(FIRST, certificate=certificate) as server:
        wary = start_gateway(**settings(server))
        failed = wary.await_event(0, event="jwks_failed")
        assert failed["error"] == f"{server.url}: the certificate is not trusted: self-signed certificate"
        assert outcome(wary, good()) == '{"status":"temporarily_unavailable"}'

        gateway = start_gateway(**settings(server, ca_file=str(certificate)))
        gateway.await_event(0, event="jwks_fetched")
        assert outcome(gateway, good()) == "good"


def test_a_claim_names_the_tenant_of_any_principal(
    start_gateway: StartGateway, key_server: KeyServer, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "of-acme")
    gateway = start_gateway(**settings(key_server, namespace_claim="tenant"))
    gateway.await_event(0, event="jwks_fetched")

    with connect(gateway) as client:
        show(client, good(sub="another", tenant="acme"))
        topics = client.request(MetadataRequest(topics=None), 9).topics

    assert "of-acme" in {topic.name for topic in topics}
    assert outcome(gateway, good(tenant="initech")) == REFUSED
    assert outcome(gateway, good(sub="alice")) == REFUSED


def reload(gateway: GatewayProcess, change: Callable[[dict[str, Any]], None]) -> None:
    """Let a gateway go on with another configuration."""
    path = gateway.directory / "proxy.yaml"
    configuration = yaml.safe_load(path.read_text())
    change(configuration)
    path.write_text(yaml.safe_dump(configuration))
    since = gateway.mark()
    os.kill(gateway.pid, signal.SIGHUP)
    assert gateway.await_event(since, event="reloaded")["outcome"] == "applied"


def with_namespace(configuration: dict[str, Any]) -> None:
    """Let the first tenant have a namespace."""
    configuration["tenants"][0]["namespaces"] = ["eu"]


def show_refused(gateway: GatewayProcess, token: str) -> str | None:
    """Show a token that is refused, and return the text of the answer."""
    with connect(gateway) as client:
        answer = show(client, token)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    text: str | None = answer.error_message
    return text


def test_a_reload_leaves_sessions_and_keys_as_they_are(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    gateway = start_gateway(adjust=with_namespace, **settings(key_server, namespace_claim="tenant"))
    gateway.await_event(0, event="jwks_fetched")
    with connect(gateway) as client, connect(gateway) as other:
        show(client, good(tenant="acme:eu"))
        show(other, good(tenant="globex"))

        reload(gateway, lambda configuration: configuration["tenants"].pop())

        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
        other.send(MetadataRequest(topics=[]), 9)
        assert other.receives_end()
    assert key_server.asked == 1
    assert outcome(gateway, good(tenant="globex")) == REFUSED


def test_a_reload_ends_the_sessions_of_a_namespace_that_is_gone(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    gateway = start_gateway(adjust=with_namespace, **settings(key_server, namespace_claim="tenant"))
    gateway.await_event(0, event="jwks_fetched")
    with connect(gateway) as client, connect(gateway) as whole:
        show(client, good(tenant="acme:eu"))
        show(whole, good(tenant="acme"))

        reload(gateway, lambda configuration: configuration["tenants"][0].pop("namespaces"))

        assert client.receives_end()
        assert whole.request(MetadataRequest(topics=[]), 9).brokers != []
    answer = show_refused(gateway, good(tenant="acme:eu"))
    assert answer == "InvalidNamespace: namespace acme:eu does not exist"


def test_another_issuer_counts_from_the_reload_on(start_gateway: StartGateway, key_server: KeyServer) -> None:
    gateway = start_gateway(**settings(key_server))
    gateway.await_event(0, event="jwks_fetched")
    since = gateway.mark()

    reload(gateway, lambda configuration: configuration["proxy"]["oauth"].update(audience=["other"]))

    gateway.await_event(since, event="jwks_fetched")
    assert outcome(gateway, good()) == REFUSED
    assert outcome(gateway, good(aud="other")) == "good"


def test_where_one_tenant_comes_in_the_others_tokens_are_refused(
    start_gateway: StartGateway, key_server: KeyServer
) -> None:
    gateway = start_gateway(listener={"tenant": "acme"}, **settings(key_server))
    gateway.await_event(0, event="jwks_fetched")

    assert outcome(gateway, good(sub="bob")) == "good"
    assert outcome(gateway, good(sub="alice")) == REFUSED


@pytest.fixture(scope="module")
def oidc() -> Iterator[OidcServer]:
    with OidcServer() as server:
        yield server


def test_a_real_provider_is_asked_for_its_keys(start_gateway: StartGateway, oidc: OidcServer) -> None:
    oauth = {"issuer": oidc.issuer(), "audience": ["kafka"]}
    gateway = start_gateway(tenants=TENANTS, proxy={"oauth": oauth})
    gateway.await_event(0, event="jwks_fetched")

    assert outcome(gateway, oidc.token("alice")) == "good"
    assert outcome(gateway, oidc.token("mallory")) == REFUSED
    assert outcome(gateway, oidc.token("alice", "other")) == REFUSED
