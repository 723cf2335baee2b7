"""The bytes of frames that a gateway holds are bounded, also where clients do not read; others go on meanwhile."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import fetch_request, produce, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="the one process is measured")

MIB = 1 << 20
MOST = 200 * MIB
WHOLE, SENT = 99 * MIB, 90 * MIB
ATTACKERS = 8


def rss(gateway: GatewayProcess) -> int:
    return int(psutil.Process(gateway.pid).memory_info().rss)


class Largest:
    """The most memory that a gateway has had."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._gateway, self.bytes, self._is_over = gateway, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._is_over.wait(0.02):
            self.bytes = max(self.bytes, rss(self._gateway))

    def stop(self) -> int:
        self._is_over.set()
        self._thread.join()
        return self.bytes


@contextmanager
def pouring(clients: list[RawClient], data: bytes, size: int) -> Iterator[None]:
    """Let clients send so many bytes each, as far as they are read."""
    is_over = threading.Event()

    def pour(client: RawClient) -> None:
        client.socket.settimeout(0.2)
        sent = 0
        while sent < size and not is_over.is_set():
            with suppress(TimeoutError, OSError):
                sent += client.socket.send(data[: min(len(data), size - sent)])

    threads = [threading.Thread(target=pour, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_requests_that_never_end_do_not_fill_the_memory(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", "orders")
    gateway = start_gateway(has_admin=True)
    attackers = [RawClient.authenticated(gateway.broker_endpoint("acme")) for _ in range(ATTACKERS)]
    largest = Largest(gateway)
    # Two partitions, so that it cannot go on before it is whole.
    head = WHOLE.to_bytes(4, "big") + request_frame(fetch_request("orders"), 11, 1)[4:]
    for attacker in attackers:
        attacker.socket.sendall(head)

    with (
        pouring(attackers, bytes(MIB), SENT - len(head)),
        RawClient.authenticated(gateway.broker_endpoint("globex")) as victim,
    ):
        began_s = time.monotonic()
        offsets = []
        while time.monotonic() - began_s < 8:
            offsets.append(produce(victim, "orders", [bytes(1000)] * 100))
        large = build_batch([bytes(1000)] * 600)
        answer = victim.request(produce_request("orders", large), 9)

    assert len(offsets) >= 8
    assert not answer.responses[0].partition_responses[0].error_code
    assert largest.stop() < MOST
    for attacker in attackers:
        attacker.close()
    # Half of an attacker's frame had room, and the others are still whole connections: nothing was lost.
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as again:
        again.request(fetch_request("orders"), 11)


def test_strangers_that_never_end_their_frames_hold_little(start_gateway: StartGateway) -> None:
    gateway = start_gateway()
    before = rss(gateway)
    strangers = [socket.create_connection((HOST, gateway.broker_port(1))) for _ in range(300)]
    for number, stranger in enumerate(strangers):
        # Of some nothing but a part of the length.
        stranger.sendall((16_000).to_bytes(4, "big") + bytes(15_000) if number % 3 else b"\0\0")
    time.sleep(2)

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        client.request(fetch_request("orders"), 11)

    assert rss(gateway) - before < 20 * MIB
    for stranger in strangers:
        stranger.close()


def test_a_frame_that_takes_too_long_ends_its_connection(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"frame_timeout_ms": 1_000})
    since = gateway.mark()
    slow = RawClient.authenticated(gateway.broker_endpoint("acme"))
    slow.socket.sendall((50 * MIB).to_bytes(4, "big"))

    ended = gateway.await_event(since, event="connection_ended", reason="frame_timeout")

    assert ended["tenant"] == "acme"
    slow.close()


def test_large_requests_go_one_after_the_other(start_gateway: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(limits={"max_buffered_bytes": 4 * MIB, "max_buffered_bytes_total": 6 * MIB})
    endpoint: Endpoint = gateway.broker_endpoint("acme")
    clients = [RawClient.authenticated(endpoint) for _ in range(6)]
    batch = build_batch([os.urandom(1000)] * 900)
    request = produce_request("orders", batch)
    # A tagged field of its own behind the records keeps it from going on before it is whole.
    threads = [threading.Thread(target=client.request, args=(request, 9)) for client in clients]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert not any(thread.is_alive() for thread in threads)
    for client in clients:
        client.close()


def test_answers_that_the_client_does_not_read_do_not_fill_the_memory(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    fresh_topic("globex", "orders")
    gateway = start_gateway()
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as producer:
        batch = build_batch([os.urandom(1000)] * 900)
        for _ in range(20):
            producer.request(produce_request("orders", batch), 9)
    readers = [RawClient.authenticated(gateway.broker_endpoint("acme")) for _ in range(250)]
    for reader in readers:
        reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    largest = Largest(gateway)

    for reader in readers:
        request = fetch_request("orders")
        request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = 16 * MIB
        for _ in range(4):
            reader.send(request, 11)
    time.sleep(3)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as victim:
        assert produce(victim, "orders", [b"one"]) == 0

    assert largest.stop() < MOST
    for reader in readers:
        reader.close()
