"""An account that names no mechanism, at real brokers whose listeners offer different ones."""

from __future__ import annotations

from typing import Any

import pytest

from support.brokers.secure_kafka import USERS, SecureKafka
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce, records_of, recreate_topic
from support.gateways.secured_gateway import StartSecured, account
from support.physical_names import physical_name

ANY = account("gateway", None)


@pytest.fixture(autouse=True)
def topic(secure_kafka: SecureKafka) -> None:
    with secure_kafka.admin() as admin:
        recreate_topic(admin, physical_name("acme", "orders"))


def tls(kafka: SecureKafka, **more: Any) -> dict[str, Any]:
    return {"security_protocol": "SASL_SSL", "tls": {"ca_file": str(kafka.ca_file), **more}}


CLEAR = {"security_protocol": "SASL_PLAINTEXT"}


@pytest.mark.parametrize("listener", ["SASL", "SASLTLS", "SHA256", "CLEARTLS"])
def test_a_client_is_served_with_what_the_listener_offers(
    start_secured: StartSecured, secure_kafka: SecureKafka, listener: str
) -> None:
    security = tls(secure_kafka) if listener.endswith("TLS") else CLEAR
    gateway = start_secured(listener, security | {"sasl": ANY}, accounts={"acme": account("alice", None)})

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"by any mechanism"]) >= 0
        assert b"by any mechanism" in records_of(client, "orders")
    assert [one for one in USERS.values() if one in gateway.log()] == []


def test_the_password_is_not_sent_in_clear_to_a_broker_that_offers_nothing_else(
    start_secured: StartSecured,
) -> None:
    gateway = start_secured("CLEAR", CLEAR | {"sasl": ANY}, is_ready=False)

    failed = gateway.await_event(0, event="upstream_unreachable", timeout_s=60)

    assert "does not offer SCRAM-SHA-512 or SCRAM-SHA-256, but PLAIN: the password is not" in str(failed)


def test_the_password_is_not_sent_where_any_certificate_is_taken(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    security = tls(secure_kafka, verify_hostname=False) | {"sasl": ANY}
    gateway = start_secured("CLEARTLS", security, is_ready=False)

    failed = gateway.await_event(0, event="upstream_unreachable", timeout_s=60)

    assert "use SASL_SSL with verify_hostname" in str(failed)


def test_plain_that_the_operator_names_is_sent_in_clear(start_secured: StartSecured) -> None:
    gateway = start_secured("CLEAR", CLEAR | {"sasl": account("gateway", "PLAIN")})

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [b"in clear"]) >= 0
