"""How old the list of brokers is that a request to all of them goes by; the test plays the brokers."""

import asyncio
from typing import Any

import pytest

from bifrost.gateway.brokers import cluster as module
from bifrost.gateway.brokers.cluster import FRESH_MS, Cluster
from bifrost.tenancy.topic_ids import TopicIds

from .test_cluster import Brokers, played


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers("kafka-1:9092", "kafka-2:9092", "kafka-3:9092")
    monkeypatch.setattr(module, "BrokerClient", brokers)
    return brokers


def refreshes(brokers: Brokers) -> int:
    return sum(message.SCHEMA.name == "MetadataRequest" for _, _, message in brokers.asked)


def test_all_who_need_the_brokers_of_this_moment_have_them_refreshed_once_a_second(brokers: Brokers) -> None:
    now_ms = 1_000

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        nonlocal now_ms
        third = brokers.nodes.pop(3)
        await cluster.fresh.wait()
        assert cluster.node_ids == {1, 2}

        brokers.nodes[3] = third
        now_ms += FRESH_MS - 1
        await cluster.fresh.wait()
        assert (cluster.node_ids, refreshes(brokers)) == ({1, 2}, 1)

        now_ms += 1
        await asyncio.gather(*(cluster.fresh.wait() for _ in range(10)))
        assert (cluster.node_ids, refreshes(brokers)) == ({1, 2, 3}, 2)

    played(scenario, now_ms=lambda: now_ms)


def test_a_refresh_that_fails_leaves_the_list_as_it_is(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        brokers.up.clear()

        await cluster.fresh.wait()

        assert cluster.node_ids == {1, 2, 3}
        assert cluster.fresh.is_recent

    played(scenario)


def test_who_was_not_reached_is_known_until_the_next_refresh_ends(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        brokers.up.remove("kafka-3:9092")
        await cluster.refresh()
        assert (cluster.node_ids, cluster.unreachable) == ({1, 2}, {3})

        brokers.up.add("kafka-3:9092")
        seen: list[tuple[frozenset[int], frozenset[int]]] = []
        inspect = cluster._inspect

        async def look(*asked: Any) -> Any:
            seen.append((cluster.node_ids, cluster.unreachable))
            return await inspect(*asked)

        cluster._inspect = look  # type: ignore[method-assign]
        await cluster.refresh()

        assert seen == [({1, 2}, {3})] * 3
        assert (cluster.node_ids, cluster.unreachable) == ({1, 2, 3}, frozenset())

    played(scenario)
