"""The gateway before each kind of secured listener of a real broker, and what it says when it is not let in."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from support.brokers.secure_kafka import KEY_PASSWORD, USERS, SecureKafka
from support.clients.raw_client import RawClient
from support.clients.raw_operations import produce, records_of, recreate_topic
from support.gateways.gateway_process import GatewayProcess
from support.gateways.secured_gateway import StartSecured, account
from support.physical_names import physical_name

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SECRETS = (*USERS.values(), KEY_PASSWORD, "wrong-pw")


@pytest.fixture(autouse=True)
def topic(secure_kafka: SecureKafka) -> None:
    with secure_kafka.admin() as admin:
        recreate_topic(admin, physical_name("acme", "orders"))


def check_served(gateway: GatewayProcess) -> None:
    """A tenant, which is asked for its own password in plain text, writes and reads."""
    value = str(time.monotonic_ns()).encode()
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        assert produce(client, "orders", [value]) >= 0
        assert value in records_of(client, "orders")
    check_no_secret(gateway)


def check_no_secret(gateway: GatewayProcess) -> None:
    assert [secret for secret in SECRETS if secret in gateway.log()] == []


def sasl(mechanism: str, protocol: str = "SASL_PLAINTEXT", user: str = "gateway") -> dict[str, Any]:
    return {"security_protocol": protocol, "sasl": account(user, mechanism)}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords(start_secured: StartSecured, mechanism: str) -> None:
    check_served(start_secured("SASL", sasl(mechanism)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords_under_tls(start_secured: StartSecured, secure_kafka: SecureKafka, mechanism: str) -> None:
    tls = {"ca_file": str(secure_kafka.ca_file)}

    check_served(start_secured("SASLTLS", sasl(mechanism, "SASL_SSL") | {"tls": tls}))


def test_tls(start_secured: StartSecured, secure_kafka: SecureKafka) -> None:
    tls = {"ca_file": str(secure_kafka.ca_file), "min_version": "TLSv1.3"}

    check_served(start_secured("TLS", {"security_protocol": "SSL", "tls": tls}))


def test_a_broker_s_own_certificate_is_enough_to_trust_it(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    tls = {"ca_file": str(secure_kafka.own_certificate_file)}

    check_served(start_secured("TLS", {"security_protocol": "SSL", "tls": tls}))


def test_tls_behind_a_single_address(start_secured: StartSecured, secure_kafka: SecureKafka) -> None:
    tls = {"ca_file": str(secure_kafka.ca_file)}
    check_served(start_secured("TLS", {"security_protocol": "SSL", "tls": tls}, is_single_address=True))


def test_tls_1_2_with_chosen_ciphers(start_secured: StartSecured, secure_kafka: SecureKafka) -> None:
    tls = {"ca_file": str(secure_kafka.ca_file), "ciphers": "ECDHE-ECDSA-AES256-GCM-SHA384"}

    check_served(start_secured("TLS", {"security_protocol": "SSL", "tls": tls}))


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_certificate_is_shown(
    start_secured: StartSecured, secure_kafka: SecureKafka, is_locked: bool
) -> None:
    files = secure_kafka.locked_files if is_locked else secure_kafka.client_files
    tls = {
        "ca_file": str(secure_kafka.ca_file),
        "certificate_file": str(files.certificate),
        "key_file": str(files.key),
    }
    if is_locked:
        password = secure_kafka.directory / "key.password"
        password.write_text(f"{KEY_PASSWORD}\n")
        tls["key_password_file"] = str(password)

    check_served(start_secured("MTLS", {"security_protocol": "SSL", "tls": tls}))


def test_a_host_name_need_not_be_that_of_the_certificate(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    tls = {"ca_file": str(secure_kafka.ca_file), "verify_hostname": False}
    security = {"security_protocol": "SSL", "tls": tls}

    check_served(start_secured("TLS", security, host="127.0.0.1"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_tried_once_a_second(
    start_secured: StartSecured, mechanism: str, secure_kafka: SecureKafka
) -> None:
    wrong = secure_kafka.directory / "wrong.password"
    wrong.write_text("wrong-pw")
    security = sasl(mechanism)
    security["sasl"]["password_file"] = str(wrong)

    gateway = start_secured("SASL", security, is_ready=False)
    event = gateway.await_event(0, event="upstream_unreachable", timeout_s=20)
    time.sleep(3.2)

    assert "the broker refused the login: Authentication failed" in event["error"]
    failed = [one for one in gateway.events() if one["event"] == "upstream_unreachable"]
    assert 2 <= len(failed) <= 4
    check_no_secret(gateway)


@pytest.mark.parametrize(
    ("listener", "host", "security", "expected"),
    [
        ("TLS", "localhost", {"ca": "other"}, "certificate is not trusted"),
        ("TLS", "127.0.0.1", {"ca": "own"}, "IP address mismatch"),
        ("MTLS", "localhost", {"ca": "own"}, "the broker wants a certificate that it trusts"),
        ("SASL", "localhost", {"ca": "own"}, "does security_protocol suit its listener"),
        ("SASL", "localhost", {}, "does security_protocol suit its listener"),
        ("TLS", "localhost", {}, "its listener speaks TLS: mend security_protocol"),
        ("TLS", "localhost", sasl("PLAIN"), "its listener speaks TLS: mend security_protocol"),
        ("TLS", "localhost", sasl("PLAIN", "SASL_SSL") | {"ca": "own"}, "does not authenticate by SASL"),
        ("OWN", "localhost", sasl("PLAIN"), "does not authenticate by SASL"),
    ],
)
def test_what_is_wrong_is_said(
    start_secured: StartSecured,
    secure_kafka: SecureKafka,
    listener: str,
    host: str,
    security: dict[str, Any],
    expected: str,
) -> None:
    security = dict(security)
    ca = security.pop("ca", None)
    if ca is not None:
        file = secure_kafka.ca_file if ca == "own" else secure_kafka.other_ca_file
        security.setdefault("security_protocol", "SSL")
        security["tls"] = {"ca_file": str(file)}

    gateway = start_secured(listener, security, is_ready=False, host=host)
    event = gateway.await_event(0, event="upstream_unreachable", timeout_s=20)

    assert expected in event["error"]
    check_no_secret(gateway)


@pytest.mark.timeout(180)
def test_many_large_records_pass_tls_unchanged(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    """Frames of up to a megabyte, of which each is many TLS records, with a consumer that falls behind."""
    tls = {"ca_file": str(secure_kafka.ca_file)}
    gateway = start_secured("SASLTLS", sasl("PLAIN", "SASL_SSL") | {"tls": tls})
    told = gateway.endpoint("acme").for_confluent
    values = [random.Random(number).randbytes(number % 7 * 150_000 + 1) for number in range(120)]
    producer = Producer(told | {"linger.ms": 0})
    for value in values:
        producer.produce("orders", value)
        producer.poll(0)
    assert producer.flush(60) == 0

    consumer = Consumer(
        told | {"group.id": "slow", "auto.offset.reset": "earliest", "queued.max.messages.kbytes": 2000}
    )
    consumer.subscribe(["orders"])
    found: list[bytes] = []
    try:
        while len(found) < len(values):
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            found.append(message.value())
            time.sleep(0.01)
    finally:
        consumer.close()

    assert found == values


def test_certificates_are_read_again_when_they_change(
    start_secured: StartSecured, secure_kafka: SecureKafka, tmp_path: Path
) -> None:
    ca_file = tmp_path / "ca.pem"
    ca_file.write_bytes(secure_kafka.other_ca_file.read_bytes())
    security = {"security_protocol": "SSL", "tls": {"ca_file": str(ca_file)}}
    gateway = start_secured("TLS", security, is_ready=False)
    gateway.await_event(0, event="upstream_unreachable", timeout_s=20)

    ca_file.write_bytes(secure_kafka.ca_file.read_bytes())

    gateway.await_event(0, event="ready", timeout_s=20)
    check_served(gateway)
