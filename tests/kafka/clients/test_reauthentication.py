"""Clients that stay longer than `max_reauth_ms`: those that know KIP-368 authenticate again on their connection."""

from __future__ import annotations

import asyncio
import time

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer

from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kafka import KafkaProducer
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.java.java_clients import JavaClients

LIFETIME_MS = 2_000
RUN_S = 6.0
"""Three lifetimes."""
MOST_S = 30.0


@pytest.fixture
def brief(start_gateway: StartGateway, fresh_topic: FreshTopic) -> GatewayProcess:
    """A gateway where an authentication holds for two seconds."""
    fresh_topic("salted", "orders")
    return start_gateway(
        tenants=(TenantSpec("salted", is_salted=True),),
        limits={"max_reauth_ms": LIFETIME_MS},
        log_level="debug",
    )


def seen(gateway: GatewayProcess, event: str) -> list[str]:
    """The clients' addresses in all events of this name."""
    return [one["peer"] for one in gateway.events() if one["event"] == event]


def expired(gateway: GatewayProcess) -> list[str]:
    ends = [one for one in gateway.events() if one["event"] == "connection_ended"]
    return [one["peer"] for one in ends if one["reason"] == "session_expired"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("java", [DEFAULT_VERSION], indirect=True)
def test_java_authenticates_again_and_loses_no_connection(
    java: JavaClients, brief: GatewayProcess, mechanism: str
) -> None:
    producer = java.producer(brief.endpoint("salted", mechanism))
    deadline = time.monotonic() + MOST_S
    sent, again = 0, seen(brief, "authenticated_again")
    # Until one connection has done so more than once.
    while len(again) == len(set(again)):
        assert time.monotonic() < deadline, brief.log()
        java("send", producer, "orders", [f"record {sent}"])
        sent += 1
        time.sleep(0.1)
        again = seen(brief, "authenticated_again")

    assert java("metric", producer, "successful-reauthentication-total") >= 2
    assert java("metric", producer, "failed-reauthentication-total") == 0
    assert expired(brief) == []
    java("close", producer)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_librdkafka_authenticates_again(brief: GatewayProcess, mechanism: str) -> None:
    settings = brief.endpoint("salted", mechanism).for_confluent | {"linger.ms": 0}
    failures: list[str] = []
    producer = Producer(settings, error_cb=lambda error: failures.append(str(error)))
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        producer.produce(
            "orders", b"record", on_delivery=lambda error, _: error and failures.append(str(error))
        )
        assert producer.flush(10) == 0
        time.sleep(0.1)

    assert failures == []
    assert seen(brief, "authenticated_again") != []
    assert expired(brief) == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_kafka_python_authenticates_again(brief: GatewayProcess, mechanism: str) -> None:
    producer = KafkaProducer(**brief.endpoint("salted", mechanism).for_python)
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        producer.send("orders", b"record").get(timeout=10)
        time.sleep(0.1)
    producer.close()

    assert seen(brief, "authenticated_again") != []
    assert expired(brief) == []


def test_aiokafka_does_not_and_comes_back(brief: GatewayProcess) -> None:
    async def play() -> int:
        sent = 0
        async with AIOKafkaProducer(
            **brief.endpoint("salted").for_aiokafka, enable_idempotence=True
        ) as producer:
            end = time.monotonic() + RUN_S
            while time.monotonic() < end:
                await producer.send_and_wait("orders", b"record")
                sent += 1
                await asyncio.sleep(0.1)
        return sent

    assert asyncio.run(play()) > 10
    assert expired(brief) != []
    assert seen(brief, "authenticated_again") == []


def test_who_does_not_is_closed_at_its_next_request(brief: GatewayProcess) -> None:
    with RawClient(brief.endpoint("salted")) as client:
        client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        token = b"\0salted\0salted-pw"
        answer = client.request(SaslAuthenticateRequest(auth_bytes=token), 2)
        assert answer.session_lifetime_ms == LIFETIME_MS
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
        time.sleep(LIFETIME_MS / 1000 + 0.3)
        assert brief.await_event(0, event="authentication_expired", peer=client.address)

        client.send(MetadataRequest(topics=[]), 9)

        assert client.receives_end()
        ended = brief.await_event(0, event="connection_ended", peer=client.address)
    assert ended["reason"] == "session_expired"


def test_another_user_on_the_same_connection_is_refused(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"max_reauth_ms": 60_000})
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        answer = client.try_to_authenticate("globex", "globex-pw")

        assert (answer.error_code, answer.error_message) == (
            ErrorCode.SASL_AUTHENTICATION_FAILED,
            "Cannot change principals during re-authentication from User.acme: User.globex",
        )
        assert client.receives_end()


def test_answers_in_flight_come_before_those_to_the_handshake(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"max_reauth_ms": 60_000})
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        client.request(MetadataRequest(topics=[]), 9)
        token = b"\0acme\0acme-pw"

        sent = [client.send(MetadataRequest(topics=[]), 9) for _ in range(5)]
        sent.append(client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1))
        sent.append(client.send(SaslAuthenticateRequest(auth_bytes=token), 2))
        sent.append(client.send(MetadataRequest(topics=[]), 9))

        assert [int.from_bytes(client.receive_frame()[:4], "big") for _ in sent] == sent
