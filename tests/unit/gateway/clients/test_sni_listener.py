"""Who is let in to what, by the host name that it said; that clients say it is in tests/kafka."""

from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.authentication.accounts import Account, AuthenticationFailed
from bifrost.config.fields.listener_sets import ListenerSet, PortRange
from bifrost.config.fields.sni import Sni
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.clients.sni_listener import SniListener, listener_of
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.server_tls import TlsFailure
from bifrost.session.close_reason import CloseReason
from support.stage.stage import Stage

from .line import FakeGateway

SNI = Sni(
    port=9093,
    bootstrap_host="{tenant}.kafka.example.com",
    broker_host="b{node_id}-{tenant}.kafka.example.com",
)


class OneCluster:
    """Knows the brokers 1 and 2; counts who was asked for."""

    node_ids = frozenset({1, 2})

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.asked: list[int | None] = []

    def brokers_at(self, node_id: int | None) -> dict[str, Broker]:
        self.asked.append(node_id)
        if node_id not in {None, 1, 2}:
            return {}
        return {"kafka": Broker(node_id or 1, "kafka-1.internal", 9092, self.stage.versions)}


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Any:
    # Certificates play no part in what a name stands for.
    monkeypatch.setattr("bifrost.gateway.clients.listener.Ingress", lambda *_: None)
    stage = Stage()
    gateway: Any = FakeGateway(stage)
    gateway.clusters, gateway.config = OneCluster(stage), configuration("Acme", "globex")
    return gateway


def configuration(*tenants: str) -> Any:
    return SimpleNamespace(tenants=[SimpleNamespace(name=name) for name in tenants])


def listener(gateway: Any, sni: Sni = SNI) -> SniListener:
    listener_set = ListenerSet.model_construct(name="one-port", sni=sni, sasl_mechanisms=None)
    return SniListener(listener_set, gateway, None)


def entered(gateway: Any, server_name: str | None, **came: Any) -> ClientOrigin:
    origin: ClientOrigin = (
        listener(gateway)._enter(None, ClientOrigin(server_name=server_name, **came)).origin
    )
    return origin


@pytest.mark.parametrize(
    ("server_name", "node_id", "tenant"),
    [
        ("acme.kafka.example.com", None, "Acme"),
        ("b2-acme.kafka.example.com", 2, "Acme"),
        ("B1-GLOBEX.KAFKA.EXAMPLE.COM", 1, "globex"),
    ],
)
def test_a_name_leads_to_a_broker_and_binds_to_a_tenant(
    gateway: Any, server_name: str, node_id: int | None, tenant: str
) -> None:
    assert entered(gateway, server_name).tenant == tenant
    assert gateway.clusters.asked == [node_id]


def test_a_tenant_that_there_is_not_is_not_told_from_one_without_users(gateway: Any) -> None:
    assert entered(gateway, "unknown.kafka.example.com").tenant == "unknown"


@pytest.mark.parametrize("server_name", [None, "kafka.example.com", "b9-acme.kafka.example.com", "localhost"])
def test_a_name_that_stands_for_nothing_is_refused(gateway: Any, server_name: str | None) -> None:
    with pytest.raises(TlsFailure) as refused:
        entered(gateway, server_name)

    assert refused.value.reason is CloseReason.UNKNOWN_SERVER_NAME


def test_a_certificate_of_another_tenant_does_not_come_in(gateway: Any) -> None:
    mine, foreign = Account("CN=a", "Acme", None, {}), Account("CN=g", "globex", None, {})

    assert entered(gateway, "acme.kafka.example.com", account=mine).account is mine
    with pytest.raises(AuthenticationFailed) as refused:
        entered(gateway, "acme.kafka.example.com", account=foreign)
    assert "belongs to another tenant" in refused.value.detail


def test_a_listener_set_of_one_tenant_stays_its_own(gateway: Any) -> None:
    assert entered(gateway, "acme.kafka.example.com", tenant="Acme").tenant == "Acme"
    with pytest.raises(TlsFailure, match="the only tenant of this listener set"):
        entered(gateway, "globex.kafka.example.com", tenant="Acme")


def test_where_names_say_no_tenant_any_may_come(gateway: Any) -> None:
    shared = Sni(port=9093, bootstrap_host="kafka.example.com", broker_host="b{node_id}.kafka.example.com")

    one = listener(gateway, shared)._enter(None, ClientOrigin(server_name="b2.kafka.example.com"))

    assert one.origin.tenant is None
    assert gateway.clusters.asked == [2]


def test_tenants_of_a_new_configuration_are_known(gateway: Any) -> None:
    one = listener(gateway)
    one._enter(None, ClientOrigin(server_name="acme.kafka.example.com"))
    gateway.config = configuration("Acme", "Initech")

    connection = one._enter(None, ClientOrigin(server_name="initech.kafka.example.com"))

    assert connection.origin.tenant == "Initech"


LISTED = SNI.model_copy(update={"tenants": ("Acme",)})


@pytest.mark.parametrize("label", ["globex", "b1-globex", "unknown", "b1-unknown"])
def test_a_tenant_that_is_not_listed_has_no_name_here(gateway: Any, label: str) -> None:
    one = listener(gateway, LISTED)

    with pytest.raises(TlsFailure, match=f"{label}.kafka.example.com is the host of no tenant") as refused:
        one._enter(None, ClientOrigin(server_name=f"{label}.kafka.example.com"))

    assert refused.value.reason is CloseReason.UNKNOWN_SERVER_NAME
    assert gateway.clusters.asked == []


@pytest.mark.parametrize("label", ["acme", "b2-ACME"])
def test_a_tenant_that_is_listed_is_reached(gateway: Any, label: str) -> None:
    one = listener(gateway, LISTED)

    connection = one._enter(None, ClientOrigin(server_name=f"{label}.kafka.example.com"))

    assert connection.origin.tenant == "Acme"


def test_the_list_of_the_settings_in_force_decides(gateway: Any) -> None:
    one = listener(gateway, LISTED)
    addresses = one.addresses
    assert [one.serves(name) for name in ("Acme", "acme", "globex", None)] == [True, False, False, True]

    both = SNI.model_copy(update={"tenants": ("globex", "Acme")})
    one.take(listener(gateway, both).listener_set, None)

    assert [one.serves(name) for name in ("Acme", "globex", "initech")] == [True, True, False]
    assert one._enter(None, ClientOrigin(server_name="globex.kafka.example.com")).origin.tenant == "globex"
    assert one.addresses is addresses  # Connections of other tenants go on.
    other_host = SNI.model_copy(update={"broker_host": "{node_id}-{tenant}.x"})
    one.take(listener(gateway, other_host).listener_set, None)
    assert one.addresses is not addresses


def test_without_a_list_all_have_a_place(gateway: Any) -> None:
    assert listener(gateway).serves("anyone")
    assert list(listener(gateway).owned_ports()) == []


def test_an_open_port_belongs_to_the_tenants_of_its_list(gateway: Any) -> None:
    one = listener(gateway, LISTED)
    assert list(one.owned_ports()) == []

    one._servers[None] = None  # type: ignore[assignment]  # a port that is open

    assert list(one.owned_ports()) == [(9093, ("Acme",))]


def test_the_kind_of_listener_is_that_of_its_addresses(gateway: Any) -> None:
    ports = PortRange(
        advertised_host="gw", bootstrap_port=1, broker_port_range={"start": 2, "end": 3}, broker_id_base=0
    )

    by_port = listener_of(ListenerSet(name="ports", port_range=ports), gateway, None)

    assert type(by_port) is Listener
    assert type(listener_of(listener(gateway).listener_set, gateway, None)) is SniListener
