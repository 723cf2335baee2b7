"""What takes its time: a client at full speed over a long way, and one that gives up. `make faults` has it."""

from __future__ import annotations

import os
import socket

import confluent_kafka
import psutil
import pytest

from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_offset
from support.faults.fast_producer import (
    MIB,
    WAIT_S,
    FastProducer,
    watching,
)
from support.faults.fault import Fault
from support.faults.line import Line
from support.gateways.admin_port import ask, value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.worker_gateway import await_true
from support.physical_names import physical_name

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="the one process is measured")

MAX_IN_FLIGHT = 100
"""What a connection may have by default; the gateway reads no more of it until something is answered."""
FLAT = 12 * MIB
"""What the gateway's memory may grow by: 1 MiB waits to be written, some frames are received; the rest is a reserve."""


def test_a_producer_at_full_speed_over_a_long_way_loses_nothing(line: Line, unique: UniqueName) -> None:
    topic, count = unique("far"), 600
    line.make_topics(topic, partitions=1)
    payload = os.urandom(10_000)
    late = Fault(latency_s=0.25)
    settings = {"enable.idempotence": True, "linger.ms": 5, "queue.buffering.max.kbytes": 65_536}
    producer = confluent_kafka.Producer(line.tenant.for_confluent | settings)
    producer.list_topics(topic, WAIT_S)
    flat = psutil.Process(line.gateway.pid).memory_info().rss
    failed: list[object] = []

    with watching(line.gateway) as seen, line.proxy("broker").fault(toward_broker=late, toward_client=late):
        for _ in range(count):
            producer.produce(topic, payload, on_delivery=lambda error, _: error and failed.append(error))
        assert producer.flush(WAIT_S) == 0

    assert failed == []
    with RawClient(line.broker) as broker:
        await_offset(broker, physical_name(line.tenant_name, topic), count)
    assert max(seen.memory) - flat < FLAT


def test_a_client_that_gives_up_a_silent_broker_leaves_nothing_behind(line: Line, unique: UniqueName) -> None:
    topic = unique("given-up")
    line.make_topics(topic, partitions=1)
    with line.proxy("broker").fault(toward_broker=Fault(is_silent=True)):
        producer = FastProducer.authenticated(
            line.gateway.broker_endpoint(line.tenant_name), timeout_s=WAIT_S
        )
        producer.pour(topic)
        await_true(producer.stands_still, "nothing more is accepted", 60)
        assert line.connections == 1
        producer.socket.shutdown(socket.SHUT_RDWR)
        producer.close()

        await_true(lambda: line.connections == 0, "the connection ends", 30)
    assert value(line.gateway, "kafka_proxy_buffered_bytes") == 0


def test_the_gateway_is_not_ready_while_its_broker_is_silent(line: Line) -> None:
    since = line.gateway.mark()
    silent = Fault(is_silent=True)
    with line.proxy("broker").fault(toward_broker=silent, toward_client=silent):
        failed = line.gateway.await_event(since, event="refresh_failed", timeout_s=60)
        assert line.kafka.told in failed["error"]
        await_true(lambda: ask(line.gateway, "/readyz")[0] == 503, "it is not ready", 60)

    await_true(lambda: ask(line.gateway, "/readyz")[0] == 200, "it is ready again", 60)


@pytest.mark.parametrize("requests", [50, 150], ids=["read", "unread"])
def test_requests_that_a_silent_broker_never_answers_end_with_their_client(line: Line, requests: int) -> None:
    silent = Fault(is_silent=True)
    with line.proxy("broker").fault(toward_broker=silent, toward_client=silent):
        with RawClient.authenticated(line.gateway.broker_endpoint(line.tenant_name)) as client:
            for _ in range(requests):
                client.send(MetadataRequest(topics=[]), 9)
            await_true(
                lambda: line.in_flight == min(requests, MAX_IN_FLIGHT), "all that may be are in flight"
            )

        await_true(lambda: line.connections == 0, "the connection ends", 60)
    assert line.in_flight == 0
