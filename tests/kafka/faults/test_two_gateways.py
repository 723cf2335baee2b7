"""Two gateways on addresses of their own behind a real HAProxy, killed under load; who is connected to the broker."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, warm_up
from support.clients.routed_client import RoutedClient
from support.faults.fault_proxy import Address
from support.faults.lasting_clients import CLIENT_ID, LastingClients
from support.faults.relayed_kafka import LISTENER, REQUEST_LOG, RelayedKafka
from support.gateways.gateway_process import HOST, INITECH, GatewayProcess
from support.gateways.haproxy import HAProxy, find_haproxy
from support.gateways.open_connections import connections_to
from support.gateways.worker_gateway import await_true
from support.physical_names import physical_name
from support.skips.optional_parts import HAPROXY, lacks

pytestmark = pytest.mark.skipif(find_haproxy() is None, reason=lacks(HAPROXY))

HOSTS = ("127.0.0.2", "127.0.0.3")
GATEWAYS = {"bifrost.cli.main", "bifrost.cli.worker"}
"""The modules of the processes that may connect to the broker."""
MOST = 40
"""Records that each client writes or reads between two events."""
REQUEST = re.compile(r'"clientId":"(.*?)".*"connection":"[\d.]+:\d+-([\d.]+):(\d+)-.*"listener":"(\w+)"')


class Programs:
    """Which program has connected to the broker from which address."""

    def __init__(self) -> None:
        self.at: dict[Address, str] = {}

    def note(self, address: Address, told: str) -> None:
        """Note which of the test's child processes is connected from here. The clients are in the test's own process.

        Args:
            address: of the connection.
            told: where it leads to: a port is used again for connections to elsewhere.
        """
        self.at[address] = _program_at(address, told)


def _program_at(address: Address, told: str) -> str:
    wanted = address, told
    for child in psutil.Process().children(recursive=True):
        try:
            connected = [one for one in child.net_connections("tcp4") if one.raddr]
            if wanted in [(tuple(one.laddr), f"{one.raddr.ip}:{one.raddr.port}") for one in connected]:
                return next((part for part in child.cmdline() if part.startswith("bifrost.")), child.name())
        except psutil.Error:
            continue
    return "no child of the test"


@pytest.fixture
def programs() -> Programs:
    return Programs()


@pytest.fixture
def kafka(programs: Programs) -> Iterator[RelayedKafka]:
    """A broker that logs each request."""
    with RelayedKafka(
        java_options=[REQUEST_LOG], accepted=lambda address: programs.note(address, one.told)
    ) as one:
        with RoutedClient(Endpoint(HOST, one.broker_port(1))) as client:
            warm_up(client)
        yield one


def gateway_at(host: str, directory: Path, kafka: RelayedKafka) -> GatewayProcess:
    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["admin"]["bind_host"] = host

    directory.mkdir()
    return GatewayProcess(
        directory,
        kafka.told,
        tenants=[INITECH],
        bind_host=host,
        has_admin=True,
        listener={"proxy_protocol": "required"},
        adjust=adjust,
    )


def requests(kafka: RelayedKafka) -> list[tuple[str, Address, str]]:
    """Return the client ID, the client's address and the listener of every request in the broker's log."""
    found = REQUEST.findall(kafka.log_file.read_text(encoding="utf-8", errors="replace"))
    return [(client_id, (host, int(port)), listener) for client_id, host, port, listener in found]


@pytest.mark.timeout(300)
def test_clients_go_on_by_the_other_gateway_and_brokers_see_gateways_alone(
    kafka: RelayedKafka, programs: Programs, tmp_path: Path
) -> None:
    with ExitStack() as stack:

        def start(host: str, name: str, first: GatewayProcess | None = None) -> GatewayProcess:
            gateway = gateway_at(host, tmp_path / name, kafka)
            stack.callback(gateway.kill)
            if first is None:
                gateway.start()
            else:
                gateway.start_second(first)
            return gateway

        def kill(gateway: GatewayProcess) -> None:
            """Kill a gateway that has clients."""
            await_true(lambda: clients_of(gateway) > 0, "clients are connected to it")
            os.kill(gateway.pid, signal.SIGKILL)

        one = start(HOSTS[0], "one")
        other = start(HOSTS[1], "other", one)
        stack.enter_context(HAProxy(tmp_path, one, HOSTS))
        clients = LastingClients(one.endpoint(INITECH.name), "killed")
        with RawClient(Endpoint(HOST, kafka.broker_port(1))) as admin:
            for writer in clients.writers:
                create_topic(admin, physical_name(INITECH.name, writer.topic), 2)
        with clients:
            clients.await_growth(MOST)
            kill(one)
            clients.await_growth(MOST)
            start(HOSTS[0], "again", one)
            kill(other)
            clients.await_growth(MOST)
            clients.finish(
                Endpoint(HOST, kafka.broker_port(1)), lambda name: physical_name(INITECH.name, name)
            )

    seen = requests(kafka)
    with RawClient(Endpoint(HOST, int(kafka.told.rpartition(":")[2]))) as stranger:
        # The check sees a client that comes past the gateways.
        stranger.versions()
        await_true(
            lambda: not programs_in(kafka, programs, requests(kafka)) <= GATEWAYS, "the stranger is seen"
        )
    assert programs_in(kafka, programs, seen) <= GATEWAYS
    assert any(listener == LISTENER for _, _, listener in seen)
    past = {client_id for client_id, _, listener in seen if listener != LISTENER}
    assert not any(CLIENT_ID in client_id for client_id in past)
    assert any(CLIENT_ID in client_id for client_id, _, _ in seen)


def programs_in(kafka: RelayedKafka, programs: Programs, seen: list[tuple[str, Address, str]]) -> set[str]:
    """Return the programs whose requests came through the listener that the broker tells."""
    return {programs.at[kafka.proxy.peers[address]] for _, address, listener in seen if listener == LISTENER}


def clients_of(gateway: GatewayProcess) -> int:
    """Return how many connections to its ports a gateway has."""
    return connections_to(gateway.pid, {gateway.bootstrap_port, gateway.broker_port(1)})
