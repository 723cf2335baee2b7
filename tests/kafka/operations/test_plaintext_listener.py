"""A listener set that does not ask clients who they are: all its clients are one tenant's."""

from __future__ import annotations

import dataclasses
import time

import pytest
from confluent_kafka import Consumer, Producer

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import produce, records_of
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess

OPEN = {"security_protocol": "PLAINTEXT", "tenant": "acme"}


@pytest.fixture
def anonymous(start_gateway: StartGateway) -> tuple[GatewayProcess, Endpoint]:
    gateway = start_gateway(listener=OPEN, log_level="debug")
    return gateway, Endpoint(HOST, gateway.bootstrap_port)


def test_every_client_is_the_tenants_at_once(
    anonymous: tuple[GatewayProcess, Endpoint], fresh_topic: FreshTopic
) -> None:
    gateway, endpoint = anonymous
    fresh_topic("acme", "orders")
    fresh_topic("globex", "secrets")
    since = gateway.mark()
    producer = Producer(endpoint.for_confluent)
    producer.produce("orders", b"a client's")
    assert producer.flush(20) == 0
    consumer = Consumer(endpoint.for_confluent | {"group.id": "open", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(20)
    topics = set(consumer.list_topics(timeout=20).topics)
    consumer.close()

    assert message is not None
    assert message.value() == b"a client's"
    assert "orders" in topics
    assert "secrets" not in topics
    known = gateway.await_event(since, event="authenticated")
    assert (known["tenant"], known["principal"]) == ("acme", "User:ANONYMOUS")


@pytest.mark.parametrize(
    ("request_", "version"),
    [(SaslHandshakeRequest(mechanism="PLAIN"), version) for version in (0, 1)]
    + [(SaslAuthenticateRequest(auth_bytes=b"\0acme\0acme-pw"), version) for version in (0, 1, 2)],
    ids=str,
)
def test_sasl_is_answered_as_on_a_broker_without_it(
    anonymous: tuple[GatewayProcess, Endpoint], broker: Endpoint, request_: Message, version: int
) -> None:
    _, endpoint = anonymous
    with RawClient(broker) as direct, RawClient(endpoint) as client:
        expected, found = (one.exchange(request_, version) for one in (direct, client))
        assert found == expected
        # And nothing has happened.
        assert client.request(MetadataRequest(topics=[]), 9).brokers


def test_the_first_request_needs_no_waiting_and_no_time_limit(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(listener=OPEN, limits={"authentication_timeout_ms": 1000})
    with RawClient(Endpoint(HOST, gateway.broker_port(1))) as client:
        assert produce(client, "orders", [b"one"]) == 0
        time.sleep(1.5)
        assert b"one" in records_of(client, "orders")


def test_requests_in_one_read_are_answered_in_order(
    anonymous: tuple[GatewayProcess, Endpoint],
) -> None:
    _, endpoint = anonymous
    with RawClient(endpoint) as client:
        client.send_bytes(b"".join(request_frame(MetadataRequest(topics=[]), 9, one) for one in (7, 8, 9)))

        assert [int.from_bytes(client.receive_frame()[:4], "big") for _ in range(3)] == [7, 8, 9]


# -- a tenant's own listener set with SASL


def test_only_the_tenants_users_authenticate_and_others_learn_nothing(start_gateway: StartGateway) -> None:
    gateway = start_gateway(listener={"tenant": "acme"})
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        assert client.request(MetadataRequest(topics=[]), 9).brokers
    answers = []
    for who in (
        gateway.endpoint("globex"),
        dataclasses.replace(gateway.endpoint("globex"), password="guess"),
    ):
        with RawClient(who) as client:
            client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
            token = f"\0{who.username}\0{who.password}".encode()
            answers.append(client.request(SaslAuthenticateRequest(auth_bytes=token), 2))
            assert client.receives_end()

    assert answers[0] == answers[1]
    assert answers[0].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
