"""GSSAPI with a real key distribution center: kafka-python, Java, and who has no ticket that is good here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaError

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kafka import KafkaConsumer
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.round_trips import by_java, by_python
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.java.java_clients import JavaClients, JavaError
from support.kerberos.kdc import REALM, Kdc, what_is_missing
from support.skips.optional_parts import KERBEROS, lacks

MISSING = what_is_missing()
pytestmark = [
    pytest.mark.skipif(MISSING is not None, reason=lacks(KERBEROS, str(MISSING))),
    pytest.mark.skipif(
        version_under_test() != DEFAULT_VERSION, reason="the broker has no part in it: one version is enough"
    ),
]
TENANTS = (TenantSpec("acme"), TenantSpec("globex", principals=("alice", "batch-jobs")))
RULES = ["RULE:[2:$1-$2](batch-.*)", "DEFAULT"]
TEXT = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"


@pytest.fixture(scope="module")
def kdc() -> Iterator[Kdc]:
    """A realm with three users; this process and its children belong to it."""
    with Kdc("alice", "mallory", "batch/jobs") as center, pytest.MonkeyPatch.context() as patch:
        for name, value in center.environment.items():
            patch.setenv(name, value)
        yield center


def kerberos(kdc: Kdc, **more: Any) -> dict[str, Any]:
    section = {"keytab_file": str(kdc.keytab("kafka")), "realm": REALM, "principal_to_local_rules": RULES}
    return {"kerberos": {**section, **more}}


@pytest.fixture(scope="module")
def gssapi_gateway(
    kafka: EmbeddedKafka, kdc: Kdc, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    options: dict[str, Any] = {"mechanisms": ["GSSAPI"], "proxy": kerberos(kdc), "log_level": "debug"}
    directory = tmp_path_factory.mktemp("gssapi")
    with GatewayProcess(directory, kafka.bootstrap, tenants=TENANTS, **options) as process:
        yield process


@pytest.fixture
def bootstrap(gssapi_gateway: GatewayProcess, fresh_topic: FreshTopic) -> str:
    fresh_topic("globex", "orders")
    return f"{HOST}:{gssapi_gateway.bootstrap_port}"


def for_python(bootstrap: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
        "sasl_kerberos_domain_name": "localhost",
    }


@pytest.mark.parametrize("user", ["alice", "batch/jobs"])
def test_kafka_python(kdc: Kdc, gssapi_gateway: GatewayProcess, bootstrap: str, user: str) -> None:
    kdc.log_in(user)
    since = gssapi_gateway.mark()
    assert by_python(for_python(bootstrap), b"from kafka-python") == b"from kafka-python"

    name = user.replace("/", "-")
    assert gssapi_gateway.await_event(since, event="authenticated")["principal"] == f"User:{name}"


def test_kafka_python_as_a_principal_of_no_tenant(
    kdc: Kdc, gssapi_gateway: GatewayProcess, bootstrap: str
) -> None:
    kdc.log_in("mallory")
    since = gssapi_gateway.mark()

    with pytest.raises(KafkaError):
        KafkaConsumer("orders", **for_python(bootstrap), bootstrap_timeout_ms=3_000)

    ended = gssapi_gateway.await_event(since, event="connection_ended", reason="authentication_failed")
    assert ended["detail"] == (
        f"the principal 'mallory@{REALM}' is 'mallory' here, which belongs to no tenant"
    )


# -- Java


@pytest.fixture(scope="module")
def java(kdc: Kdc) -> Iterator[JavaClients]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={kdc.krb5_conf}")
        with JavaClients(DEFAULT_VERSION) as clients:
            yield clients


def java_options(kdc: Kdc, user: str) -> dict[str, str]:
    module = "com.sun.security.auth.module.Krb5LoginModule"
    keys = f'useKeyTab=true storeKey=true keyTab="{kdc.keytab(user)}" principal="{user}@{REALM}"'
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
        "sasl_jaas_config": f"{module} required {keys};",
    }


def endpoint(gateway: GatewayProcess) -> Endpoint:
    return Endpoint(HOST, gateway.bootstrap_port)


@pytest.mark.usefixtures("bootstrap")
def test_java(java: JavaClients, kdc: Kdc, gssapi_gateway: GatewayProcess) -> None:
    records = by_java(java, endpoint(gssapi_gateway), "from Java", **java_options(kdc, "alice"))

    assert records == ["from Java"]


def test_java_as_a_principal_of_no_tenant(
    java: JavaClients, kdc: Kdc, gssapi_gateway: GatewayProcess
) -> None:
    producer = java.producer(endpoint(gssapi_gateway), **java_options(kdc, "mallory"))

    with pytest.raises(JavaError) as caught:
        java("send", producer, "orders", ["from Java"])

    assert caught.value.name == "SaslAuthenticationException"
    java("close", producer)


def test_java_authenticates_again(
    java: JavaClients, kdc: Kdc, start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", "orders")
    limits = {"max_reauth_ms": 2_000}
    gateway = start_gateway(tenants=TENANTS, proxy=kerberos(kdc), limits=limits, log_level="debug")
    producer = java.producer(endpoint(gateway), **java_options(kdc, "alice"))
    end = time.monotonic() + 6
    while time.monotonic() < end:
        java("send", producer, "orders", ["record"])
        time.sleep(0.1)

    assert java("metric", producer, "successful-reauthentication-total") >= 2
    assert java("metric", producer, "failed-reauthentication-total") == 0
    java("close", producer)


# -- raw


def initial_token(target: str = "kafka@localhost") -> bytes:
    """Give what a client begins with that has a ticket."""
    import gssapi

    name = gssapi.Name(target, name_type=gssapi.NameType.hostbased_service)
    token: bytes = gssapi.SecurityContext(name=name, usage="initiate").step(None)
    return token


def begin(gateway: GatewayProcess, token: bytes) -> tuple[RawClient, Any]:
    client = RawClient(endpoint(gateway))
    client.request(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
    return client, client.request(SaslAuthenticateRequest(auth_bytes=token), 2)


def test_what_is_no_ticket_is_refused(gssapi_gateway: GatewayProcess) -> None:
    client, answer = begin(gssapi_gateway, b"garbage")
    with client:
        assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, TEXT)
        assert client.receives_end()


def test_a_ticket_that_is_shown_twice_ends_the_connection(kdc: Kdc, gssapi_gateway: GatewayProcess) -> None:
    kdc.log_in("alice")
    token = initial_token()
    client, answer = begin(gssapi_gateway, token)
    client.close()
    assert answer.auth_bytes != b""
    since = gssapi_gateway.mark()

    with RawClient(endpoint(gssapi_gateway)) as again:
        again.request(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        again.send(SaslAuthenticateRequest(auth_bytes=token), 2)
        assert again.receives_end()

    ended = gssapi_gateway.await_event(since, event="connection_ended", reason="authentication_failed")
    assert "replay" in ended["detail"]


def test_a_context_alone_opens_nothing(kdc: Kdc, gssapi_gateway: GatewayProcess) -> None:
    kdc.log_in("alice")
    client, answer = begin(gssapi_gateway, initial_token())
    with client:
        assert answer.error_code == ErrorCode.NONE

        client.send(MetadataRequest(topics=[]), 9)

        assert client.receives_end()


def test_a_configured_host_is_the_only_one(kdc: Kdc, start_gateway: StartGateway) -> None:
    gateway = start_gateway(tenants=TENANTS, proxy=kerberos(kdc, hostname=HOST))
    kdc.log_in("alice")

    for target, error in ((f"kafka@{HOST}", 0), ("kafka@localhost", ErrorCode.SASL_AUTHENTICATION_FAILED)):
        client, answer = begin(gateway, initial_token(target))
        client.close()
        assert answer.error_code == error, target


def test_a_keytab_without_a_key_of_the_service_stops_the_start(
    kafka: EmbeddedKafka, kdc: Kdc, tmp_path: Path
) -> None:
    section = kerberos(kdc, keytab_file=str(kdc.keytab("alice")))
    process = GatewayProcess(tmp_path, kafka.bootstrap, tenants=TENANTS, proxy=section)
    process.launch()
    assert process._child is not None
    assert process._child.wait(20)

    assert process._child.exit_status() == 1
    assert f"gives no key for kafka/HOST@{REALM}" in process.log()
