"""Brokers that leave, come back and move: the gateway follows, and clients reach them at the same ports of its own."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec

BROKERS = 3
TENANT = TenantSpec("acme")
QUICK = {"metadata_refresh_ms": 1000, "broker_grace_ms": 1000}
FOLLOWED_S = 30.0

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(brokers=BROKERS, heap_mb=256) as kafka:
        yield kafka


@pytest.fixture
def follower(cluster: EmbeddedKafka, tmp_path: Path) -> Iterator[GatewayProcess]:
    process = GatewayProcess(tmp_path, cluster.bootstrap, tenants=[TENANT], brokers=BROKERS, limits=QUICK)
    with process as gateway:
        yield gateway


def brokers_of(gateway: GatewayProcess, node_id: int = 1) -> dict[int, int]:
    """The brokers that a client of one of them is told of, with their ports."""
    with RawClient.authenticated(gateway.broker_endpoint(TENANT.name, node_id)) as client:
        return {one.node_id: one.port for one in client.request(MetadataRequest(topics=[]), 9).brokers}


def await_brokers(gateway: GatewayProcess, *node_ids: int) -> None:
    """Wait until clients are told of these and no others."""
    expected = {node_id: gateway.broker_port(node_id) for node_id in node_ids}
    deadline = time.monotonic() + FOLLOWED_S
    while (found := brokers_of(gateway)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def test_brokers_are_followed(cluster: EmbeddedKafka, follower: GatewayProcess) -> None:
    await_brokers(follower, 1, 2, 3)
    with RawClient.authenticated(follower.broker_endpoint(TENANT.name)) as bystander:
        mark = follower.mark()

        cluster.stop_broker(3)
        follower.await_event(mark, event="broker_gone", node_id=3, timeout_s=FOLLOWED_S)
        await_brokers(follower, 1, 2)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((HOST, follower.broker_port(3)))

        mark, before = follower.mark(), cluster.broker_port(3)
        cluster.start_broker(3, is_moved=True)
        assert cluster.broker_port(3) != before
        follower.await_event(mark, event="listening", stands_for="broker 3", timeout_s=FOLLOWED_S)
        await_brokers(follower, 1, 2, 3)
        assert brokers_of(follower, 3) == brokers_of(follower, 1)

        assert len(bystander.request(MetadataRequest(topics=[]), 9).brokers) == BROKERS


def test_clients_that_bootstrap_find_a_broker_while_one_is_dead(
    cluster: EmbeddedKafka, follower: GatewayProcess
) -> None:
    """The cluster names it for some seconds still; one client in three would be led to it."""
    await_brokers(follower, 1, 2, 3)
    lost = 0
    cluster.kill_broker(3)
    try:
        mark = follower.mark()
        for _ in range(40):
            try:
                with RawClient.authenticated(follower.endpoint(TENANT.name)) as client:
                    client.request(MetadataRequest(topics=[]), 9)
            except (OSError, EOFError):
                lost += 1
        assert not any(event["event"] == "broker_gone" for event in follower.events(mark)), (
            "it is known as dead"
        )
        assert lost <= 1
    finally:
        cluster.start_broker(3)
        await_brokers(follower, 1, 2, 3)


def test_a_broker_that_moves_in_a_moment_is_reached_where_it_is_now(
    cluster: EmbeddedKafka, follower: GatewayProcess
) -> None:
    await_brokers(follower, 1, 2, 3)

    cluster.stop_broker(2)
    cluster.start_broker(2, is_moved=True)

    deadline = time.monotonic() + FOLLOWED_S
    while True:
        try:
            found = brokers_of(follower, 2)
            break
        except (OSError, EOFError):
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert found[2] == follower.broker_port(2)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_port_of_a_broker_that_is_fenced_for_a_moment_stays_open(
    cluster: EmbeddedKafka, tmp_path: Path, workers: int
) -> None:
    limits = {"metadata_refresh_ms": 1000, "upstream_connect_timeout_ms": 1000}
    paused = 3
    with GatewayProcess(
        tmp_path,
        cluster.bootstrap,
        tenants=[TENANT],
        brokers=BROKERS,
        limits=limits,
        proxy={"workers": workers},
    ) as gateway:
        await_brokers(gateway, 1, 2, 3)
        mark, pid = gateway.mark(), cluster.pids[paused - 1]
        os.kill(pid, signal.SIGSTOP)
        try:
            gateway.await_event(mark, event="brokers_away", node_ids=[paused], timeout_s=FOLLOWED_S)
            await_brokers(gateway, 1, 2)
            endpoint = gateway.broker_endpoint(TENANT.name, paused)
            for _ in range(3):
                # It is let in and gets no answer, as at the broker itself: clients try again.
                with RawClient.authenticated(endpoint, timeout_s=1.0) as client, pytest.raises(TimeoutError):
                    client.request(MetadataRequest(topics=[]), 9)
        finally:
            os.kill(pid, signal.SIGCONT)
        await_brokers(gateway, 1, 2, 3)
        assert brokers_of(gateway, paused) == brokers_of(gateway, 1)
        assert [one for one in gateway.events(mark) if one["event"] == "broker_gone"] == []


def test_a_broker_that_is_away_has_one_line_however_often_clients_try(
    cluster: EmbeddedKafka, tmp_path: Path
) -> None:
    with GatewayProcess(tmp_path, cluster.bootstrap, tenants=[TENANT], brokers=BROKERS) as gateway:
        await_brokers(gateway, 1, 2, 3)
        mark, address = gateway.mark(), f"{HOST}:{cluster.broker_port(3)}"
        cluster.stop_broker(3)
        try:
            for _ in range(15):
                with pytest.raises((OSError, EOFError)):
                    brokers_of(gateway, 3)
            ended = gateway.await_event(mark, event="connection_ended", reason="broker_unreachable")
            assert (ended["broker"], ended["tenant"]) == (address, TENANT.name)
            assert len([one for one in gateway.events(mark) if one["event"] == "connection_ended"]) == 1
        finally:
            cluster.start_broker(3)
