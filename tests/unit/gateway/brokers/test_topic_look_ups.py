"""Look-ups of topic IDs at a broker that is played by the test."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.api_versions import OfferedVersions, offered_versions
from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.forwarding.look_up_turns import LOOK_UPS_LIMIT, TENANT_BURST
from bifrost.gateway.brokers import topic_look_ups as module
from bifrost.gateway.brokers.topic_look_ups import TopicLookUps
from bifrost.gateway.errors import BrokerError
from bifrost.session.topics.own_topics import LARGEST_PAGE
from bifrost.tenancy.topic_ids import FEW_IDS
from bifrost.tenancy.topic_pages import FIRST_PAGE
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.messages import topic_id
from support.stage.playbook import response_frame
from support.stage.stage import TENANTS, WITHOUT_TOPIC_PAGES, Stage, broker_versions

MANY = frozenset(number.to_bytes(16, "big") for number in range(1, FEW_IDS + 2))


class FakeBroker:
    """Knows topics; lists them in pages of a few."""

    def __init__(self, *names: str) -> None:
        self.topics = {topic_id(name): name for name in sorted(names)}
        self.offered = offered_versions(broker_versions())
        self.metadata_version = 13
        self.asked: list[Any] = []
        self.page = 1000
        self.failures = 0
        self.connections = 0
        self.is_closed = False
        self.third, self.may_answer = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def connect(self) -> tuple[Any, OfferedVersions, int]:
        self.connections += 1
        return self, self.offered, self.metadata_version

    async def close(self) -> None:
        self.is_closed = True

    async def read(self, message: Any, version: int, read: Callable[[int, int, int, bytes], Any]) -> Any:
        self.asked.append(message)
        if len(self.asked) == 3:
            self.third.set()
        await asyncio.sleep(0)
        await self.may_answer.wait()
        if self.failures:
            self.failures -= 1
            raise BrokerError("kafka-1:9092: connection reset")
        is_page = message.SCHEMA.name == "DescribeTopicPartitionsRequest"
        response = self._page(message) if is_page else self._metadata(message)
        return read(message.SCHEMA.api_key, version, 1, response_frame(response, version, 1))

    def _metadata(self, request: Any) -> Any:
        by_name = {name: one for one, name in self.topics.items()}
        topics = [{"name": name, "topic_id": one} for one, name in self.topics.items()]
        if request.topics is not None:
            topics = [
                {"name": one.name, "topic_id": by_name.get(one.name, bytes(16))}
                if one.name is not None
                else {"name": self.topics.get(one.topic_id), "topic_id": one.topic_id}
                for one in request.topics
            ]
        for one in topics:
            if one["name"] is None:
                one["error_code"] = ErrorCode.UNKNOWN_TOPIC_ID
        return messages.MetadataResponse(topics=topics)

    def _page(self, request: Any) -> Any:
        left = [pair for pair in self.topics.items() if pair[1] >= request.cursor.topic_name]
        topics = [{"name": name, "topic_id": one} for one, name in left[: self.page]]
        following = left[self.page :]
        cursor = {"topic_name": following[0][1]} if following else None
        return messages.DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)

    @property
    def names(self) -> list[str]:
        return [one.SCHEMA.name for one in self.asked]


OURS = (
    physical_name("initech", "a"),
    physical_name("initech", "b"),
    physical_name("initech", "c"),
    physical_name("acme", "orders"),
    physical_name("globex", "users"),
)


class Scene:
    def __init__(self, *names: str) -> None:
        self.stage = Stage({name: replace(one, max_topics=1_000) for name, one in TENANTS.items()})
        self.broker = FakeBroker(*(names or OURS))
        self.look_ups = TopicLookUps(self.broker.connect, self.stage.topic_ids, lambda: self.stage.now_ms)
        self.loads = self.stage.shared.lanes.in_flight_limits

    async def look_up(self, tenant: str, *ids: bytes) -> None:
        await self.look_ups.look_up(self.stage.namespaces[tenant], frozenset(ids), self.loads)

    async def count(self, tenant: str) -> None:
        await self.look_ups.count(self.stage.namespaces[tenant], self.loads)

    def topics(self, tenant: str) -> int:
        """How many topics the tenant's bounds know of."""
        bounds = self.stage.namespaces[tenant].bounds
        assert bounds is not None
        bounds.limit(0, 0)
        refusal = bounds.grow().add(b"another", 1)
        assert refusal is not None
        return int(refusal.message.partition("there are ")[2].partition(",")[0])

    def known(self, *names: str) -> list[bool]:
        return [self.stage.topic_ids.name_of(topic_id(name)) == name.encode() for name in names]


def played(scenario: Callable[[Scene], Awaitable[None]], *names: str) -> Scene:
    async def run() -> Scene:
        scene = Scene(*names)
        await scenario(scene)
        await scene.look_ups.close()
        return scene

    return asyncio.run(run())


def test_a_few_ids_are_asked_for_by_id() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.look_up("initech", topic_id(physical_name("initech", "a")), b"an unknown topic")

        assert scene.known(physical_name("initech", "a"), physical_name("initech", "b")) == [True, False]

    (asked,) = played(scenario).broker.asked
    assert {one.topic_id for one in asked.topics} == {
        topic_id(physical_name("initech", "a")),
        b"an unknown topic",
    }
    assert not asked.allow_auto_topic_creation


def test_an_id_that_is_known_is_asked_for_as_one_that_no_topic_has() -> None:
    foreign = topic_id(physical_name("globex", "users"))

    async def scenario(scene: Scene) -> None:
        scene.stage.topic_ids.learn(foreign, physical_name("globex", "users").encode())
        await scene.look_up("initech", foreign)

    (asked,) = played(scenario).broker.asked
    (one,) = asked.topics
    assert one.topic_id != foreign
    assert len(one.topic_id) == 16


def test_a_look_up_by_id_takes_as_long_for_a_topic_as_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVEN_S", 0.05)

    async def scenario(scene: Scene) -> None:
        loop = asyncio.get_running_loop()
        for one in (topic_id(physical_name("globex", "users")), b"an unknown topic"):
            began = loop.time()
            await scene.look_up("initech", one)
            assert loop.time() - began > 0.045

    played(scenario)


def test_of_many_ids_the_tenants_own_topics_are_listed() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.page = 2
        await scene.look_up("initech", *MANY)

        assert scene.known(*OURS) == [True, True, True, False, False]
        assert scene.stage.namespaces["initech"].was_just_listed

    broker = played(scenario).broker
    assert broker.names == ["DescribeTopicPartitionsRequest"] * 2
    assert [one.cursor.topic_name for one in broker.asked] == [
        prefix_of("initech"),
        physical_name("initech", "c"),
    ]


def test_of_many_ids_of_a_tenant_with_a_list_the_listed_names_are_asked_for() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.look_up("acme", *MANY)

        assert scene.known(physical_name("acme", "orders"), physical_name("initech", "a")) == [True, False]

    (asked,) = played(scenario).broker.asked
    assert {one.name for one in asked.topics} >= {
        physical_name("acme", "orders"),
        physical_name("acme", "billing"),
    }


@pytest.mark.parametrize("ids", [MANY, frozenset({topic_id(physical_name("initech", "a"))})])
def test_an_old_broker_is_asked_for_all_topics_once_for_all_tenants(ids: frozenset[bytes]) -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.offered, scene.broker.metadata_version = WITHOUT_TOPIC_PAGES, 11
        await scene.look_up("initech", *ids)
        await scene.look_up("initech", b"an unknown topic")

        assert scene.known(*OURS) == [True] * 5
        scene.stage.now_ms += module.ALL_TOPICS_FOR_MS
        await scene.look_up("initech", b"an unknown topic")

    assert [one.topics for one in played(scenario).broker.asked] == [None, None]


def test_many_ids_cost_nothing_while_the_list_is_new() -> None:
    async def scenario(scene: Scene) -> None:
        for _ in range(100):
            await scene.look_up("initech", *MANY)

    assert len(played(scenario).broker.asked) == 1


def test_connections_of_a_tenant_that_wait_share_a_look_up() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.may_answer.clear()
        first = asyncio.create_task(scene.look_up("initech", b"an unknown topic"))
        await asyncio.sleep(0.01)
        others = [
            asyncio.create_task(scene.look_up("initech", bytes([number]) * 16)) for number in range(1, 200)
        ]
        await asyncio.sleep(0.01)
        scene.broker.may_answer.set()
        await asyncio.gather(first, *others)

    # The others name too many IDs together: the tenant is listed for them.
    assert played(scenario).broker.names == ["MetadataRequest", "DescribeTopicPartitionsRequest"]


def test_tenants_take_turns_page_by_page() -> None:
    names = [physical_name("initech", f"{number:03}") for number in range(100)]

    async def scenario(scene: Scene) -> None:
        scene.broker.page = 2
        attack = asyncio.create_task(scene.look_up("initech", *MANY))
        await asyncio.wait_for(scene.broker.third.wait(), 5)

        await scene.look_up("acme", b"an unknown topic")

        assert not attack.done()
        assert scene.broker.names.index("MetadataRequest") < 8  # of 50 pages
        attack.cancel()

    played(scenario, *names)


def test_a_tenant_that_has_spent_its_budget_waits_while_others_do_not() -> None:
    async def scenario(scene: Scene) -> None:
        for number in range(int(TENANT_BURST)):
            await scene.look_up("initech", number.to_bytes(16, "little"))
        assert scene.loads.hits == {}
        attack = asyncio.create_task(scene.look_up("initech", b"an unknown topic"))
        await asyncio.sleep(0.03)

        await scene.look_up("acme", b"an unknown topic")

        assert not attack.done()
        assert scene.loads.hits == {(LOOK_UPS_LIMIT, "initech"): 1}
        scene.stage.now_ms += 20
        await attack

    module_even, module.EVEN_S = module.EVEN_S, 0.0
    try:
        played(scenario)
    finally:
        module.EVEN_S = module_even


def test_a_connection_that_broke_is_made_anew_once() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.failures = 1
        await scene.look_up("initech", topic_id(physical_name("initech", "a")))

        assert scene.known(physical_name("initech", "a")) == [True]

    assert played(scenario).broker.connections == 2


def test_every_waiting_client_is_told_when_no_broker_answers() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.failures = 2
        waiting = [
            asyncio.create_task(scene.look_up(tenant, *ids))
            for tenant, ids in (("globex", {b"an unknown topic"}), ("initech", MANY), ("acme", MANY))
        ]

        for one in waiting:
            with pytest.raises(BrokerError, match="connection reset"):
                await one
        await scene.look_up("initech", topic_id(physical_name("initech", "a")))

        assert scene.known(physical_name("initech", "a")) == [True]

    played(scenario)


def test_waiting_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_S", 0.02)

    async def scenario(scene: Scene) -> None:
        scene.broker.may_answer.clear()

        with pytest.raises(BrokerError, match="initech were not looked up"):
            await scene.look_up("initech", b"an unknown topic")

        scene.broker.may_answer.set()
        await asyncio.sleep(0.01)
        await scene.look_up("initech", topic_id(physical_name("initech", "a")))
        assert scene.known(physical_name("initech", "a")) == [True]

    played(scenario)


def test_who_has_gone_is_not_looked_up_for() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.may_answer.clear()
        first = asyncio.create_task(scene.look_up("acme", b"an unknown topic"))
        gone = asyncio.create_task(scene.look_up("initech", b"another's topic."))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.sleep(0)
        scene.broker.may_answer.set()
        await first
        await asyncio.sleep(0.01)

    assert len(played(scenario).broker.asked) == 1


def test_a_defect_is_logged_and_no_client_waits_for_ever(logged: list[dict[str, Any]]) -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.topics = None  # type: ignore[assignment]

        with pytest.raises(BrokerError, match="have stopped"):
            await scene.look_up("initech", b"an unknown topic")

    played(scenario)
    assert logged[-1]["event"] == "internal_error"


def test_closing_closes_the_connection() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.look_up("initech", b"an unknown topic")

    assert played(scenario).broker.is_closed


def test_a_tenant_s_topics_are_counted() -> None:
    async def scenario(scene: Scene) -> None:
        await scene.count("initech")

        assert scene.topics("initech") == 3
        assert scene.known(physical_name("initech", "a")) == [True]

    assert played(scenario).broker.names == ["DescribeTopicPartitionsRequest"]


def test_a_count_of_a_moment_ago_serves_all() -> None:
    async def scenario(scene: Scene) -> None:
        for _ in range(100):
            await scene.count("initech")

    assert len(played(scenario).broker.asked) == 1


def test_connections_that_wait_for_a_count_share_it_and_those_for_ids_have_their_own() -> None:
    async def scenario(scene: Scene) -> None:
        counts = [asyncio.create_task(scene.count("initech")) for _ in range(100)]
        ids = [asyncio.create_task(scene.look_up("initech", topic_id(physical_name("initech", "b"))))]
        await asyncio.gather(*counts, *ids)

        assert scene.topics("initech") == 3
        assert scene.known(physical_name("initech", "b")) == [True]

    names = played(scenario).broker.names
    assert sorted(names) == ["DescribeTopicPartitionsRequest", "MetadataRequest"]


def test_no_count_is_taken_for_known_where_no_broker_answers() -> None:
    async def scenario(scene: Scene) -> None:
        scene.broker.failures = 2
        with pytest.raises(BrokerError, match="connection reset"):
            await scene.count("initech")

        bounds = scene.stage.namespaces["initech"].bounds
        assert bounds is not None
        assert not bounds.is_counted

    played(scenario)


def test_what_is_asked_for_is_charged_to_the_tenants_time_at_the_brokers() -> None:
    async def scenario(scene: Scene) -> None:
        load, other = scene.loads.load("initech"), scene.loads.load("acme")
        before_ns = load.broker_left_ns, other.broker_left_ns

        await scene.look_up("initech", b"an unknown topic", b"and another one.")
        by_id_ns = broker_cost_ns(ApiKey.METADATA) + 2 * ITEM_NS
        assert before_ns[0] - load.broker_left_ns == by_id_ns
        await scene.look_up("initech", *MANY)
        page_ns = broker_cost_ns(ApiKey.DESCRIBE_TOPIC_PARTITIONS) + FIRST_PAGE * ITEM_NS
        assert before_ns[0] - load.broker_left_ns == by_id_ns + page_ns
        await scene.count("initech")
        page_ns += broker_cost_ns(ApiKey.DESCRIBE_TOPIC_PARTITIONS) + LARGEST_PAGE * ITEM_NS
        assert before_ns[0] - load.broker_left_ns == by_id_ns + page_ns
        assert before_ns[1] == other.broker_left_ns

    played(scenario)
