"""A tenant above its share of the gateway's time waits and is told so; another one feels nothing of it."""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient, request_frame
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GatewayProcess

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="each worker counts by itself"),
]

VERSION = 9
NAMES = 600
"""Topics that a request names. The tenant may use none of them, so no broker is asked, and each request costs the
gateway a millisecond."""
DEPTH = 8
SECONDS = 3.0
PERCENT = 20
OFF = 100
"""The value that turns the budget off."""
PATIENCE_S = 0.1
"""Of the neighbour: what it waits at most for half of its answers, on a machine that is busy with other tests."""


class Load(NamedTuple):
    """What came of a tenant's requests."""

    answered: int
    throttles_ms: list[int]
    longest_gap_s: float
    cpu: float
    """CPU time of the gateway in that time, per second."""


class Neighbour(NamedTuple):
    """What came of another tenant's requests meanwhile."""

    taken_s: list[float]
    throttles_ms: list[int]
    cpu_alone: float
    """CPU time of the gateway per second before the first tenant began."""


def saturate(gateway: GatewayProcess, seconds: float) -> Load:
    """Let acme send costly requests, several in flight, as fast as they are answered."""
    topics = [MetadataRequest.MetadataRequestTopic(name=f"not-allowed-{number}") for number in range(NAMES)]
    frame = request_frame(MetadataRequest(topics=topics, allow_auto_topic_creation=False), VERSION, 1)
    count, throttles, gap_s = 0, list[int](), 0.0
    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=20) as client:
        client.send_bytes(frame * DEPTH)
        began = last = time.monotonic()
        cpu_s, until = cpu_of(gateway), last + seconds
        while last < until:
            answer = client.receive_frame()
            now = time.monotonic()
            gap_s, last = max(gap_s, now - last), now
            throttles.append(decode_throttle(answer))
            client.send_bytes(frame)
            count += 1
        cpu = (cpu_of(gateway) - cpu_s) / (time.monotonic() - began)
    return Load(count, throttles, gap_s, cpu)


def cpu_of(gateway: GatewayProcess) -> float:
    """Return the CPU time that a gateway has used, in seconds."""
    fields = Path(f"/proc/{gateway.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def decode_throttle(frame: bytes) -> int:
    """Return `throttle_time_ms` of a Metadata response: behind the correlation ID and an empty list of tags."""
    return int.from_bytes(frame[5:9], "big", signed=True)


def beside(gateway: GatewayProcess, seconds: float) -> tuple[Load, Neighbour]:
    """Do the same while globex asks for little, again and again."""
    taken_s, throttles_ms, stop = list[float](), list[int](), threading.Event()

    def ask() -> None:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
        with RawClient.authenticated(gateway.broker_endpoint("globex"), timeout_s=20) as client:
            while not stop.is_set():
                began = time.monotonic()
                answer = client.request(request, VERSION)
                taken_s.append(time.monotonic() - began)
                throttles_ms.append(answer.throttle_time_ms)
                time.sleep(0.005)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        time.sleep(0.2)
        cpu_s = cpu_of(gateway)
        time.sleep(1)
        cpu_alone = cpu_of(gateway) - cpu_s
        load = saturate(gateway, seconds)
    finally:
        stop.set()
        thread.join(30)
    return load, Neighbour(taken_s, throttles_ms, cpu_alone)


def waits(gateway: GatewayProcess, tenant: str) -> float:
    labels = {"limit": "gateway_time_percent", "tenant": tenant}
    return value(gateway, "kafka_proxy_limits_hit_total", **labels)


def assert_limited(gateway: GatewayProcess, percent: int) -> None:
    """Check that acme has its share beside globex, and no more, and all of the time alone."""
    alone = saturate(gateway, SECONDS)
    assert max(alone.throttles_ms) == 0
    assert waits(gateway, "acme") == 0

    load, neighbour = beside(gateway, SECONDS)

    # It may use its share of a second at once. The budget is of time that passes: where other processes take a part of
    # that, less is left.
    assert load.cpu - neighbour.cpu_alone <= percent / 100 + percent / 100 / SECONDS + 0.05
    assert load.cpu >= percent / 100 / 5, "it has its share"
    assert max(load.throttles_ms) > 0, "it is told to wait"
    assert load.longest_gap_s >= 0.03, "it is paused"
    assert waits(gateway, "acme") > 0
    assert waits(gateway, "globex") == 0
    assert max(neighbour.throttles_ms) == 0
    assert len(neighbour.taken_s) > 50
    assert statistics.median(neighbour.taken_s) < PATIENCE_S

    again = saturate(gateway, SECONDS)
    assert max(again.throttles_ms[-20:]) == 0, "a second later it is alone again"
    assert again.answered > load.answered


def limits(percent: int) -> dict[str, int]:
    return {"gateway_time_percent": percent, "broker_time_percent": OFF}


def test_a_tenant_beside_others_has_its_share_of_the_gateways_time(start_gateway: StartGateway) -> None:
    assert_limited(start_gateway(has_admin=True, limits=limits(PERCENT)), PERCENT)


def test_without_the_budget_the_same_test_fails(start_gateway: StartGateway) -> None:
    gateway = start_gateway(has_admin=True, limits=limits(OFF))

    with pytest.raises(AssertionError):
        assert_limited(gateway, PERCENT)

    load, _ = beside(gateway, 1.0)
    assert max(load.throttles_ms) == 0
    assert waits(gateway, "acme") == 0
