"""Two gateways with one address behind a real TCP load balancer, each killed once while clients write and read."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.faults.lasting_clients import LastingClients
from support.gateways.gateway_process import HOST, INITECH, GatewayProcess
from support.gateways.haproxy import HAProxy, find_haproxy
from support.gateways.open_connections import connections_to
from support.gateways.worker_gateway import await_true
from support.physical_names import physical_name
from support.skips.optional_parts import HAPROXY, lacks

pytestmark = pytest.mark.skipif(find_haproxy() is None, reason=lacks(HAPROXY))

HOSTS = ("127.0.0.4", "127.0.0.5")
MOST = 40
"""Records that each client writes or reads between two events."""
PARTITIONS = 6
WAIT_S = 60.0
PROTOCOLS = ["classic", "consumer"] if version_under_test() == DEFAULT_VERSION else ["classic"]
"""Of groups; those of KIP-848 are not there, or not switched on, before 4.0."""


def gateway_at(host: str, directory: Path, kafka: EmbeddedKafka) -> GatewayProcess:
    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["admin"]["bind_host"] = host

    directory.mkdir()
    return GatewayProcess(
        directory,
        kafka.bootstrap,
        tenants=[INITECH],
        bind_host=host,
        brokers=3,
        has_admin=True,
        listener={"proxy_protocol": "required"},
        adjust=adjust,
        is_single_address=True,
    )


@pytest.mark.timeout(300)
def test_clients_go_on_by_the_other_gateway_and_lose_nothing(
    kafka_cluster: EmbeddedKafka, tmp_path: Path
) -> None:
    with ExitStack() as stack:

        def start(host: str, name: str, first: GatewayProcess | None = None) -> GatewayProcess:
            gateway = gateway_at(host, tmp_path / name, kafka_cluster)
            stack.callback(gateway.kill)
            if first is None:
                gateway.start()
            else:
                gateway.start_second(first)
            return gateway

        def kill(gateway: GatewayProcess) -> None:
            """Kill a gateway that has clients."""
            await_true(
                lambda: connections_to(gateway.pid, {gateway.bootstrap_port}) > 0, "clients are connected"
            )
            os.kill(gateway.pid, signal.SIGKILL)

        one = start(HOSTS[0], "one")
        other = start(HOSTS[1], "other", one)
        stack.enter_context(HAProxy(tmp_path, one, HOSTS))
        endpoint = one.endpoint(INITECH.name)
        clients = LastingClients(endpoint, "balanced", PROTOCOLS)
        admin = AdminClient(endpoint.for_confluent)
        topics = [NewTopic(writer.topic, PARTITIONS, 3) for writer in clients.writers]
        for future in admin.create_topics(topics).values():
            future.result(WAIT_S)
        with clients:
            clients.await_growth(MOST)
            kill(one)
            clients.await_growth(MOST)
            start(HOSTS[0], "again", one)
            kill(other)
            clients.await_growth(MOST)
            clients.finish(
                Endpoint(HOST, kafka_cluster.broker_port(1)), lambda name: physical_name(INITECH.name, name)
            )

    assert all(writer.count >= 3 * MOST for writer in clients.writers)
