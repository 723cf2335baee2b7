"""Which logs are read for the index, from where, and how fast."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.partition_index import log_scans as module
from bifrost.gateway.partition_index.leader_logs import Bounds, TopicAtBrokers
from bifrost.gateway.partition_index.log_scans import LIST_MS, LogScans
from bifrost.tenancy.ownership import OwnNames
from bifrost.tenancy.virtual_partitions.index import index_table
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark, read_piece
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.records.virtual_logs import log_of

PLACE = (b"acme.orders", 0)
TOPIC_ID, NEW_ID = b"a" * 16, b"b" * 16
SIZE = len(log_of(0))


class World:
    """A broker that leads all logs, a tenant whose orders have 6 virtual partitions on 2, and a table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.topics_at_brokers = [TopicAtBrokers(b"acme.orders", TOPIC_ID, {0: 1, 1: 1})]
        self.log = log_of(*[0, 1] * (STEP // 4))
        """Of partition 0; two offsets a batch. The other one is empty."""
        self.start = 0
        self.code = 0
        self.asked: list[tuple[int, int]] = []
        self.is_away, self.listed, self.closed, self.now_ms = False, 0, 0, 1_000_000
        self.untold: set[tuple[bytes, int]] = set()
        self.table, self.counts = IndexTable(), Counter[tuple[str, str]]()
        names = SimpleNamespace(
            topics=OwnNames(b"acme."),
            virtual_topic=lambda name: name.removeprefix(b"acme.") if name.startswith(b"acme.") else None,
        )
        maps = {"orders": PartitionMap(6, 2)}
        virtual = SimpleNamespace(topics=lambda *_: SimpleNamespace(map_of=maps.get))
        root = SimpleNamespace(namespace=SimpleNamespace(names=names), virtual_partitions=virtual)
        gateway: Any = SimpleNamespace(
            config=SimpleNamespace(
                tenants=[
                    SimpleNamespace(name="acme", virtual_partitions=["a rule"]),
                    SimpleNamespace(name="globex", virtual_partitions=[]),
                    SimpleNamespace(name="elsewhere", virtual_partitions=["a rule"]),
                ]
            ),
            cluster_of={"acme": "main", "globex": "main", "elsewhere": "other"},
            shared=SimpleNamespace(
                virtual_clusters=SimpleNamespace(of_tenant={"acme": root}.get, partition_counts=self.counts)
            ),
        )
        self.pauses: list[float] = []
        monkeypatch.setattr(module, "LeaderLogs", lambda *_: self)
        cluster: Any = SimpleNamespace(name="main", security=None)
        self.scans = LogScans(gateway, cluster, self.table, 10 * 2**30, lambda: self.now_ms)

    @property
    def end(self) -> int:
        return len(self.log) // SIZE * 2

    def look(self) -> bool:
        self.asked.clear()
        return asyncio.run(self.scans.look())

    # -- the broker

    async def topics(self) -> list[TopicAtBrokers]:
        self.listed += 1
        if self.is_away:
            raise BrokerError("kafka-1:9092: no answer")
        return self.topics_at_brokers

    async def bounds(self, _node_id: int, places: list[tuple[bytes, int]]) -> dict[Any, Bounds]:
        found = {place: Bounds(self.start, self.end) if place == PLACE else Bounds(0, 0) for place in places}
        return {place: one for place, one in found.items() if place not in self.untold}

    async def read(self, _node_id: int, place: Any, offset: int, max_bytes: int) -> tuple[int, bytes]:
        assert place == PLACE
        self.asked.append((offset, max_bytes))
        if not self.start <= offset <= self.end:
            return int(ErrorCode.OFFSET_OUT_OF_RANGE), b""
        at = offset // 2 * SIZE
        return self.code, b"" if self.code else self.log[at : at + max(max_bytes // SIZE, 1) * SIZE]

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_a_log_without_an_entry_is_read_from_its_start(world: World) -> None:
    world.log += log_of(2, 0, base=world.end)
    assert world.look()

    entry = world.table.of(PLACE)
    assert entry is not None
    assert (entry.topic_id, entry.begin, entry.end) == (TOPIC_ID, 0, world.end)
    assert entry.ends == {0: world.end, 1: world.end - 4, 2: world.end - 2}
    assert world.counts == {("acme", "index_scanned_bytes"): len(world.log)}
    assert world.closed == 1


def test_what_clients_find_themselves_is_left_alone(world: World) -> None:
    world.log = log_of(*[0] * (STEP // 2 - 1))
    assert world.look()
    assert world.asked == []

    world.log += log_of(1, base=world.end)
    world.look()
    assert world.asked != []
    world.log += log_of(*[0] * 100, base=world.end)
    world.look()
    assert world.asked == []


def test_it_goes_on_behind_an_entry_of_any_gateway(world: World) -> None:
    piece = read_piece(world.log[: 10 * SIZE], is_keyed=False)
    assert piece is not None
    world.table.take(PLACE, IndexEntry(TOPIC_ID, 0, 20, piece.last, piece.ends))
    world.log += log_of(*[0] * 10, base=world.end)
    world.look()

    assert world.asked[0] == (19, module.PART_BYTES)
    entry = world.table.of(PLACE)
    assert entry is not None
    assert entry.end == world.end


@pytest.mark.parametrize("topic_id", [NEW_ID, bytes(16), TOPIC_ID])
def test_an_entry_about_another_log_is_dropped_and_built_anew(world: World, topic_id: bytes) -> None:
    """By the topic's ID, if both are known, or by the batch at its end."""
    world.log += log_of(*[0] * 100, base=world.end)
    world.table.take(PLACE, IndexEntry(topic_id, 0, 20, BatchMark(18, -1, 1), {5: 20}))
    world.look()
    world.look()

    entry = world.table.of(PLACE)
    assert entry is not None
    assert (entry.topic_id, entry.begin, entry.end) == (TOPIC_ID, 0, world.end)
    assert 5 not in entry.ends
    assert world.counts["acme", "index_distrusted"] == 1


def test_a_log_that_has_lost_its_end_is_read_anew(world: World) -> None:
    world.look()
    before = world.table.of(PLACE)
    world.log = log_of(*[1] * (STEP // 2), base=0)[: -10 * SIZE]
    world.look()
    assert world.table.of(PLACE) is None
    world.log = log_of(*[1] * STEP, base=0)
    world.look()

    entry = world.table.of(PLACE)
    assert entry is not None
    assert entry.ends == {1: world.end}
    assert entry != before


def test_an_entry_that_covers_only_what_is_deleted_is_of_no_use(world: World) -> None:
    piece = read_piece(world.log[: 10 * SIZE], is_keyed=False)
    assert piece is not None
    world.table.take(PLACE, IndexEntry(TOPIC_ID, 0, 20, piece.last, piece.ends))
    world.log += log_of(*[0] * 100, base=world.end)
    world.start = 40
    world.look()

    entry = world.table.of(PLACE)
    assert entry is not None
    assert (entry.begin, entry.end) == (40, world.end)


def test_a_batch_that_does_not_say_whose_it_is_stops_it_until_that_is_deleted(world: World) -> None:
    whole = world.log + log_of(*[0] * 100, base=world.end)
    world.log = whole[:16] + b"\1" + whole[17:]
    world.look()
    world.look()
    assert world.asked == []

    world.start = 2
    world.look()
    assert world.table.of(PLACE) is not None


def test_topics_are_listed_again_after_a_while_or_when_leaders_have_changed(world: World) -> None:
    world.look()
    world.look()
    assert world.listed == 1
    world.now_ms += LIST_MS
    world.look()
    assert world.listed == 2
    world.untold = {PLACE}
    world.look()
    world.look()
    assert world.listed == 3


def test_entries_of_topics_that_are_gone_are_deleted(world: World) -> None:
    world.look()
    foreign = (b"globex.orders", 0)
    for place in ((b"acme.gone", 3), foreign):
        world.table.take(place, IndexEntry(TOPIC_ID, 0, 20, BatchMark(18, -1, 1), {}))
    for _ in range(2):
        world.now_ms += LIST_MS
        assert world.scans.deleted == []
        world.look()

    assert world.scans.deleted == [(b"acme.gone", 3)]
    assert set(world.table.places()) == {PLACE, foreign}


def test_a_full_index_begins_no_other_log(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    """It would have to forget one, and read that again."""
    monkeypatch.setattr(index_table, "MAX_PLACES", 1)
    world.table.take((b"globex.orders", 0), IndexEntry(TOPIC_ID, 0, 20, BatchMark(18, -1, 1), {}))
    assert world.look()

    assert world.asked == []
    assert logged[0]["error"] == "the index has no room for more physical partitions"


def test_topics_with_another_number_of_partitions_are_left_alone(world: World) -> None:
    world.topics_at_brokers = [TopicAtBrokers(b"acme.orders", TOPIC_ID, {0: 1})]
    assert world.look()

    assert world.asked == []


def test_a_broker_that_does_not_answer_is_asked_again(world: World, logged: list[dict[str, Any]]) -> None:
    world.is_away = True
    for _ in range(2):
        assert world.look()
    world.is_away = False
    world.look()

    assert world.table.of(PLACE) is not None
    assert [one["event"] for one in logged] == ["partition_index_scan_failed"]


def test_an_error_of_one_log_is_told(world: World, logged: list[dict[str, Any]]) -> None:
    world.code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.look()
    world.look()

    assert world.table.of(PLACE) is None
    assert [one["error"] for one in logged] == ["acme.orders: TOPIC_AUTHORIZATION_FAILED"]


def test_a_bug_is_reported_and_the_others_go_on(
    world: World, logged: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(world, "bounds", fails)
    assert world.look()

    assert logged[0]["event"] == "internal_error"
    assert world.closed == 1


def test_no_more_is_read_in_a_second_than_is_allowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses, sleep = list[float](), asyncio.sleep

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(module.asyncio, "sleep", paused)
    monkeypatch.setattr(world.scans, "_rate", len(world.log) // 4)
    world.look()

    assert 3 < sum(pauses) <= 4


def test_a_look_ends_after_a_while(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", -1.0)

    assert not world.look()
    assert world.asked == []


def test_logs_have_turns(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTS", 1)
    monkeypatch.setattr(module, "PART_BYTES", 100 * SIZE)
    assert world.look()

    assert len(world.asked) > 20
    entry = world.table.of(PLACE)
    assert entry is not None
    assert entry.end == world.end
