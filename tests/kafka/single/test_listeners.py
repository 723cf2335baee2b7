"""A single address behind each security protocol: what clients write to leaders of all brokers, they read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.round_trips import TOPIC, by_aiokafka, by_confluent, by_python
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.identity.certificates import Authority

PARTITIONS, VALUES = 6, [b"value %d" % number for number in range(300)]
WAIT_S = 40.0


@pytest.fixture(scope="module", params=["PLAINTEXT", "SSL", "SASL_SSL"])
def endpoint(
    request: pytest.FixtureRequest,
    kafka_cluster: EmbeddedKafka,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Endpoint]:
    """Start a gateway with such a listener, and return how clients get there."""
    # A tenant of its own, so that no test sees the records of another.
    tenant = TenantSpec(f"single-{request.param.lower().replace('_', '-')}", principals=("shop",))
    folder: Path = tmp_path_factory.mktemp("listener")
    authority = Authority("CA of all")
    ca_file = authority.write(folder / "ca.pem")
    server = authority.server(HOST, "localhost").write(folder, "server")
    shop = authority.client("shop").write(folder, "shop")
    tls: dict[str, Any] = {"certificate_file": str(server.certificate), "key_file": str(server.key)}
    mutual = {
        "client_auth": "required",
        "client_ca_file": str(ca_file),
        "principal_mapping_rules": "RULE:^CN=([^,]+)(,.*)?$/$1/L",
    }
    listener: dict[str, Any] = {
        "PLAINTEXT": {"tenant": tenant.name},
        "SSL": {"tls": tls | mutual},
        "SASL_SSL": {"tls": tls},
    }[request.param]
    (folder / "gateway").mkdir()
    with GatewayProcess(
        folder / "gateway",
        kafka_cluster.bootstrap,
        tenants=(tenant,),
        brokers=3,
        is_single_address=True,
        listener=listener | {"security_protocol": request.param},
    ) as gateway:
        port, user = gateway.bootstrap_port, gateway.endpoint(tenant.name, "SCRAM-SHA-512")
        yield {
            "PLAINTEXT": Endpoint(HOST, port),
            "SSL": TlsEndpoint(HOST, port, ca_file=ca_file, client=shop),
            "SASL_SSL": TlsEndpoint(
                HOST, port, user.username, user.password, user.mechanism, ca_file=ca_file
            ),
        }[request.param]


def test_clients_write_and_read_over_every_protocol(endpoint: Endpoint) -> None:
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(WAIT_S)
    deadline = time.monotonic() + WAIT_S
    while len(admin.list_topics(TOPIC, timeout=WAIT_S).topics[TOPIC].partitions) < PARTITIONS:
        assert time.monotonic() < deadline
        time.sleep(0.05)

    found = by_confluent({**endpoint.for_confluent, "sticky.partitioning.linger.ms": 0}, *VALUES)

    assert sorted(one or b"" for one in found) == sorted(VALUES)
    assert by_python(endpoint.for_python, b"more") in (*VALUES, b"more")
    assert by_aiokafka(endpoint.for_aiokafka, b"more") in (*VALUES, b"more")


def test_the_first_client_does_not_wait_until_the_router_is_loaded(
    kafka_cluster: EmbeddedKafka, tmp_path: Path
) -> None:
    with GatewayProcess(tmp_path, kafka_cluster.bootstrap, brokers=3, is_single_address=True) as gateway:
        loaded = Path(f"/proc/{gateway.pid}/maps").read_text()

    assert "straight_relay" in loaded
