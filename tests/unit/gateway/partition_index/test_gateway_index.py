"""Which indexes a process has, and when they begin and end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.partition_index import cluster_index, gateway_index
from bifrost.gateway.partition_index.gateway_index import GatewayIndex
from bifrost.session.virtual_clusters import Models


class Clusters(list[Any]):
    """The clusters, in their order and by name."""

    def __getitem__(self, name: Any) -> Any:
        return next(one for one in self if one.name == name)


class World:
    """A gateway before two clusters, and what becomes of the indexes there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[str] = []
        self.tenants = [
            SimpleNamespace(name="acme", virtual_partitions=[]),
            SimpleNamespace(name="globex", virtual_partitions=["a rule"]),
        ]
        self.settings = PartitionIndex()
        self.clusters = Clusters(SimpleNamespace(name=name, node_ids={1}) for name in ("main", "other"))
        self.models = Models(indexes={})
        gateway: Any = SimpleNamespace(
            config=SimpleNamespace(
                tenants=self.tenants, proxy=SimpleNamespace(partition_index=self.settings)
            ),
            clusters=self.clusters,
            cluster_of={"acme": "main", "globex": "other"},
            shared=SimpleNamespace(virtual_clusters=SimpleNamespace(models=self.models)),
            now_ms=lambda: 0,
        )
        told = self.told

        class Index:
            def __init__(self, _gateway: Any, cluster: Any, _settings: Any, table: Any, _now: Any) -> None:
                self.cluster, self.table, self.was_read = cluster, table, asyncio.Event()

            def begin(self) -> None:
                told.append(f"begin {self.cluster.name}")

            async def end(self) -> None:
                told.append(f"end {self.cluster.name}")

        monkeypatch.setattr(cluster_index, "ClusterIndex", Index)
        monkeypatch.setattr(gateway_index, "LOOK_S", 0)
        self.index = GatewayIndex(gateway)

    def follow(self) -> list[str]:
        self.told.clear()
        asyncio.run(self.index._follow())
        return self.told


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_a_cluster_has_an_index_while_a_tenant_there_has_virtual_partitions(world: World) -> None:
    assert world.follow() == ["begin other"]
    assert world.follow() == []
    world.tenants[0].virtual_partitions = ["a rule"]
    world.tenants[1].virtual_partitions = []
    assert sorted(world.follow()) == ["begin main", "end other"]

    assert world.models.indexes is not None
    assert world.models.indexes.keys() == {"main", "other"}


def test_a_cluster_without_brokers_yet_has_to_wait(world: World) -> None:
    world.clusters["other"].node_ids = set()
    assert world.follow() == []
    world.clusters["other"].node_ids = {1}
    assert world.follow() == ["begin other"]


def test_a_cluster_that_is_gone_or_another_one_now_ends_its_index(world: World) -> None:
    world.follow()
    world.clusters[:] = [SimpleNamespace(name="other", node_ids={1})]
    assert world.follow() == ["end other", "begin other"]
    world.clusters[:] = []
    assert world.follow() == ["end other"]


def test_all_indexes_end_with_the_process(world: World) -> None:
    world.follow()
    asyncio.run(world.index.end())

    assert world.told[-1] == "end other"


@pytest.mark.parametrize("is_read", [True, False])
def test_a_gateway_that_starts_waits_a_little_until_topics_were_read(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_read: bool
) -> None:
    monkeypatch.setattr(gateway_index, "START_S", 60.0 if is_read else 0.01)

    async def run() -> bool:
        task = asyncio.create_task(world.index.begin())
        await asyncio.sleep(0)
        was_waiting = not task.done()
        if is_read:
            world.index._indexes["other"].was_read.set()
        await asyncio.wait_for(task, 10)
        return was_waiting

    assert asyncio.run(run())
    assert world.told == ["begin other"]


def test_it_is_off_where_the_configuration_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> bool:
        task = asyncio.create_task(world.index.run())
        await asyncio.sleep(0.01)
        is_done = task.done()
        task.cancel()
        return is_done

    assert not asyncio.run(run())
    assert world.told == ["begin other"]
    monkeypatch.setattr(world.index._gateway.config.proxy, "partition_index", PartitionIndex(enabled=False))
    assert asyncio.run(run())
