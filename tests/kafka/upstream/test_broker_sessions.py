"""A broker whose clients authenticate again every three seconds (KIP-368), and clients who do not notice."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from support.brokers.secure_kafka import REAUTH_MS, SecureKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import FETCH_BY_NAME, fetch_request, produce, recreate_topic
from support.gateways.gateway_process import GatewayProcess
from support.gateways.secured_gateway import StartSecured, account
from support.physical_names import physical_name

STEADY_S = 24.0
LONG_POLL_MS = 1_500
"""A quarter of what a login holds: often one is under way when the login is due."""


class Load(threading.Thread):
    """Asks one thing after the other over one connection, for as long as it is told."""

    def __init__(self, endpoint: Endpoint, ask: Any) -> None:
        super().__init__()
        self._endpoint, self._ask = endpoint, ask
        self.asked = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        ends = time.monotonic() + STEADY_S
        try:
            with RawClient.authenticated(self._endpoint) as client:
                while time.monotonic() < ends:
                    self._ask(client)
                    self.asked += 1
        except BaseException as error:
            self.error = error


def write(client: RawClient) -> None:
    produce(client, "orders", [b"steady"])
    time.sleep(0.002)


def read(client: RawClient) -> None:
    request = fetch_request("quiet", max_wait_ms=LONG_POLL_MS)
    request.min_bytes = 1
    response = client.request(request, FETCH_BY_NAME)
    assert response.error_code == 0


def stream(endpoint: Endpoint) -> tuple[int, int, list[Any]]:
    """Write and read by librdkafka for as long; return how many were written, read, and what went wrong."""
    errors: list[Any] = []
    told = endpoint.for_confluent | {"error_cb": errors.append, "message.send.max.retries": 0}
    producer = Producer(told)
    del told["message.send.max.retries"]
    consumer = Consumer(told | {"group.id": "steady", "auto.offset.reset": "earliest"})
    consumer.subscribe(["streamed"])
    written, read = 0, 0
    ends = time.monotonic() + STEADY_S
    try:
        while time.monotonic() < ends or read < written:
            assert time.monotonic() < ends + 30
            if time.monotonic() < ends:
                producer.produce(
                    "streamed", b"x", on_delivery=lambda error, _: error and errors.append(error)
                )
                written += 1
            producer.poll(0)
            message = consumer.poll(0.005)
            if message is not None:
                if message.error():
                    raise KafkaException(message.error())
                read += 1
        producer.flush(10)
    finally:
        consumer.close()
    return written, read, errors


@pytest.mark.timeout(180)
def test_no_request_fails_while_logins_are_renewed(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    with secure_kafka.admin() as admin:
        for name in ("orders", "quiet", "streamed"):
            recreate_topic(admin, physical_name("globex", name))
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway", "SCRAM-SHA-512")}
    gateway = start_secured("REAUTH", security, log_level="debug", limits={"metadata_refresh_ms": 1000})
    endpoint = gateway.broker_endpoint("globex")
    loads = [Load(endpoint, write), Load(endpoint, read)]

    for load in loads:
        load.start()
    written, read_back, errors = stream(gateway.endpoint("globex"))
    for load in loads:
        load.join()

    assert [load.error for load in loads] == [None, None]
    assert loads[0].asked > 500
    assert (read_back, errors) == (written, [])
    check_renewals(gateway)


@pytest.mark.timeout(120)
def test_no_request_fails_at_a_single_address_while_logins_are_renewed(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    with secure_kafka.admin() as admin:
        for name in ("orders", "streamed"):
            recreate_topic(admin, physical_name("globex", name))
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway", "SCRAM-SHA-512")}
    gateway = start_secured("REAUTH", security, log_level="debug", is_single_address=True)
    load = Load(gateway.broker_endpoint("globex"), write)

    load.start()
    written, read_back, errors = stream(gateway.endpoint("globex"))
    load.join()

    assert load.error is None
    assert load.asked > 500
    assert (read_back, errors) == (written, [])
    lost = [event for event in gateway.events() if event["event"] == "route_lost"]
    assert lost == [], "the broker closes a connection whose login is not renewed"


def check_renewals(gateway: GatewayProcess) -> None:
    events = gateway.events()
    renewed: dict[str, int] = {}
    for event in events:
        if event["event"] == "logged_in_again":
            renewed[event["peer"]] = renewed.get(event["peer"], 0) + 1
    # Six seconds each, renewed after 85 % of it at the earliest.
    assert 3 <= max(renewed.values()) <= STEADY_S * 1000 / (0.85 * REAUTH_MS) + 1
    assert sum(count >= 3 for count in renewed.values()) >= 4
    ends = [event for event in events if event["event"] == "connection_ended"]
    assert {event["reason"] for event in ends} == {"client_closed"}
    assert [event for event in events if event["event"] == "refresh_failed"] == []


@pytest.mark.timeout(120)
def test_clients_and_gateway_authenticate_again_at_the_same_time(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    with secure_kafka.admin() as admin:
        recreate_topic(admin, physical_name("globex", "streamed"))
    security = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway", "PLAIN")}
    gateway = start_secured("REAUTH", security, log_level="debug", limits={"max_reauth_ms": 2000})

    written, read_back, errors = stream(gateway.endpoint("globex"))

    assert (read_back, errors) == (written, [])
    events = [event["event"] for event in gateway.events()]
    assert events.count("authenticated_again") >= 6
    assert events.count("logged_in_again") >= 6
    ends = {event["reason"] for event in gateway.events() if event["event"] == "connection_ended"}
    assert ends == {"client_closed"}
