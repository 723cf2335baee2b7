"""Virtual clusters that share one TLS port: real clients reach their own by its host names, and no other."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from support.clients import sni_clients
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.tls_endpoint import TlsEndpoint
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import HOST, GatewayProcess
from support.gateways.hosts_file import may_have_hosts
from support.identity.certificates import Authority
from support.skips.optional_parts import HOST_NAMES, lacks

DOMAIN = "kafka.example.com"
TESTS = Path(__file__).parents[2]
RELOAD_TIMEOUT_S = 60.0


class SharedPorts(GatewayProcess):
    """A gateway with two ports: `shop` and `bank` share the first, `farm` and `mill` the second."""

    def __init__(
        self, directory: Path, upstream: str, workers: int = 1, *, has_passwords: bool = True
    ) -> None:
        """Describe a gateway whose virtual clusters have a user each, with a password or else a certificate."""
        super().__init__(directory, upstream)
        self.folder = directory / "proxy.yaml"  # what the process is given
        self._bootstrap_servers = upstream
        self._workers = workers
        self._has_passwords = has_passwords
        self._authority = authority = Authority("CA")
        self.ca_file = authority.write(directory / "ca.pem")
        self.folder.mkdir()
        for name in ("server", "another"):
            authority.server(f"*.{DOMAIN}").write(self.folder, name)

    @property
    def ports(self) -> tuple[int, int]:
        return self.bootstrap_port, self.bootstrap_port + 1

    def write(self, name: str, port: int, certificate: str = "server", *, has_names: bool = True) -> Path:
        """Write the document of a virtual cluster with this name and port; without host names it has the port alone."""
        listener: dict[str, Any] = {"bind": HOST, "port": port}
        tls = {"certificateFile": f"{certificate}.pem", "keyFile": f"{certificate}.key"}
        auth: dict[str, Any] = {"credentials": [{"username": name, "passwordFile": "password"}]}
        if not self._has_passwords:
            listener["securityProtocol"] = "SSL"
            tls |= {"clientAuth": "required", "clientCaFile": str(self.ca_file)}
            auth = {"principals": [f"CN={name}"]}
        names: dict[str, Any] = {
            "bootstrapHost": f"{{tenant}}.{DOMAIN}",
            "brokerHost": f"b{{node_id}}-{{tenant}}.{DOMAIN}",
        }
        spec = {
            "listener": listener | ({"sni": names} if has_names else {"advertisedHost": HOST}) | {"tls": tls},
            "targetCluster": {"bootstrapServers": self._bootstrap_servers},
            "auth": auth,
        }
        return self._write(name, "KafkaVirtualCluster", spec)

    def client(self, port: int, host: str, subject: str | None = None) -> RawClient:
        """Connect to a port by TLS, and say a host; with the certificate of a subject, if one is given."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if subject is not None:
            files = self._authority.client(subject).write(self.directory, subject)
            context.load_cert_chain(files.certificate, files.key)
        return RawClient(Endpoint(HOST, port), context=context, server_name=f"{host}.{DOMAIN}")

    def user(self, port: int, name: str) -> RawClient:
        """Connect by the name of a virtual cluster as its user."""
        client = self.client(port, f"b1-{name}")
        client.authenticate(name, "pw")
        return client

    def refusal(
        self, port: int, host: str, subject: str | None = None, reason: str = "unknown_server_name"
    ) -> str:
        """Return why the log says that a client with this host was closed, which it must be."""
        mark = self.mark()
        with self.client(port, host, subject) as client, pytest.raises((OSError, EOFError)):
            client.request(MetadataRequest(topics=[]), 9)
        return str(self.await_event(mark, reason=reason)["detail"])

    def await_reload(self, mark: int) -> None:
        """Wait until the gateway has noticed what has changed since."""
        self.await_event(mark, event="reloaded", outcome="applied", timeout_s=RELOAD_TIMEOUT_S)

    def _write_configuration(self) -> None:
        (self.folder / "password").write_text("pw")
        limits = {"maxAuthenticationDelayMs": 0, "drainTimeoutMs": 5000}
        spec = {"watchFilesMs": 300, "limits": limits} | ({"workers": 2} if self._workers > 1 else {})
        self._write("gateway", "KafkaGateway", spec)
        first, second = self.ports
        for name, port in (("shop", first), ("bank", first), ("farm", second), ("mill", second)):
            self.write(name, port)

    def _write(self, name: str, kind: str, spec: dict[str, Any]) -> Path:
        document = {
            "apiVersion": "gateway.corp/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        file, new = self.folder / f"{name}.yaml", self.folder / f".{name}.new"
        new.write_text(yaml.safe_dump(document, sort_keys=False))
        new.replace(file)  # no reader sees half a file
        return file


def is_served(client: RawClient) -> bool:
    """Whether the connection still lives."""
    try:
        return bool(client.request(MetadataRequest(topics=[]), 5).brokers)
    except (EOFError, OSError):
        return False


@pytest.fixture(scope="module")
def gateway(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedPorts]:
    with SharedPorts(tmp_path_factory.mktemp("shared-ports"), kafka.bootstrap) as process:
        yield process


@pytest.fixture(params=[1, 2], ids=["one process", "two workers"])
def changing(request: pytest.FixtureRequest, kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[SharedPorts]:
    """A gateway whose documents come and go."""
    with SharedPorts(tmp_path, kafka.bootstrap, request.param) as process:
        yield process


@pytest.mark.skipif(
    not may_have_hosts(), reason=lacks(HOST_NAMES, "this system lets no user have a mount namespace")
)
@pytest.mark.parametrize(
    ("library", "name"),
    [("confluent_kafka", "shop"), ("confluent_kafka", "bank"), ("java", "bank"), ("kafka_python", "shop")],
)
def test_a_library_finds_its_own_virtual_cluster_by_names_alone(
    library: str, name: str, gateway: SharedPorts, fresh_topic: FreshTopic
) -> None:
    fresh_topic(name, sni_clients.TOPIC)
    port = gateway.ports[0]
    own, broker = f"{name}.{DOMAIN}", f"b1-{name}.{DOMAIN}"
    endpoint = TlsEndpoint(own, port, name, "pw", sni_clients.MECHANISM, ca_file=gateway.ca_file)

    saw = sni_clients.play(library, endpoint, gateway.directory / "hosts", [own, broker])

    assert saw["values"] == sni_clients.VALUES
    assert saw["brokers"] == [f"{broker}:{port}"]


def test_each_sees_its_own_topics_alone(gateway: SharedPorts, fresh_topic: FreshTopic) -> None:
    fresh_topic("shop", "baskets")
    fresh_topic("bank", "accounts")

    for name, own, foreign in (("shop", "baskets", "accounts"), ("bank", "accounts", "baskets")):
        with gateway.user(gateway.ports[0], name) as client:
            topics = {one.name for one in client.request(MetadataRequest(topics=None), 9).topics}
        assert own in topics
        assert foreign not in topics


@pytest.mark.parametrize("host", ["stranger", "b1-stranger", "farm", "b1-farm", "B1-Mill"])
def test_a_name_that_is_not_of_this_port_is_closed(gateway: SharedPorts, host: str) -> None:
    first, second = gateway.ports

    assert gateway.refusal(first, host) == f"{host}.{DOMAIN} is the host of no tenant of this listener set"
    if "stranger" not in host:
        with gateway.client(second, host) as client:
            client.authenticate(host.lower().removeprefix("b1-"), "pw")


@pytest.mark.parametrize(("host", "user"), [("shop", "bank"), ("b1-bank", "shop"), ("shop", "farm")])
def test_a_user_of_another_does_not_come_in(gateway: SharedPorts, host: str, user: str) -> None:
    with gateway.client(gateway.ports[0], host) as client:
        answer = client.try_to_authenticate(user, "pw")

    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_certificate_is_of_its_own_virtual_cluster_alone(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with SharedPorts(tmp_path, kafka.bootstrap, has_passwords=False) as gateway:
        port = gateway.ports[0]
        for name in ("shop", "bank"):
            with gateway.client(port, f"b1-{name}", name) as client:
                [broker] = client.request(MetadataRequest(topics=[]), 9).brokers
            assert (broker.host, broker.port) == (f"b1-{name}.{DOMAIN}", port)

        for subject in ("shop", "farm"):
            refused = gateway.refusal(port, "bank", subject, reason="authentication_failed")
            assert refused == f"User:CN={subject} belongs to another tenant than bank.{DOMAIN}"
        assert "of no tenant" in gateway.refusal(port, "farm", "farm")
        gateway.refusal(port, "bank", "stranger", reason="authentication_failed")


def test_virtual_clusters_come_and_go_at_their_port(changing: SharedPorts) -> None:
    port = changing.ports[0]
    assert "of no tenant" in changing.refusal(port, "new")
    with changing.user(port, "shop") as shop, changing.user(port, "bank") as bank:
        mark = changing.mark()
        changing.write("new", port)
        changing.await_reload(mark)
        with changing.user(port, "new") as new:
            assert [is_served(one) for one in (new, shop, bank)] == [True, True, True]

        mark = changing.mark()
        (changing.folder / "bank.yaml").unlink()
        changing.await_reload(mark)
        assert not is_served(bank)
        assert is_served(shop)
        assert "of no tenant" in changing.refusal(port, "bank")


def test_a_virtual_cluster_moves_to_another_port(changing: SharedPorts) -> None:
    first, second = changing.ports
    with (
        changing.user(second, "farm") as farm,
        changing.client(second, "farm") as nobody_yet,
        changing.user(second, "mill") as mill,
        changing.user(first, "shop") as shop,
    ):
        mark = changing.mark()
        changing.write("farm", first)
        changing.await_reload(mark)

        assert not is_served(farm)
        assert nobody_yet.receives_end()
        assert [is_served(one) for one in (mill, shop)] == [True, True]
    assert changing.await_event(mark, event="connection_ended", tenant="farm")["reason"] == "reconfigured"
    assert "of no tenant" in changing.refusal(second, "farm")
    with changing.user(first, "farm") as farm:
        assert is_served(farm)


def test_a_port_does_not_lose_its_host_names_while_the_gateway_runs(changing: SharedPorts) -> None:
    changing.provoked.add("reload_refused")
    port = changing.ports[1]
    mark = changing.mark()
    (changing.folder / "mill.yaml").unlink()
    changing.await_reload(mark)
    with changing.user(port, "farm") as farm:
        mark = changing.mark()
        changing.write("farm", port, has_names=False)
        refused = changing.await_event(mark, event="reload_refused", timeout_s=RELOAD_TIMEOUT_S)

        assert is_served(farm)
    assert f"port {port} on {HOST} is in use by another listener of this gateway" in refused["error"]


def test_a_document_that_contradicts_the_others_changes_nothing(changing: SharedPorts) -> None:
    changing.provoked.add("reload_refused")
    port = changing.ports[0]
    with changing.user(port, "shop") as shop:
        mark = changing.mark()
        changing.write("new", port, certificate="another")
        refused = changing.await_event(mark, event="reload_refused", timeout_s=RELOAD_TIMEOUT_S)

        assert "tls differs: make the two the same, or take another port" in refused["error"]
        assert is_served(shop)
    assert "of no tenant" in changing.refusal(port, "new")
