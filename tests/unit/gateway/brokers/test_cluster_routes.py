"""Look-ups of leaders and coordinators at a broker that is played by the test."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest

from bifrost.filters.api_versions import OfferedVersions, offered_versions
from bifrost.forwarding.look_up_turns import TENANT_BURST
from bifrost.gateway.brokers import cluster_routes as module
from bifrost.gateway.brokers.cluster_routes import AT_ONCE, MAX_LOOKED_UP, ClusterRoutes
from bifrost.gateway.errors import BrokerError
from bifrost.routes.keyed_parts import GROUP, TRANSACTION
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import broker_versions


class FakeBroker:
    """Leads the first partition of the topics that it has, and coordinates every group."""

    def __init__(self, *topics: str) -> None:
        self.topics = set(topics)
        self.asked: list[list[str]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.is_away = False

    async def connect(self) -> tuple[Any, OfferedVersions, int]:
        return self, offered_versions(broker_versions()), 13

    async def close(self) -> None:
        """Nothing is open."""

    async def request(self, message: Any, _version: int) -> Any:
        is_metadata = message.SCHEMA.name == "MetadataRequest"
        self.asked.append([one.name for one in message.topics] if is_metadata else message.coordinator_keys)
        await asyncio.sleep(0)
        await self.may_answer.wait()
        if self.is_away:
            raise BrokerError("kafka-1:9092: connection reset")
        if not is_metadata:
            found = [{"key": key, "node_id": 3, "host": "h", "port": 1} for key in message.coordinator_keys]
            return messages.FindCoordinatorResponse(coordinators=found)
        return messages.MetadataResponse(topics=[self._topic(one.name) for one in message.topics])

    def _topic(self, name: str) -> dict[str, Any]:
        if name not in self.topics:
            return {"name": name, "error_code": 3}
        return {"name": name, "partitions": [{"partition_index": 0, "leader_id": 7}]}


class Scene:
    def __init__(self, *topics: str) -> None:
        self.broker, self.now_ms = FakeBroker(*topics), 1_000
        self.routes = ClusterRoutes(self.broker.connect, lambda: self.now_ms)

    def leaders(self, tenant: str, *names: str) -> asyncio.Task[bool]:
        wanted = [one.encode() for one in names]
        return asyncio.create_task(self.routes.look_up_leaders(wanted, tenant, by_id=False))

    def leader(self, topic: str) -> int | None:
        found = self.routes._by_name.find(topic.encode())
        return None if found is None else found[0]


def played(play: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Run a test in an event loop of its own."""

    @wraps(play)
    def test() -> None:
        async def run() -> None:
            await play()

        asyncio.run(run())

    return test


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@played
async def test_leaders_and_coordinators_are_learnt_and_absent_topics_are_known_to_be_absent() -> None:
    scene = Scene("orders")

    assert not await scene.leaders("acme", "orders", "absent")
    assert not await scene.routes.look_up_coordinators([(GROUP, "app")], "acme")

    assert (scene.leader("orders"), scene.leader("absent")) == (7, -1)
    assert scene.routes.coordinator((GROUP, "app")) == 3
    assert await scene.routes.leader_of(b"orders", 0, "acme") == 7
    assert await scene.routes.leader_of(b"later", 0, "acme") == -1
    assert [sorted(one) for one in scene.broker.asked] == [["absent", "orders"], ["app"], ["later"]]


@played
async def test_offset_groups_have_the_coordinator_of_their_consumer_group_without_a_look_up() -> None:
    """A commit for 512 virtual partitions of a physical one would look up 511, at 50 a second."""
    scene = Scene()
    others = [(GROUP, offset_group("app", "app", PartitionGroup(one))) for one in (1, 511)]
    await scene.routes.look_up_coordinators([others[0]], "acme")

    assert {scene.routes.coordinator(one) for one in ((GROUP, "app"), *others)} == {3}
    assert scene.routes.coordinator((TRANSACTION, others[0][1])) is None
    assert scene.routes.coordinator((GROUP, "app-v1-abcdefghi")) is None, "it only looks like one"

    scene.routes.forget_coordinators([others[1]])
    assert scene.routes.coordinator((GROUP, "app")) is None


@played
async def test_what_the_gateway_may_not_see_hides_no_leader_that_is_known() -> None:
    scene = Scene("orders")
    await scene.leaders("acme", "orders")
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    hidden = [{"name": one, "error_code": denied} for one in ("orders", "billing")]

    scene.routes.learn(messages.MetadataResponse(topics=hidden))

    assert scene.leader("orders") == 7
    found = scene.routes._by_name.find(b"billing")
    assert found is not None
    assert found.is_hidden


@played
async def test_what_one_tenant_makes_up_keeps_another_waiting_for_one_request_alone() -> None:
    scene = Scene("orders")
    scene.broker.may_answer.clear()
    flood = [scene.leaders("mallory", *(f"{turn}-{one}" for one in range(900))) for turn in range(5)]
    await turns()
    own = scene.leaders("acme", "orders")
    await turns()
    scene.broker.may_answer.set()

    await own

    assert scene.leader("orders") == 7
    assert [len(one) for one in scene.broker.asked[:2]] == [AT_ONCE, 1]
    for one in flood:
        one.cancel()


@played
async def test_a_tenant_that_makes_up_very_many_waits_until_its_budget_fills_up() -> None:
    scene = Scene()
    waits = 0
    for turn in range(6):
        task = scene.leaders("mallory", *(f"{turn}-{one}" for one in range(AT_ONCE)))
        await turns()
        while not task.done():
            waits += 1
            scene.now_ms += 1_000
            scene.routes._line._arrived.set()
            await turns()
        await task

    # Each costs 26 small requests.
    assert waits >= (6 * (1 + AT_ONCE / module.NAMES_OF_A_REQUEST) - TENANT_BURST) // 50


@played
async def test_requests_for_the_same_topic_ask_for_it_once() -> None:
    scene = Scene("orders")
    scene.broker.may_answer.clear()
    first = scene.leaders("acme", "orders")
    await turns()
    others = [scene.leaders("acme", "orders") for _ in range(9)]
    await turns()
    scene.now_ms += 1
    scene.broker.may_answer.set()

    await asyncio.gather(first, *others)

    assert scene.broker.asked == [["orders"]]


@played
async def test_of_one_request_so_many_names_are_looked_up_and_no_longer_ones() -> None:
    scene = Scene()
    names = [f"n{number}" for number in range(3 * MAX_LOOKED_UP)]

    await asyncio.gather(scene.leaders("acme", *names))

    assert sum(map(len, scene.broker.asked)) == MAX_LOOKED_UP


@played
async def test_a_long_name_of_a_group_is_not_remembered() -> None:
    scene = Scene()
    name = "g" * 30_000

    await scene.routes.look_up_coordinators([(GROUP, name), (GROUP, "app")], "acme")

    assert scene.routes.coordinator((GROUP, name)) is None
    assert scene.routes.coordinator((GROUP, "app")) == 3


@played
async def test_where_no_broker_answers_all_that_wait_are_told() -> None:
    scene = Scene("orders")
    scene.broker.is_away = True

    found = await asyncio.gather(
        scene.leaders("acme", "orders"), scene.leaders("globex", "x"), return_exceptions=True
    )

    assert [type(one) for one in found] == [BrokerError, BrokerError]
    scene.broker.is_away = False
    await scene.leaders("acme", "orders")
    assert scene.leader("orders") == 7


def test_a_request_waits_no_longer_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_S", 0.01)

    @played
    async def play() -> None:
        scene = Scene("orders")
        scene.broker.may_answer.clear()

        with pytest.raises(BrokerError, match="no broker was asked"):
            await scene.leaders("acme", "orders")
        scene.broker.may_answer.set()
        await scene.leaders("globex", "orders")
        assert scene.leader("orders") == 7

    play()


def test_leaders_of_partitions_are_found_by_the_topics_id() -> None:
    scene, topic_id, absent = Scene(), bytes(15) + b"t", bytes(15) + b"a"
    partitions = [{"partition_index": 0, "leader_id": 7}, {"partition_index": 1, "leader_id": -1}]
    scene.routes.learn(messages.MetadataResponse(topics=[{"topic_id": topic_id, "partitions": partitions}]))

    assert [scene.routes.leader_by_id((topic_id, one)) for one in (0, 1, 2)] == [7, -1, -1]
    assert scene.routes.leader_by_id((absent, 0)) == -1
    assert [scene.routes.absence((topic_id, one)) for one in (0, 1, 2, -1)] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert scene.routes.absence((absent, 0)) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert scene.routes.unknown_leaders([(topic_id, 0), (topic_id, 1), (absent, 0), (absent, 1)]) == [absent]
    scene.now_ms += module.LEADERLESS_MS + 1
    assert scene.routes.unknown_leaders([(topic_id, 0)]) == []
    assert scene.routes.unknown_leaders([(topic_id, 0), (topic_id, 1)]) == [topic_id]
