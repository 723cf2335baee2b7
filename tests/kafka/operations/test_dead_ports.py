"""A port of a running gateway that accepts no more: /readyz names it, and the gateway opens it again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from bifrost.gateway.sockets.listener_watch import CHECK_EVERY_S, PROBE_TIMEOUT_S
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.admin_port import ask
from support.gateways.dead_ports import leave_unpolled, refuse_connections
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess

NOTICED_S = 4 * (CHECK_EVERY_S + PROBE_TIMEOUT_S)
"""A check is due every CHECK_EVERY_S and takes PROBE_TIMEOUT_S; the rest is for a busy machine."""


def await_readiness(gateway: GatewayProcess, status: int) -> str:
    """Wait until /readyz has this status, and return its text."""
    deadline = time.monotonic() + NOTICED_S
    while (page := ask(gateway, "/readyz"))[0] != status:
        assert time.monotonic() < deadline, page
        time.sleep(0.05)
    return page[1]


def is_served(endpoint: Endpoint) -> bool:
    with RawClient.authenticated(endpoint, timeout_s=5) as client:
        return bool(client.request(MetadataRequest(topics=[]), 9).brokers)


@pytest.mark.parametrize(
    ("kill", "stands_for", "workers"),
    [(refuse_connections, "bootstrap", 1), (leave_unpolled, "broker 1", 1), (leave_unpolled, "bootstrap", 2)],
)
def test_a_port_that_accepts_no_more_is_named_by_readyz_and_opened_again(
    start_gateway: StartGateway, kill: Callable[[int, int], None], stands_for: str, workers: int
) -> None:
    gateway = start_gateway(has_admin=True, is_single_address=False, proxy={"workers": workers})
    gateway.provoked = {"listener_not_accepting", "internal_error"}
    endpoint, other = gateway.endpoint("acme"), gateway.broker_endpoint("acme")
    if stands_for != "bootstrap":
        endpoint, other = other, endpoint
    await_readiness(gateway, 200)
    since = gateway.mark()

    kill(gateway.pid, endpoint.port)

    with RawClient.authenticated(other) as client:
        where = f"plaintext at {HOST}:{endpoint.port} ({stands_for})"
        expected = f"not ready: no connection is accepted at listener {where}\n"
        assert await_readiness(gateway, 503) == expected
        address = f"{HOST}:{endpoint.port}"
        gateway.await_event(since, event="listener_not_accepting", address=address, stands_for=stands_for)
        # Connections through the other port go on meanwhile.
        assert client.request(MetadataRequest(topics=[]), 9).brokers
        await_readiness(gateway, 200)
    gateway.await_event(since, event="listener_accepts_again", address=address)
    assert is_served(endpoint)
