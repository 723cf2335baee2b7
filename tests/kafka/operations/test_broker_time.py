"""What a tenant's requests cost the brokers is limited while another tenant is active."""

from __future__ import annotations

import os
import time

import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.tenancy.topic_pages import FIRST_PAGE
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import HeartbeatRequest, MetadataRequest
from support.clients.pinging import pinging
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import create_topic
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway, UniqueName

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="each worker counts by itself")

DEPTH = 20
SECONDS = 2.0
PERCENT = 2
MOST = 400 * SECONDS
"""Requests: at 50 us each, a fiftieth of a core has room for 400 a second."""
BURST = 20 + DEPTH


HEARTBEAT = request_frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4, 1)


def answered_in(client: RawClient, seconds: float, frame: bytes = HEARTBEAT, depth: int = DEPTH) -> int:
    """Send a request again and again, several in flight, and return how many were answered."""
    count, until = 0, time.monotonic() + seconds
    client.send_bytes(frame * depth)
    while time.monotonic() < until:
        client.receive_frame()
        client.send_bytes(frame)
        count += 1
    for _ in range(depth):
        client.receive_frame()
    return count


def test_a_tenant_beside_others_has_its_share_of_the_brokers_time(start_gateway: StartGateway) -> None:
    gateway = start_gateway(has_admin=True, limits={"broker_time_percent": PERCENT})

    def waits(tenant: str) -> float:
        labels = {"limit": "broker_time_percent", "tenant": tenant}
        return value(gateway, "kafka_proxy_limits_hit_total", **labels)

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        alone = answered_in(client, SECONDS)
        assert waits("acme") == 0
        with pinging(gateway, "globex") as taken:
            time.sleep(0.2)
            beside = answered_in(client, SECONDS)
        again = answered_in(client, 1.0 + SECONDS)

    assert beside <= MOST + BURST
    assert beside >= MOST / 4, "it has its share"
    assert alone > 2 * beside
    assert again > 2 * beside
    assert waits("acme") > 0
    assert len(taken) > 50


@pytest.mark.needs_api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0)
def test_what_the_gateway_asks_for_by_itself_is_of_the_tenants_share(
    start_gateway: StartGateway, unique: UniqueName
) -> None:
    """Metadata of all topics makes it ask for a page of the list before."""
    gateway = start_gateway(limits={"broker_time_percent": PERCENT})
    frame, depth = request_frame(MetadataRequest(topics=None), 12, 1), 3
    both_ns = 2 * broker_cost_ns(ApiKey.METADATA) + FIRST_PAGE * ITEM_NS

    with RawClient.authenticated(gateway.broker_endpoint("initech")) as client:
        create_topic(client, unique("listed"), 1)
        alone = answered_in(client, SECONDS, frame, depth)
        with pinging(gateway, "globex"):
            time.sleep(0.2)
            beside = answered_in(client, SECONDS, frame, depth)

    most = SECONDS * 1e9 * PERCENT / 100 / both_ns
    assert beside <= 1.2 * most + depth
    assert beside >= most / 4, "it has its share"
    assert alone > 2 * beside
