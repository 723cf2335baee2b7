"""What one process reads and writes, and when it reads logs; with a real broker: tests/kafka/virtual."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.partition_index import cluster_index as module
from bifrost.gateway.partition_index.cluster_index import ClusterIndex
from bifrost.records.batch_reader import LogRecord, UnreadableBatch
from bifrost.tenancy.virtual_partitions.index import scan_turn
from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry, key_of, to_value
from bifrost.tenancy.virtual_partitions.index.index_table import LATEST_MS, IndexTable
from bifrost.tenancy.virtual_partitions.index.log_piece import BatchMark

PLACE = (b"orders", 0)
ENTRY = IndexEntry(b"a" * 16, 0, 100, BatchMark(98, 0, 7), {0: 100})


class World:
    """The topic of the index, in memory, and a process before it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
        self.records: list[tuple[bytes | None, bytes | None]] = []
        self.position, self.now_ms, self.looks = 0, 1_000_000, 0
        self.read_errors: list[Exception] = []
        self.write_errors: list[Exception] = []
        self.is_at_end = self.created = self.is_closed = False
        self.takes_part = True
        self.deleted: list[tuple[bytes, int]] = []
        self.table, self.counts = IndexTable(), Counter[tuple[str, str]]()
        gateway: Any = SimpleNamespace(
            peers=SimpleNamespace(key=b"key", takes_part=lambda: self.takes_part),
            shared=SimpleNamespace(virtual_clusters=SimpleNamespace(partition_counts=self.counts)),
        )
        monkeypatch.setattr(module, "IndexLink", lambda *_: self)
        monkeypatch.setattr(module, "LogScans", lambda *_: self)
        for name in ("WRITE_S", "SCAN_S", "RETRY_S", "PAUSE_S"):
            monkeypatch.setattr(module, name, 0.001)
        cluster: Any = SimpleNamespace(name="main")
        self.index = ClusterIndex(
            gateway, cluster, PartitionIndex(**settings), self.table, lambda: self.now_ms
        )

    def play(self, *, ends: bool = False) -> None:
        async def run() -> None:
            self.index.begin()
            await asyncio.sleep(0.05)
            for task in self.index._tasks:
                assert not task.done()
                task.cancel()
            await asyncio.gather(*self.index._tasks, return_exceptions=True)
            if ends:
                await self.index.end()

        asyncio.run(run())

    @property
    def entries(self) -> list[tuple[bytes | None, bytes | None]]:
        return [one for one in self.records if one[0] != scan_turn.KEY]

    # -- the topic

    async def read(self) -> list[LogRecord]:
        await asyncio.sleep(0.001)
        if self.read_errors:
            raise self.read_errors.pop()
        found = self.records[self.position :]
        begin, self.position, self.is_at_end = self.position, len(self.records), True
        return [LogRecord(begin + at, 0, *one) for at, one in enumerate(found)]

    async def write(self, records: list[tuple[bytes, bytes | None]]) -> None:
        if self.write_errors:
            raise self.write_errors.pop()
        self.created = not self.records
        self.records += records

    def lose_reader(self) -> None:
        self.is_at_end = False

    def lose_writer(self) -> None:
        pass

    async def close(self) -> None:
        self.is_closed = True

    # -- the scans

    async def look(self) -> bool:
        self.looks += 1
        await asyncio.sleep(0.001)
        return True


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_entries_of_others_are_taken(world: World) -> None:
    world.records = [(key_of(PLACE), to_value(ENTRY)), (key_of((b"gone", 1)), None)]
    world.play()

    assert world.table.of(PLACE) == ENTRY
    assert world.counts["", "index_read"] == 2
    assert world.index.was_read.is_set()


def test_a_topic_that_cannot_be_read_keeps_no_gateway_from_starting(world: World) -> None:
    world.read_errors = [BrokerError("kafka-1:9092: no answer")] * 1000
    world.play()

    assert world.index.was_read.is_set()
    assert not world.is_at_end


def test_a_record_that_is_none_of_a_gateways_is_ignored_counted_and_told(
    world: World, logged: list[dict[str, Any]]
) -> None:
    world.records = [
        (key_of(PLACE), b"{}"),
        (key_of(PLACE), b"\0" * 100_000),
        (b"partition:x", to_value(ENTRY)),
        (None, to_value(ENTRY)),
        (b"something else", b"1"),
        (scan_turn.KEY, b"[]"),
        (key_of(PLACE), to_value(ENTRY)),
    ]
    world.play()

    assert world.table.of(PLACE) == ENTRY
    assert world.counts["", "index_unreadable"] == 6
    told = [one for one in logged if one["event"] == "partition_index_interrupted"]
    assert (told[0]["step"], told[0]["error"]) == ("record", "offset 0: its version is not 1")


def test_what_is_due_is_written_once(world: World) -> None:
    world.table.extend(PLACE, ENTRY, world.now_ms - LATEST_MS)
    world.deleted[:] = [(b"gone", 1)]
    world.play()

    assert world.entries == [(key_of(PLACE), to_value(ENTRY)), (key_of((b"gone", 1)), None)]
    assert world.counts["", "index_written"] == 2
    assert world.deleted == []


def test_what_could_not_be_written_is_written_later(world: World, logged: list[dict[str, Any]]) -> None:
    world.table.extend(PLACE, ENTRY, world.now_ms - LATEST_MS)
    world.write_errors = [BrokerError("Produce: NOT_LEADER_OR_FOLLOWER")] * 2
    world.play()

    assert world.entries == [(key_of(PLACE), to_value(ENTRY))]
    assert world.counts["", "index_not_written"] >= 2
    events = [one["event"] for one in logged]
    assert events.count("partition_index_interrupted") == events.count("partition_index_goes_on") == 1


def test_one_batch_has_a_bound(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WRITTEN_BYTES", 2 * len(to_value(ENTRY)))
    for number in range(3):
        world.table.extend((b"orders", number), ENTRY, world.now_ms - LATEST_MS)

    assert len(world.index._due()) == 2
    monkeypatch.setattr(module, "MAX_WRITTEN", 1)
    assert len(world.index._due()) == 1
    world.play()
    assert len(world.entries) == 3


def test_the_topic_is_read_again_after_errors(world: World, logged: list[dict[str, Any]]) -> None:
    world.records = [(key_of(PLACE), to_value(ENTRY))]
    world.read_errors = [UnreadableBatch("codec lz4"), BrokerError("kafka-1:9092: no answer")]
    world.play()

    assert world.table.of(PLACE) == ENTRY
    assert world.counts["", "index_unreadable"] == 1
    assert {one.get("step") for one in logged} >= {"read", "record"}


def test_a_gateway_reads_logs_when_it_is_its_turn(world: World) -> None:
    world.play()
    assert world.looks > 0

    [(key, value)] = [one for one in world.records if one[0] == scan_turn.KEY][:1]
    assert key == scan_turn.KEY
    assert b"key".hex().encode() not in (value or b""), "the key of the gateway is a secret"
    world.records.append((scan_turn.KEY, scan_turn.to_value("another")))
    world.play()
    world.looks = 0
    world.play()
    assert world.looks == 0


def test_of_the_processes_of_a_gateway_one_reads_logs(world: World) -> None:
    world.takes_part = False
    world.play()

    assert (world.looks, world.records) == (0, [])


def test_no_log_is_read_where_the_configuration_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, max_scan_bytes_per_second=0)
    world.table.extend(PLACE, ENTRY, world.now_ms - LATEST_MS)
    world.play()

    assert world.looks == 0
    assert world.records == [(key_of(PLACE), to_value(ENTRY))]


def test_a_process_that_stops_writes_what_it_knows_and_gives_its_turn_away(world: World) -> None:
    world.table.extend(PLACE, ENTRY, world.now_ms)
    world.play(ends=True)

    assert world.records[-2:] == [
        (key_of(PLACE), to_value(ENTRY)),
        (scan_turn.KEY, scan_turn.to_value("")),
    ]
    assert world.is_closed


def test_a_process_that_stops_waits_for_no_broker(world: World, logged: list[dict[str, Any]]) -> None:
    world.table.extend(PLACE, ENTRY, world.now_ms)
    world.write_errors = [BrokerError("kafka-1:9092: no answer")]
    asyncio.run(world.index.end())

    assert [one["event"] for one in logged][-1] == "partition_index_not_written"
    assert world.is_closed
