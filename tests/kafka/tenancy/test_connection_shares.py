"""No client keeps others out, neither a tenant that takes all it can have nor clients that never authenticate."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import pytest

from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess

MOST = 100
ELSEWHERE = "127.0.0.2"
"""Another address of this machine's, as Linux has it."""
SHARES = {
    "max_connections": MOST,
    "max_connections_per_tenant": 60,
    "reserved_connections_per_tenant": 5,
    "max_unauthenticated_connections": 20,
    "max_unauthenticated_connections_per_address": 16,
    "authentication_timeout_ms": 30_000,
}
COMMON = MOST - 20 - 3 * 5

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(params=[1, 2], ids=["one process", "two workers"])
def shared(request: pytest.FixtureRequest, start_gateway: StartGateway) -> GatewayProcess:
    return start_gateway(limits=SHARES, has_admin=True, proxy={"workers": request.param})


def is_served(client: RawClient) -> bool:
    try:
        return bool(client.request(MetadataRequest(topics=[]), 9).brokers)
    except (EOFError, OSError):
        return False


def take(stack: ExitStack, gateway: GatewayProcess, tenant: str, count: int) -> int:
    """Open as many connections of a tenant; return how many of them are served."""
    served = 0
    for _ in range(count):
        client = RawClient.authenticated(gateway.broker_endpoint(tenant))
        if is_served(client):
            stack.callback(client.close)
            served += 1
        else:
            client.close()
    return served


def test_a_tenant_that_takes_all_it_can_keeps_no_other_out(shared: GatewayProcess) -> None:
    with ExitStack() as stack:
        assert take(stack, shared, "globex", 70) == 60
        assert take(stack, shared, "initech", 20) == COMMON - 60
        assert take(stack, shared, "acme", 8) == 5

        hit = value(shared, "kafka_proxy_limits_hit_total", limit="max_connections", tenant="globex")
        assert hit == 10


def is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_clients_that_never_authenticate_keep_no_tenant_out(shared: GatewayProcess) -> None:
    with ExitStack() as stack:
        flood = [
            stack.enter_context(socket.create_connection((HOST, shared.broker_port(1)), 5, (ELSEWHERE, 0)))
            for _ in range(200)
        ]
        time.sleep(0.5)
        held = sum(map(is_open, flood))
        clients = [
            stack.enter_context(RawClient.authenticated(shared.broker_endpoint("acme"))) for _ in range(10)
        ]

        assert 1 <= held <= 16
        assert all(map(is_served, clients))
        # A supervisor counts those as well that are on their way to a worker, and closes what is too much.
        limits = ("max_unauthenticated_connections_per_address", "max_connections")
        hits = [value(shared, "kafka_proxy_limits_hit_total", limit=one, tenant="") for one in limits]
        assert hits[0] > 50
        assert sum(hits) == 200 - held


def test_not_even_from_many_addresses(shared: GatewayProcess) -> None:
    with ExitStack() as stack:
        flood = [
            stack.enter_context(
                socket.create_connection((HOST, shared.broker_port(1)), 5, (f"127.0.1.{number % 5 + 1}", 0))
            )
            for number in range(200)
        ]
        time.sleep(0.5)
        held = sum(map(is_open, flood))
        clients = [
            stack.enter_context(RawClient.authenticated(shared.broker_endpoint("acme"))) for _ in range(10)
        ]

        assert 10 <= held <= 20
        assert all(map(is_served, clients))
