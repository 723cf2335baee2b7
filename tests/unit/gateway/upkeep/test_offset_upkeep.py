"""Whose offset groups are looked at, when, and what is done; real brokers do it in
tests/kafka/virtual/test_expiring_offsets.py."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.upkeep import offset_upkeep as module
from bifrost.gateway.upkeep.offset_upkeep import OffsetUpkeep
from bifrost.tenancy.ownership import OwnNames
from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp
from bifrost.tenancy.virtual_partitions.kept_offsets import TOUCHED, KeptOffset
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

RETENTION_S, NOW_S = 800, 1_000_000.0
TENANTS = "acme", "globex"


def owner(tenant: str, group: int = 1) -> str:
    """Return the offset group of a tenant's consumer group `app`."""
    return offset_group(f"{tenant}.app", f"{tenant}.app", PartitionGroup(group))


def offset(age_s: float, *, is_transactional: bool = True) -> KeptOffset:
    return KeptOffset("t", 0, CommitStamp(int(NOW_S - age_s), is_transactional))


class World:
    """One broker, whose groups a test says, and a gateway with two tenants that have virtual partitions."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listed: dict[str, str] = {}
        self.offsets_of: dict[str, list[KeptOffset]] = {}
        self.asked: list[str] = []
        self.touched: list[str] = []
        self.deleted: list[str] = []
        self.told_s: int | None = RETENTION_S
        self.is_away = self.is_silent = self.has_come_back = False
        self.now_s = NOW_S
        names = {
            tenant: SimpleNamespace(
                namespace=SimpleNamespace(names=SimpleNamespace(groups=OwnNames(f"{tenant}.".encode())))
            )
            for tenant in TENANTS
        }
        self.counts = Counter[tuple[str, str]]()
        cluster = SimpleNamespace(
            name="main", security=None, node_ids={1}, any_broker=object, broker=lambda _: object()
        )
        self.gateway: Any = SimpleNamespace(
            clusters=[cluster],
            cluster_of=dict.fromkeys(TENANTS, "main"),
            config=SimpleNamespace(
                tenants=[
                    *(SimpleNamespace(name=one, virtual_partitions=["a rule"]) for one in TENANTS),
                    SimpleNamespace(name="initech", virtual_partitions=[]),
                ]
            ),
            limits_hit=Counter[tuple[str, str]](),
            shared=SimpleNamespace(
                virtual_clusters=SimpleNamespace(
                    of_tenant=names.get, models=SimpleNamespace(partition_counts=self.counts)
                )
            ),
        )
        monkeypatch.setattr(module, "Coordinator", lambda *_: self)
        monkeypatch.setattr(module, "PAUSE_S", 0)
        self.upkeep = OffsetUpkeep(self.gateway, lambda: self.now_s)

    def look(self) -> float:
        return asyncio.run(self.upkeep._look(self.gateway.clusters[0], self.upkeep._tenants()))

    # -- the broker

    async def retention_s(self) -> int | None:
        if self.is_away:
            raise BrokerError("kafka-1:9092: no answer")
        return self.told_s

    async def groups(self) -> dict[str, str]:
        if self.is_silent:
            raise BrokerError("ListGroups: COORDINATOR_LOAD_IN_PROGRESS")
        return self.listed

    async def offsets(self, group_id: str) -> list[KeptOffset]:
        self.asked.append(group_id)
        if group_id not in self.offsets_of:
            raise BrokerError("OffsetFetch: NOT_COORDINATOR")
        return self.offsets_of[group_id]

    async def is_gone(self, group_id: str) -> bool:
        return group_id not in self.listed and not self.has_come_back

    async def touch(self, group_id: str) -> None:
        self.touched.append(group_id)

    async def delete(self, group_id: str, offsets: list[KeptOffset]) -> int:
        self.deleted.append(group_id)
        return len(offsets)

    async def close(self) -> None:
        pass


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_a_group_is_looked_at_when_it_is_due_and_not_before(world: World) -> None:
    mine = owner("acme")
    world.listed = {"acme.app": "consumer", mine: ""}
    world.offsets_of = {mine: [offset(0)]}

    assert world.look() == RETENTION_S / 60
    world.look()
    assert (world.asked, world.touched) == ([mine], [])

    world.now_s += RETENTION_S / 8
    world.look()
    assert (world.asked, world.touched) == ([mine, mine], [mine])
    assert world.counts == {("acme", "kept_groups"): 1}


def test_only_offset_groups_of_tenants_with_virtual_partitions_are_looked_at(world: World) -> None:
    wrong = owner("acme")[:-1] + ("a" if owner("acme")[-1] != "a" else "b")
    world.listed = dict.fromkeys(
        ["acme.app", "globex.app", "initech.app", owner("globex"), owner("initech"), wrong], ""
    )
    world.offsets_of = {owner("globex"): [offset(RETENTION_S)]}
    world.look()

    assert world.asked == world.touched == [owner("globex")]


def test_expired_offsets_of_a_group_that_is_gone_are_deleted(world: World) -> None:
    world.listed = {owner("acme"): "", owner("acme", 2): TOUCHED, owner("globex"): ""}
    world.offsets_of = {
        owner("acme"): [offset(RETENTION_S, is_transactional=False)],
        owner("acme", 2): [offset(RETENTION_S), offset(3)],
        owner("globex"): [offset(3)],
    }
    world.look()

    assert world.deleted == [owner("acme"), owner("acme", 2)]
    assert world.touched == [owner("acme", 2)]
    assert world.counts == {("acme", "expired_offsets"): 2, ("acme", "kept_groups"): 1}


def test_masses_of_offsets_are_deleted_a_thousand_at_once(world: World) -> None:
    mine = owner("acme")
    world.listed = {mine: ""}
    world.offsets_of = {mine: [offset(RETENTION_S)] * (module.MAX_DELETED + 1)}
    world.look()
    assert world.counts == {("acme", "expired_offsets"): module.MAX_DELETED}

    world.look()
    assert world.deleted == [mine, mine]


def test_nothing_is_deleted_of_a_group_that_has_come_back(world: World) -> None:
    world.listed = {owner("acme"): ""}
    world.offsets_of = {owner("acme"): [offset(RETENTION_S)]}
    world.has_come_back = True
    world.look()

    assert (world.asked, world.deleted) == ([owner("acme")], [])


def test_a_group_whose_consumer_group_comes_or_goes_is_looked_at_at_once(world: World) -> None:
    mine = owner("acme")
    world.listed = {"acme.app": "consumer", mine: ""}
    world.offsets_of = {mine: [offset(0)]}
    world.look()
    del world.listed["acme.app"]
    world.look()
    world.look()
    world.listed["acme.app"] = "consumer"
    world.look()

    assert world.asked == [mine] * 3


def test_what_fails_is_tried_again_with_the_next_look(world: World) -> None:
    world.listed = {"acme.app": "consumer", owner("acme"): ""}
    world.look()
    world.look()

    assert world.asked == [owner("acme")] * 2
    assert world.counts == {("acme", "upkeep_failures"): 2}


def test_a_broker_that_does_not_tell_its_groups_is_asked_again_soon(world: World) -> None:
    mine = owner("acme")
    world.listed = {"acme.app": "consumer", mine: ""}
    world.offsets_of = {mine: [offset(0)]}
    world.look()
    world.is_silent = True

    assert world.look() == min(RETENTION_S / 60, module.RETRY_S)
    world.is_silent = False
    world.look()
    assert world.asked == [mine], "what is known of its groups was forgotten"


def test_without_an_answer_offsets_are_kept_as_long_as_kafka_does_by_default(world: World) -> None:
    world.told_s = None
    world.listed = {owner("acme"): ""}
    world.offsets_of = {owner("acme"): [offset(6 * 24 * 3600)]}

    assert world.look() == 600
    assert world.deleted == []


def test_as_long_as_no_broker_answers_there_is_no_look_and_another_one_soon(world: World) -> None:
    world.listed = {owner("acme"): ""}
    world.is_away = True
    assert world.look() == module.UNKNOWN_S

    world.is_away, world.gateway.clusters[0].any_broker = False, lambda: None
    assert world.look() == module.UNKNOWN_S
    assert world.asked == []


def test_a_tenant_with_too_many_groups_has_some_of_them_looked_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_GROUPS", 2)
    world.listed = {owner("acme", number): "" for number in (1, 2, 3)} | {owner("globex"): ""}
    world.offsets_of = {one: [offset(0)] for one in world.listed}
    world.look()

    assert len(world.asked) == 3
    assert owner("globex") in world.asked
    assert world.gateway.limits_hit == {("virtual_offset_groups", "acme"): 1}


def test_the_time_of_a_tenant_is_bounded_and_the_rest_comes_with_the_next_look(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.listed = {owner("acme", number): "" for number in (1, 2, 3)} | {owner("globex"): ""}
    world.offsets_of = {one: [offset(0)] for one in world.listed}
    monkeypatch.setattr(module, "TURN_S", 0)
    assert world.look() == module.RETRY_S
    assert world.asked == []

    monkeypatch.setattr(module, "TURN_S", 60)
    assert world.look() > module.RETRY_S
    assert sorted(world.asked) == sorted(world.listed)


def test_a_problem_of_a_tenant_is_logged_once_while_it_lasts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(module.log, "warning", lambda event, **fields: told.append(fields["error"]))
    world.listed = {owner("acme"): "", owner("acme", 2): ""}
    world.offsets_of = {owner("acme", 2): [offset(0)]}
    for _ in range(3):
        world.look()
    world.offsets_of[owner("acme")] = [offset(0)]
    world.look()
    del world.offsets_of[owner("acme")]
    world.now_s += RETENTION_S
    world.look()

    assert told == ["OffsetFetch: NOT_COORDINATOR"] * 2


def test_a_bug_with_one_tenants_groups_leaves_those_of_the_others_looked_after(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    acme, globex = owner("acme"), owner("globex")
    world.listed = {acme: "", "acme.app": "consumer", globex: "", "globex.app": "consumer"}
    world.offsets_of = {one: [offset(RETENTION_S)] for one in (acme, globex)}
    touch = world.touch

    async def broken(group_id: str) -> None:
        if group_id == acme:
            raise KeyError("a bug")
        await touch(group_id)

    monkeypatch.setattr(world, "touch", broken)
    world.look()

    assert world.touched == [globex]
    assert world.counts["acme", "upkeep_failures"] == 1
    [reported] = [one for one in logged if one["event"] == "internal_error"]
    assert (reported["place"], reported["tenant"]) == ("offset_upkeep", "acme")


def test_a_bug_at_one_cluster_leaves_the_others_looked_after(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    other = SimpleNamespace(name="other")
    world.gateway.clusters.insert(0, other)
    world.gateway.cluster_of["acme"] = "other"
    looked = asyncio.Event()

    async def look(cluster: Any, _tenants: list[str]) -> float:
        if cluster is other:
            raise KeyError("a bug")
        looked.set()
        return 600

    monkeypatch.setattr(world.upkeep, "_look", look)

    async def run() -> None:
        task = asyncio.create_task(world.upkeep.run())
        async with asyncio.timeout(1):
            await looked.wait()
        task.cancel()

    asyncio.run(run())

    [reported] = [one for one in logged if one["event"] == "internal_error"]
    assert (reported["place"], reported["upstream"]) == ("offset_upkeep", "other")
