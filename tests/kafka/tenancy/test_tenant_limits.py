"""What one tenant may have open and under way, and that its limits do not concern other tenants."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from bifrost.wire.messages import HeartbeatRequest, MetadataRequest
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import fetch_request, produce_request
from support.clients.record_batches import build_batch
from support.gateways.admin_port import await_value, value
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GLOBEX, INITECH, GatewayProcess

MIB = 1024 * 1024
PIPELINING, REQUESTS = 20, 200
IN_FLIGHT = 5
LONG_POLL_MS = 2000


def limited(start_gateway: StartGateway, **limits: int) -> GatewayProcess:
    """A gateway at which initech has limits and globex has none."""
    return start_gateway(tenants=[replace(INITECH, limits=limits), GLOBEX], has_admin=True)


def long_poll(client: RawClient) -> int:
    request = fetch_request("waiting", max_wait_ms=LONG_POLL_MS)
    request.min_bytes = MIB
    return client.send(request, 11)


def test_connections_beyond_the_limit_are_closed_once_it_is_known_whose_they_are(
    start_gateway: StartGateway,
) -> None:
    gateway = limited(start_gateway, max_connections=3)
    clients = [RawClient.authenticated(gateway.endpoint("initech")) for _ in range(3)]

    with RawClient.authenticated(gateway.endpoint("initech")) as one_too_many:
        assert one_too_many.receives_end()
        ended = gateway.await_event(0, event="connection_ended", peer=one_too_many.address)
    assert (ended["reason"], ended["tenant"]) == ("tenant_connections", "initech")
    assert value(gateway, "kafka_proxy_limits_hit_total", limit="max_connections", tenant="initech") == 1
    for _ in range(5):
        clients.append(RawClient.authenticated(gateway.endpoint("globex")))
    assert value(gateway, "kafka_proxy_active_client_connections", tenant="globex") == 5

    clients[0].close()
    await_value(lambda: value(gateway, "kafka_proxy_active_client_connections", tenant="initech"), 2)
    clients.append(RawClient.authenticated(gateway.endpoint("initech")))
    for client in clients[1:]:
        assert client.request(MetadataRequest(topics=[]), 9).brokers != []
        client.close()


def test_a_request_beyond_the_size_closes_the_connection(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    gateway = limited(start_gateway, max_request_bytes=100_000)
    for tenant in ("initech", "globex"):
        fresh_topic(tenant, "orders")
    small, large = (produce_request("orders", build_batch([bytes(size)])) for size in (90_000, 110_000))

    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        client.request(small, 9)
        client.send(large, 9)
        assert client.receives_end()
    ended = gateway.await_event(0, event="connection_ended", tenant="initech")
    assert ended["reason"] == "frame_too_large"
    assert "100000" in ended["detail"]
    assert value(gateway, "kafka_proxy_limits_hit_total", limit="max_request_bytes", tenant="initech") == 1
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        client.request(large, 9)


class Pipelining(threading.Thread):
    """A client that sends all its requests at once, and reads all answers."""

    def __init__(self, gateway: GatewayProcess) -> None:
        super().__init__(daemon=True)
        self.client = RawClient.authenticated(gateway.broker_endpoint("initech"))
        self.answered: list[int] = []

    def run(self) -> None:
        request = HeartbeatRequest(group_id="g", member_id="m")
        stream = b"".join(request_frame(request, 4, number) for number in range(REQUESTS))
        self.client.send_bytes(stream)
        for _ in range(REQUESTS):
            self.answered.append(int.from_bytes(self.client.receive_frame()[:4], "big"))


def slowest_ms(client: RawClient, times: int = 100) -> float:
    """Return how long a request takes when it takes long: the time that one in twenty exceeds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[-times // 20] * 1000


def test_all_that_pipeline_finish_within_the_limit_and_another_tenant_does_not_notice(
    start_gateway: StartGateway,
) -> None:
    gateway = limited(start_gateway, max_in_flight_requests=IN_FLIGHT)
    clients = [Pipelining(gateway) for _ in range(PIPELINING)]
    for client in clients:
        client.start()
    most = 0.0
    while any(client.is_alive() for client in clients):
        most = max(most, value(gateway, "kafka_proxy_in_flight_requests", tenant="initech"))
    for client in clients:
        client.join(30)
        client.client.close()

    assert [client.answered for client in clients] == [list(range(REQUESTS))] * PIPELINING
    assert most <= IN_FLIGHT
    hits = value(gateway, "kafka_proxy_limits_hit_total", limit="max_in_flight_requests", tenant="initech")
    assert hits > REQUESTS
    await_value(lambda: value(gateway, "kafka_proxy_in_flight_requests", tenant="initech"), 0)


def test_a_tenant_whose_requests_all_wait_slows_no_other(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("initech", "waiting")
    gateway = limited(start_gateway, max_in_flight_requests=IN_FLIGHT)
    polling = [RawClient.authenticated(gateway.broker_endpoint("initech")) for _ in range(PIPELINING)]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as other:
        alone_ms = slowest_ms(other)
        began = time.monotonic()
        sent = [long_poll(client) for client in polling]
        beside_ms = slowest_ms(other)
        assert time.monotonic() - began < LONG_POLL_MS / 1000
        assert value(gateway, "kafka_proxy_in_flight_requests", tenant="initech") == IN_FLIGHT

        answered = [int.from_bytes(client.receive_frame()[:4], "big") for client in polling]
        took_s = time.monotonic() - began
    assert answered == sent
    # Twenty long polls, five at a time.
    assert took_s >= PIPELINING / IN_FLIGHT * LONG_POLL_MS / 1000 - 0.2
    assert beside_ms < alone_ms + 20
    for client in polling:
        client.close()


def test_connections_that_end_give_their_room_back(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("initech", "waiting")
    gateway = limited(start_gateway, max_in_flight_requests=2)
    polling = [RawClient.authenticated(gateway.broker_endpoint("initech")) for _ in range(2)]
    for client in polling:
        long_poll(client)
    await_value(lambda: value(gateway, "kafka_proxy_in_flight_requests", tenant="initech"), 2)
    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        gone = RawClient.authenticated(gateway.broker_endpoint("initech"))
        for waiting in (gone, client):
            waiting.send(HeartbeatRequest(group_id="g", member_id="m"), 4)
        time.sleep(0.3)
        gone.close()
        began = time.monotonic()
        for one in polling:
            one.close()
        client.receive_frame()
        assert time.monotonic() - began < 1
    await_value(lambda: value(gateway, "kafka_proxy_in_flight_requests", tenant="initech"), 0)


@pytest.mark.parametrize("most", [1, 3])
def test_all_tenants_together_have_a_limit_and_turns(start_gateway: StartGateway, most: int) -> None:
    gateway = start_gateway(
        limits={"max_in_flight_requests_total": most}, tenants=[INITECH, GLOBEX], has_admin=True
    )
    clients = [Pipelining(gateway) for _ in range(PIPELINING)]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as other:
        other.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
        for client in clients:
            client.start()
        slow_ms = slowest_ms(other, times=40)
        busy = sum(client.is_alive() for client in clients)
    for client in clients:
        client.join(30)
        client.client.close()

    assert [len(client.answered) for client in clients] == [REQUESTS] * PIPELINING
    # It has every other turn, though there are twenty connections of the other tenant's.
    assert slow_ms < 100
    assert busy > 0
    hits = value(
        gateway, "kafka_proxy_limits_hit_total", limit="max_in_flight_requests_total", tenant="initech"
    )
    assert hits > REQUESTS
