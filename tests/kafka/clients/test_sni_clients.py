"""One TLS port for all brokers and tenants: every client library finds its way by host names alone (SNI)."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from support.clients import sni_clients
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.gateways.hosts_file import may_have_hosts
from support.identity.certificates import Authority
from support.skips.optional_parts import HOST_NAMES, lacks

DOMAIN = "kafka.example.com"
TENANTS = (TenantSpec("acme", principals=("CN=shop",)), TenantSpec("globex"))
TESTS = Path(__file__).parents[2]


@dataclass(frozen=True)
class World:
    """A gateway with one port, and the files of the clients."""

    gateway: GatewayProcess
    folder: Path
    authority: Authority
    ca_file: Path

    @property
    def port(self) -> int:
        return self.gateway.bootstrap_port

    def client(self, server_name: str | None, *, checks_it: bool = True) -> RawClient:
        """Connect to the port, and say a name."""
        context = ssl.create_default_context(cafile=self.ca_file)
        context.check_hostname = checks_it
        return RawClient(Endpoint(HOST, self.port), context=context, server_name=server_name)


@pytest.fixture(scope="module")
def world(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("sni")
    authority = Authority("CA")
    ca_file = authority.write(folder / "ca.pem")
    server = authority.server(f"*.{DOMAIN}").write(folder, "server")
    tls = {"certificate_file": str(server.certificate), "key_file": str(server.key)}

    def by_name(configuration: dict[str, Any]) -> None:
        [listener_set] = configuration["proxy"]["listener_sets"]
        port_range = listener_set.pop("port_range")
        listener_set["sni"] = {
            "bind_host": port_range["bind_host"],
            "port": port_range["bootstrap_port"],
            "bootstrap_host": f"{{tenant}}.{DOMAIN}",
            "broker_host": f"b{{node_id}}-{{tenant}}.{DOMAIN}",
        }

    with GatewayProcess(
        folder,
        kafka.bootstrap,
        tenants=TENANTS,
        listener={"security_protocol": "SASL_SSL", "tls": tls},
        adjust=by_name,
    ) as gateway:
        yield World(gateway, folder, authority, ca_file)


@pytest.mark.skipif(
    not may_have_hosts(), reason=lacks(HOST_NAMES, "this system lets no user have a mount namespace")
)
@pytest.mark.parametrize("library", sorted(sni_clients.LIBRARIES))
def test_a_library_finds_its_way_by_names_alone(library: str, world: World, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", sni_clients.TOPIC)
    own, broker = f"acme.{DOMAIN}", f"b1-acme.{DOMAIN}"
    password, mechanism = TENANTS[0].password, sni_clients.MECHANISM
    endpoint = TlsEndpoint(own, world.port, "acme", password, mechanism, ca_file=world.ca_file)

    saw = sni_clients.play(library, endpoint, world.folder / "hosts", [own, broker])

    assert saw["values"] == sni_clients.VALUES
    assert saw["brokers"] == [f"{broker}:{world.port}"]


@pytest.mark.parametrize("host", ["acme", "b1-acme", "B1-Acme"])
def test_brokers_are_told_of_by_the_tenants_own_names(world: World, host: str) -> None:
    with world.client(f"{host}.{DOMAIN}") as client:
        client.authenticate("acme", TENANTS[0].password)
        brokers = client.request(MetadataRequest(topics=[]), 9).brokers

    assert [(broker.host, broker.port) for broker in brokers] == [(f"b1-acme.{DOMAIN}", world.port)]


@pytest.mark.parametrize("host", ["globex", "b1-globex", "unknown"])
def test_no_client_comes_in_by_another_tenants_name(world: World, host: str) -> None:
    with world.client(f"{host}.{DOMAIN}") as client:
        answer = client.try_to_authenticate("acme", TENANTS[0].password)

    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize("host", [None, "localhost", DOMAIN, f"b9-acme.{DOMAIN}", f"x.acme.{DOMAIN}"])
def test_a_name_that_stands_for_nothing_is_closed(world: World, host: str | None) -> None:
    mark = world.gateway.mark()

    with world.client(host, checks_it=False) as client, pytest.raises((OSError, EOFError)):
        client.request(MetadataRequest(topics=[]), 9)

    event = world.gateway.await_event(mark, reason="unknown_server_name")
    assert (host or "no host") in event["detail"]
