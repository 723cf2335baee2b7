"""Which broker a client's connection leads to, and with which account; test_client_connection_login.py logs in."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.steps import (
    AclsAtBroker,
    RecordNeeds,
    StateChange,
    StoredAt,
    StoredBatch,
    StoredBatches,
    TopicCount,
    TopicIds,
)
from bifrost.gateway.brokers.broker_connection import BrokerConnection
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.clients import way_to_broker
from bifrost.gateway.clients.way_to_broker import WayToBroker
from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.gateway.loop.paced_calls import PacedCalls
from bifrost.session.client_session import ClientSession
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import DONE, OFF
from bifrost.wire.messages import DescribeAclsRequest
from support.records.needing import AtHand, Text
from support.stage.stage import UPSTREAM, Stage

from .line import FakeGateway, settled, without_tls


class Scene:
    """A client of acme, who came to the port of broker 2."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.gateway = FakeGateway(self.stage)
        self.session: ClientSession = self.stage.play("acme", node_id=2).session
        self.chosen = Broker(2, "kafka-2.before", 9092, self.stage.versions)
        self.way = WayToBroker(self.gateway, {UPSTREAM: self.chosen}, self.session)  # type: ignore[arg-type]


def test_the_log_names_the_broker_that_the_client_came_to() -> None:
    scene = Scene()
    elsewhere = WayToBroker(scene.gateway, {"other": scene.chosen}, scene.session)  # type: ignore[arg-type]

    assert (scene.way.address, elsewhere.address) == ("kafka-2.before:9092", None)


def test_a_connection_leads_to_where_the_broker_is_now(connects: Any) -> None:
    async def play() -> None:
        scene = Scene()
        client: Any = SimpleNamespace()
        await scene.way.connect(client)

    asyncio.run(play())

    assert connects.made == [("kafka-2.internal", 9092)]


def test_many_clients_that_come_at_once_connect_by_turns(connects: Any) -> None:
    async def play() -> None:
        scene = Scene()
        turns: list[Any] = []
        scene.gateway.connects = PacedCalls("connect", turns.append, lambda: 0, 2)
        tasks = [asyncio.create_task(scene.way.connect(SimpleNamespace())) for _ in range(3)]  # type: ignore[arg-type]
        await settled()
        assert len(connects.made) == 2

        turns.pop()()
        await asyncio.gather(*tasks)

    asyncio.run(play())

    assert len(connects.made) == 3


def test_a_broker_that_the_cluster_does_not_name_any_more_is_looked_for_where_it_was(connects: Any) -> None:
    async def play() -> None:
        scene = Scene()
        scene.gateway.cluster.broker = lambda _node_id: None  # type: ignore[assignment,method-assign,return-value]
        client: Any = SimpleNamespace()
        await scene.way.connect(client)

    asyncio.run(play())

    assert connects.made == [("kafka-2.before", 9092)]


def connect(lost: list[int]) -> None:
    """Connect a client; `lost` gets the brokers that are noted as lost."""

    async def play() -> None:
        client: Any = SimpleNamespace()
        scene = Scene()
        scene.gateway.cluster.lost = lost
        await scene.way.connect(client)

    asyncio.run(play())


def test_a_broker_that_refuses_connections_is_named_and_noted(connects: Any) -> None:
    connects.fails = True
    lost = list[int]()

    with pytest.raises(BrokerError, match=r"kafka-2\.internal:9092"):
        connect(lost)
    assert lost == [2]


def test_a_login_that_is_refused_says_nothing_of_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        raise LoginError("kafka-2.internal:9092 does not know the account")

    monkeypatch.setattr(way_to_broker, "connect", refuse)
    lost = list[int]()

    with pytest.raises(LoginError):
        connect(lost)
    assert lost == []


def test_the_account_is_that_of_the_clients_tenant_and_user() -> None:
    async def play() -> list[tuple[str, str]]:
        scene, asked = Scene(), []
        scene.gateway.cluster.security = SimpleNamespace(  # type: ignore[assignment]
            tls_context=without_tls, login_of=lambda tenant, user: asked.append((tenant, user))
        )
        # The account has left the configuration since the connection was made.
        broker_side: Any = BrokerConnection.__new__(BrokerConnection)
        with pytest.raises(LoginError, match="no longer in the configuration"):
            await scene.way.renew_login(broker_side)
        return asked

    assert asyncio.run(play()) == [("acme", "acme")]


def test_look_ups_are_those_of_the_clients_cluster() -> None:
    wanted = frozenset({b"one topic ID....", b"another ID......"})

    async def play() -> None:
        scene = Scene()
        need = TopicIds(wanted)
        assert await scene.way.fetch(need) is need
        assert scene.gateway.cluster.asked == [wanted]

    asyncio.run(play())


def test_a_tenant_that_a_reload_removed_is_not_counted() -> None:
    async def play() -> None:
        scene = Scene()
        scene.stage.shared.virtual_clusters._roots = {}
        with pytest.raises(BrokerError, match="tenant acme is not in the configuration any more"):
            await scene.way.fetch(TopicCount())

    asyncio.run(play())


def test_a_change_of_the_state_is_made_for_the_clients_tenant() -> None:
    need = StateChange((Change(StateKey("thing", "a"), 0, {}),), "User:acme")

    async def play() -> None:
        scene, tenants = Scene(), []

        async def change(tenant: str, asked: StateChange) -> StateChange:
            tenants.append(tenant)
            return replace(asked, outcome=DONE)

        scene.gateway.state = SimpleNamespace(change=change)
        met = await scene.way.fetch(need)
        assert isinstance(met, StateChange)
        assert (tenants, met.outcome) == (["acme"], DONE)

    asyncio.run(play())


def test_without_a_state_a_change_is_off() -> None:
    need = StateChange((Change(StateKey("thing", "a"), 0, {}),), "User:acme")

    async def play() -> None:
        met = await Scene().way.fetch(need)
        assert isinstance(met, StateChange)
        assert met.outcome is OFF

    asyncio.run(play())


def test_the_sources_of_a_tenant_answer_what_its_filters_of_records_need() -> None:
    scene, sources, need = Scene(), AtHand({}), RecordNeeds(frozenset({Text("a")}), {})
    records: Any = SimpleNamespace(process=SimpleNamespace(sources=sources))
    cluster = replace(scene.session.virtual_cluster, records=records)
    session: Any = SimpleNamespace(virtual_cluster=cluster)
    way = WayToBroker(scene.gateway, {UPSTREAM: scene.chosen}, session)  # type: ignore[arg-type]

    assert asyncio.run(way.fetch(need)) is need
    assert sources.asked == [need]


def test_batches_are_read_from_the_clients_broker_with_its_account_in_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need = StoredBatches((StoredAt(b"physical", 0, 40),), waited_ns=9_000_000_000)
    read: list[Any] = []

    async def read_batches(*asked: Any) -> StoredBatches:
        read.append(asked)
        return need

    async def play() -> None:
        scene = Scene()
        scene.gateway.cluster.client_of = lambda broker, login: (broker.host, login)  # type: ignore[attr-defined]
        monkeypatch.setattr(way_to_broker, "read_batches", read_batches)
        assert await scene.way.fetch(need) == need

    asyncio.run(play())

    [(client, broker, asked, wait_ms)] = read
    assert client == ("kafka-2.internal", None)
    assert (broker.node_id, asked, wait_ms) == (2, need, 1_000)


def test_at_a_single_address_batches_are_read_of_one_leader_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The session asks again for the others."""
    wanted = tuple(StoredAt(b"physical", one, 40) for one in range(4))
    need, read = StoredBatches(wanted), list[Any]()

    async def read_batches(*asked: Any) -> StoredBatches:
        read.append(asked)
        return replace(asked[2], found=dict.fromkeys(asked[2].wanted, StoredBatch(0, b"records")))

    async def leader_of(_: bytes, partition: int, __: str) -> int:
        return (1, 2, -1, 1)[partition]

    async def play() -> StoredBatches:
        scene = Scene()
        way = WayToBroker(
            scene.gateway,  # type: ignore[arg-type]
            {UPSTREAM: scene.chosen},
            scene.session,
            is_single=True,
        )
        cluster: Any = scene.gateway.cluster
        cluster.client_of = lambda broker, login: broker.node_id
        cluster.routes = SimpleNamespace(leader_of=leader_of)
        monkeypatch.setattr(way_to_broker, "read_batches", read_batches)
        met = await way.fetch(need)
        assert isinstance(met, StoredBatches)
        return met

    met = asyncio.run(play())

    assert (met == need, set(met.found)) == (True, {wanted[0], wanted[3]})
    [(client, broker, asked, _)] = read
    assert (client, broker.node_id, asked.wanted) == (1, 1, (wanted[0], wanted[3]))


def test_stored_batches_are_asked_for_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    need = StoredBatches((StoredAt(b"physical", 0, 40),))
    read: list[Any] = []

    async def read_batches(*asked: Any) -> StoredBatches:
        read.append(asked)
        return need

    async def play() -> None:
        scene, turns = Scene(), list[Any]()
        scene.gateway.cluster.client_of = lambda broker, login: (broker.host, login)  # type: ignore[attr-defined]
        scene.gateway.connects = PacedCalls("connect", turns.append, lambda: 0, 2)
        monkeypatch.setattr(way_to_broker, "read_batches", read_batches)
        tasks = [asyncio.create_task(scene.way.fetch(need)) for _ in range(3)]
        await settled()
        assert len(read) == 2

        turns.pop()()
        await asyncio.gather(*tasks)

    asyncio.run(play())

    assert len(read) == 3


class AskedBroker:
    """A broker's connection that notes what it is asked, and with which login."""

    def __init__(self, broker: Broker, login: Any) -> None:
        self.address, self.login, self.asked = (broker.host, broker.port), login, list[tuple[Any, int]]()
        self.is_closed = False

    async def request(self, message: Any, version: int) -> Any:
        self.asked.append((message, version))
        return f"answer {len(self.asked)}"

    async def close(self) -> None:
        self.is_closed = True


def secured(scene: Scene, login: object) -> list[AskedBroker]:
    """Give the user this login; return the connections that are made with it."""
    made: list[AskedBroker] = []
    scene.gateway.cluster.security = SimpleNamespace(  # type: ignore[assignment]
        tls_context=without_tls, login_of=lambda *_: login
    )

    def client_of(broker: Broker, given: object) -> AskedBroker:
        made.append(AskedBroker(broker, given))
        return made[-1]

    scene.gateway.cluster.client_of = client_of  # type: ignore[attr-defined]
    return made


def test_acls_are_asked_for_with_the_user_s_own_account() -> None:
    login, requests = object(), (DescribeAclsRequest(), DescribeAclsRequest())

    async def play() -> list[AskedBroker]:
        scene = Scene()
        made = secured(scene, login)
        met = await scene.way.fetch(AclsAtBroker(requests, "the plan"))
        assert isinstance(met, AclsAtBroker)
        assert (met.answers, met.plan) == (("answer 1", "answer 2"), "the plan")
        return made

    (client,) = asyncio.run(play())

    assert (client.address, client.login is login) == (("kafka-2.internal", 9092), True)
    assert client.asked == [(one, 3) for one in requests]
    assert client.is_closed


def test_without_an_account_no_broker_is_asked_about_acls() -> None:
    async def play() -> None:
        scene = Scene()
        made = secured(scene, None)
        with pytest.raises(BrokerError, match="has no account"):
            await scene.way.fetch(AclsAtBroker((DescribeAclsRequest(),)))
        assert made == []

    asyncio.run(play())
