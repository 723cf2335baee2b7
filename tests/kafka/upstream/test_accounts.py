"""As whom tenants and their users are at a broker that has ACLs: each as its own account there, or not at all."""

from __future__ import annotations

import time

import pytest

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeGroupsRequest
from support.clients import Endpoint
from support.raw_client import RawClient
from support.raw_operations import (
    PRODUCE_BY_NAME,
    produce,
    produce_request,
    records_of,
    recreate_topic,
)
from support.record_batches import build_batch
from support.secure_kafka import SecureKafka
from support.secured_gateway import SecuredGateway, StartSecured, account

DENIED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
OF_GATEWAY = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway")}


@pytest.fixture(scope="module", autouse=True)
def topics(secure_kafka: SecureKafka) -> None:
    with secure_kafka.admin() as admin:
        for tenant in ("acme", "globex"):
            recreate_topic(admin, f"__vt_{tenant}_orders")
        assert produce(admin, "__vt_globex_orders", [b"of globex"]) == 0


def try_to_produce(gateway: SecuredGateway, tenant: str, user: str | None = None) -> int:
    whole = gateway.broker_endpoint(tenant)
    endpoint = Endpoint(whole.host, whole.port, user or tenant, f"{user or tenant}-pw")
    with RawClient.authenticated(endpoint) as client:
        request = produce_request("orders", build_batch([b"one"]))
        response = client.request(request, PRODUCE_BY_NAME)
        return int(response.responses[0].partition_responses[0].error_code)


def test_the_broker_sees_whose_account_a_tenant_has(start_secured: StartSecured) -> None:
    """Alice may use acme's names, bob globex's; with the accounts exchanged the broker refuses both."""
    right = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("alice"), "globex": account("bob")})
    wrong = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("bob"), "globex": account("alice")})

    assert [try_to_produce(right, tenant) for tenant in ("acme", "globex")] == [0, 0]
    assert [try_to_produce(wrong, tenant) for tenant in ("acme", "globex")] == [DENIED, DENIED]


def test_a_user_s_account_stands_before_its_tenant_s(start_secured: StartSecured) -> None:
    gateway = start_secured(
        "SASL",
        OF_GATEWAY,
        accounts={"acme": account("alice"), "guest": account("bob", "PLAIN")},
        users={"acme": ["guest", "clerk"]},
    )

    assert try_to_produce(gateway, "acme") == 0
    assert try_to_produce(gateway, "acme", "clerk") == 0
    assert try_to_produce(gateway, "acme", "guest") == DENIED
    assert try_to_produce(gateway, "globex") == 0, "has no account, so the gateway's, a super user, is used"


def test_what_only_the_broker_forbids_is_told_in_its_words(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    gateway = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("bob")})
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        response = client.request(DescribeGroupsRequest(groups=["clerks"]), 5)

        assert response.groups[0].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert response.groups[0].group_id == "clerks"
        with pytest.raises(AssertionError):
            records_of(client, "orders")


def test_a_tenant_whose_account_is_refused_is_closed_without_a_word_and_harms_nobody(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    wrong = secure_kafka.directory / "wrong.password"
    wrong.write_text("wrong-pw")
    refused = account("alice") | {"password_file": str(wrong)}
    gateway = start_secured("SASL", OF_GATEWAY, accounts={"acme": refused})
    since = gateway.mark()

    started = time.monotonic()
    for _ in range(3):
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client, pytest.raises(EOFError):
            produce(client, "orders", [b"one"])
    took = time.monotonic() - started

    assert took > 2, "one attempt a second"
    assert try_to_produce(gateway, "globex") == 0
    ended = gateway.await_event(since, event="connection_ended", reason="upstream_login_failed")
    assert ended["tenant"] == "acme"
    assert "the broker refused the login: Authentication failed" in ended["detail"]
    assert "wrong-pw" not in gateway.log()
