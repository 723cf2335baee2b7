"""GSSAPI towards a real broker, with tickets of a real KDC; skipped where there is none to start."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.brokers.secure_kafka import REAUTH_MS, SecureKafka
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    PRODUCE_BY_NAME,
    produce,
    produce_request,
    records_of,
    recreate_topic,
)
from support.clients.record_batches import build_batch
from support.gateways.secured_gateway import StartSecured
from support.kerberos.kdc import REALM, Kdc, what_is_missing
from support.physical_names import physical_name, prefix_of
from support.skips.optional_parts import KERBEROS, lacks

MISSING = what_is_missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=lacks(KERBEROS, str(MISSING)))

BROKER = "kafka/localhost"


@pytest.fixture(scope="module")
def realm() -> Iterator[Kdc]:
    with Kdc("gateway", "alice", "bob") as center:
        yield center


@pytest.fixture(scope="module")
def secure_kafka(realm: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    """A broker with a listener for tickets."""
    module = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
    properties = {
        "listener.name.kerberos.sasl.enabled.mechanisms": "GSSAPI",
        "listener.name.kerberos.sasl.kerberos.service.name": "kafka",
        "listener.name.kerberos.gssapi.sasl.jaas.config": (
            f'{module} keyTab="{realm.keytab("kafka")}" principal="{BROKER}@{REALM}";'
        ),
        "listener.name.kerberos.gssapi.connections.max.reauth.ms": str(REAUTH_MS),
    }
    with SecureKafka(
        tmp_path_factory.mktemp("certificates"),
        listeners={"KERBEROS": "SASL_PLAINTEXT"},
        properties=properties,
        java_options=[f"-Djava.security.krb5.conf={realm.krb5_conf}"],
    ) as kafka:
        kafka.allow("alice", prefix_of("acme"))
        with kafka.admin() as admin:
            recreate_topic(admin, physical_name("acme", "orders"))
        yield kafka


@pytest.fixture(autouse=True)
def told_of_the_realm(realm: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(realm.krb5_conf))


def account(realm: Kdc, name: str) -> dict[str, Any]:
    return {"mechanism": "GSSAPI", "principal": f"{name}@{REALM}", "keytab_file": str(realm.keytab(name))}


def security(sasl: dict[str, Any]) -> dict[str, Any]:
    return {"security_protocol": "SASL_PLAINTEXT", "sasl": sasl}


@pytest.mark.timeout(120)
def test_a_ticket_names_the_account_and_is_shown_again(start_secured: StartSecured, realm: Kdc) -> None:
    accounts = {"acme": account(realm, "alice"), "globex": account(realm, "bob")}
    gateway = start_secured(
        "KERBEROS", security(account(realm, "gateway")), accounts=accounts, log_level="debug"
    )

    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        response = client.request(produce_request("orders", build_batch([b"x"])), PRODUCE_BY_NAME)
        (topic,) = response.responses
        assert topic.partition_responses[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        ends = time.monotonic() + 3 * REAUTH_MS / 1000
        while time.monotonic() < ends:
            produce(client, "orders", [b"by ticket"])
            time.sleep(0.01)
        assert b"by ticket" in records_of(client, "orders")

    assert len([event for event in gateway.events() if event["event"] == "logged_in_again"]) >= 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"principal": f"unknown@{REALM}"}, "Kerberos: "),
        ({"service_name": "other"}, "Kerberos: "),
    ],
)
def test_without_a_ticket_the_gateway_is_not_let_in(
    start_secured: StartSecured, realm: Kdc, changes: dict[str, str], expected: str
) -> None:
    gateway = start_secured("KERBEROS", security(account(realm, "gateway") | changes), is_ready=False)
    event = gateway.await_event(0, event="upstream_unreachable", timeout_s=20)

    assert expected in event["error"]


def test_without_a_keytab_the_ticket_is_where_kerberos_looks_for_one(
    start_secured: StartSecured, realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.keytab("gateway")))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    gateway = start_secured("KERBEROS", security({"mechanism": "GSSAPI"}))

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"by the gateway's own ticket"]) >= 0
