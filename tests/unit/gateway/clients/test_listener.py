"""What a listener says when it cannot listen; that it does listen is in tests/kafka."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.fields.listener_sets import BrokerPortRange, ListenerSet, PortRange
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.errors import StartError
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.brokers import BrokerPorts
from support.stage.fake_transport import FakeTransport
from support.stage.stage import PASSWORD_MECHANISMS, Stage

LISTENER_SET = ListenerSet(
    name="plaintext",
    port_range=PortRange(
        bind_host="192.0.2.9",
        advertised_host="proxy.example.com",
        bootstrap_port=9092,
        broker_port_range=BrokerPortRange(start=9093, end=9095),
        broker_id_base=1,
    ),
)


def listener(*node_ids: int, listener_set: ListenerSet = LISTENER_SET) -> Listener:
    ids = frozenset(node_ids)
    clusters = SimpleNamespace(served_node_ids=ids, node_ids=ids, answering_node_ids=ids)
    gateway: Any = SimpleNamespace(clusters=clusters, shared=Stage().shared)
    return Listener(listener_set, gateway, None)


def test_ports_are_those_of_the_configuration() -> None:
    ports = listener().addresses
    assert isinstance(ports, BrokerPorts)

    assert (ports.advertised_host, ports.port_of(1), ports.port_of(3), ports.port_of(4)) == (
        "proxy.example.com",
        9093,
        9095,
        None,
    )


def test_mechanisms_are_those_of_the_configuration_or_all_that_the_credentials_allow() -> None:
    some = LISTENER_SET.model_copy(update={"sasl_mechanisms": (Mechanism.SCRAM_SHA_512, Mechanism.PLAIN)})

    assert listener().mechanisms == PASSWORD_MECHANISMS
    assert listener(listener_set=some).mechanisms == (Mechanism.SCRAM_SHA_512, Mechanism.PLAIN)


def test_a_mechanism_that_no_user_can_use_is_not_offered() -> None:
    verifier = ScramVerifier.derive(Mechanism.SCRAM_SHA_256, b"pw", b"salt of sixteen.", 4096)
    only = Account("acme", "acme", None, {verifier.mechanism: verifier})
    sasl = SaslSettings(Accounts([only], key=b""), new_nonce=str, now_ms=lambda: 0)
    gateway: Any = SimpleNamespace(shared=SimpleNamespace(sasl=sasl))

    some = LISTENER_SET.model_copy(update={"sasl_mechanisms": tuple(Mechanism)})

    assert Listener(some, gateway, None).mechanisms == (Mechanism.PLAIN, Mechanism.SCRAM_SHA_256)


class Taken:
    """Ports that another program has."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []

    async def bind(self, *where: object) -> None:
        self.asked.append(where)
        raise StartError("taken")


def test_the_bootstrap_port_is_bound_first() -> None:
    ports = Taken()
    one = listener(1)
    one._gateway.peers = SimpleNamespace(ports=ports)  # type: ignore[assignment]

    with pytest.raises(StartError):
        asyncio.run(one.reserve())

    assert ports.asked == [("plaintext", "192.0.2.9", 9092)]


def test_a_broker_without_a_port_is_warned_of_once(logged: list[dict[str, Any]]) -> None:
    one = listener(1, 4, 7)

    one._warn_of_brokers_without_port(one.addresses, frozenset({1, 4, 7}))
    one._warn_of_brokers_without_port(one.addresses, frozenset({1, 4, 7}))
    one._warn_of_brokers_without_port(one.addresses, frozenset({1, 4, 7, 9}))

    assert [entry["node_id"] for entry in logged] == [4, 7, 9]
    assert "widen broker_port_range" in logged[0]["detail"]


def test_that_no_broker_has_a_port_is_said_again_every_minute(
    logged: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, now_s = listener(7, 8), [5.0]
    monkeypatch.setattr("bifrost.gateway.clients.listener.time.monotonic", lambda: now_s[0])
    for second in range(130):
        now_s[0] = 5.0 + second
        one._warn_of_brokers_without_port(one.addresses, frozenset({7, 8}))  # type: ignore[arg-type]

    said = [entry for entry in logged if entry["event"] == "no_broker_has_a_port"]
    assert [(entry["listener"], entry["node_ids"]) for entry in said] == [("plaintext", [7, 8])] * 3


@pytest.mark.parametrize(
    ("known", "served", "leads"), [((1, 2), 1, True), ((7,), None, False), ((), 1, False)]
)
def test_a_listener_leads_to_a_broker_that_is_known_and_has_a_port(
    known: tuple[int, ...], served: int | None, leads: bool
) -> None:
    one, port = listener(*known), cast(Any, None)
    one._servers = {None: port} | ({} if served is None else {served: port})

    assert one.leads_to_a_broker is leads


def test_a_listener_leads_to_no_broker_of_a_cluster_that_does_not_answer() -> None:
    """The other cluster answers, and its brokers have no port."""
    one, port = listener(1, 7), cast(Any, None)
    one._servers = {None: port, 1: port}
    clusters: Any = one._gateway.clusters
    clusters.answering_node_ids = frozenset({7})

    assert not one.leads_to_a_broker


def test_no_client_is_let_in_while_no_broker_is_known() -> None:
    one = listener()
    ends: list[tuple[object, ...]] = []
    one._gateway.clusters = SimpleNamespace(brokers_at=lambda _node_id: {})  # type: ignore[assignment]
    one._gateway.count_end = lambda *end: ends.append(end)  # type: ignore[method-assign]
    made: list[Any] = []

    class Served:
        async def serve(self, accept: Any, _stands_for: str) -> None:
            made.append(accept())

    asyncio.run(one._serve(None, Served()))  # type: ignore[arg-type]
    transport = FakeTransport()
    made[0].connection_made(transport)

    assert transport.is_aborted
    assert [end[:3] for end in ends] == [(CloseReason.BROKER_UNREACHABLE, None, "192.0.2.1:50000")]


def test_a_listener_that_never_opened_can_be_closed() -> None:
    one = listener(1)

    one.close()
    one.close()

    assert one._servers == {}


ONE_PORT = LISTENER_SET.model_copy(
    update={"port_range": PortRange(advertised_host="proxy.example.com", bootstrap_port=9092)}
)


def test_a_single_port_stands_for_the_only_broker_whatever_its_id(logged: list[dict[str, Any]]) -> None:
    one = listener(7, listener_set=ONE_PORT)

    asyncio.run(one.follow_brokers())

    assert one.addresses.address_of(7, "acme") == ("proxy.example.com", 9092)
    assert logged == []


def test_a_single_port_is_the_lowest_broker_s_and_the_log_says_what_to_do(
    logged: list[dict[str, Any]],
) -> None:
    one = listener(2, 3, listener_set=ONE_PORT)

    asyncio.run(one.follow_brokers())

    assert one.addresses.address_of(2, "acme") == ("proxy.example.com", 9092)
    assert one.addresses.address_of(3, "acme") is None
    [entry] = logged
    assert (entry["event"], entry["node_id"]) == ("broker_without_port", 3)
    assert "brokerPorts" in entry["detail"]


def test_the_addresses_of_a_single_port_change_with_its_broker() -> None:
    one = listener(1, listener_set=ONE_PORT)
    before = one.addresses
    asyncio.run(one.follow_brokers())
    same = one.addresses
    clusters: Any = SimpleNamespace(served_node_ids=frozenset({5}), node_ids=frozenset({5}))
    one._gateway.clusters = clusters

    asyncio.run(one.follow_brokers())

    assert before is same
    assert one.addresses is not same
    assert one.addresses.address_of(5, "acme") == ("proxy.example.com", 9092)
    assert one.addresses.address_of(1, "acme") is None
