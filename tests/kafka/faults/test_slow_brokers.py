"""A broker that is far or slow, and a producer at full speed: the gateway's memory stays flat, the producer waits."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_offset
from support.faults.fast_producer import (
    MIB,
    RECORDS,
    REQUESTS,
    WAIT_S,
    FastProducer,
    receive_window,
    watching,
)
from support.faults.fault import NO_FAULT, Fault
from support.faults.line import Line
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.proxy_relay import BEHIND
from support.gateways.worker_gateway import await_true
from support.physical_names import physical_name

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="the one process is measured")

LATE, NARROW = Fault(latency_s=0.5), Fault(bytes_per_s=100_000)
FLAT = 12 * MIB
"""What the gateway's memory may grow by: 1 MiB waits to be written, some frames are received; the rest is a reserve."""
ON_THE_WAY = 16 * MIB + int(Path("/proc/sys/net/ipv4/tcp_rmem").read_text().split()[2])
"""What the fault proxy (4 MiB), the gateway and what three connections send have room for in the kernel (4 MiB each at
most), and what the kernel lets the gateway's connection receive, 6 or 32 MiB."""


@pytest.mark.parametrize("fault", [LATE, NARROW], ids=["500 ms late", "100 KB/s"])
def test_back_pressure_reaches_a_producer_at_full_speed(fault: Fault, line: Line, unique: UniqueName) -> None:
    topic = unique("slow")
    line.make_topics(topic, partitions=1)
    port, user = line.gateway.broker_port(1), line.tenant
    endpoint = Endpoint(BEHIND, port, user.username, user.password)
    process = psutil.Process(line.gateway.pid)

    with FastProducer.authenticated(endpoint, timeout_s=WAIT_S) as producer:
        wide, flat = receive_window(producer.socket), process.memory_info().rss
        proxy = line.proxy("broker")
        delivered = proxy.bytes_toward_broker
        with watching(line.gateway, producer.socket) as seen, proxy.fault(toward_broker=fault):
            pouring = producer.pour(topic)
            await_true(lambda: min(seen.windows, default=wide) < wide // 4, "the window falls", 60)
            if fault is NARROW:
                await_true(producer.stands_still, "nothing more is accepted", 60)
                assert pouring.is_alive()
            else:
                while pouring.is_alive():
                    assert producer.sent - (proxy.bytes_toward_broker - delivered) < ON_THE_WAY
                    time.sleep(0.05)
            proxy.toward_broker = NO_FAULT
            answers = producer.answers()
            pouring.join(WAIT_S)

    assert [one.error_code for one in answers] == [ErrorCode.NONE] * REQUESTS
    assert [one.base_offset for one in answers] == [RECORDS * number for number in range(REQUESTS)]
    with RawClient(line.broker) as broker:
        await_offset(broker, physical_name(line.tenant_name, topic), RECORDS * REQUESTS)
    assert max(seen.memory) - flat < FLAT
    assert value(line.gateway, "kafka_proxy_reads_paused_seconds_total", side="client") > 0
