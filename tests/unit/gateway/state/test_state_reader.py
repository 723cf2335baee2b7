"""The reader of the state, by what a leader answers; tests/kafka/state has it on real brokers."""

from __future__ import annotations

import asyncio
import itertools
from struct import pack_into, unpack_from
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bifrost.gateway.loop import loop_guard, steps
from bifrost.gateway.loop.loop_guard import keep
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state import state_reader
from bifrost.gateway.state.state_reader import StateReader
from bifrost.records.record_batch import Record, build_batch, compress
from bifrost.state import state_table
from bifrost.state.staged_transaction import STEP_RECORDS
from bifrost.state.state_change import Author
from bifrost.state.state_table import StateLimits, StateTable
from support.state_log import decided, put

KEYS = 1000


class Leader:
    """A log in memory that answers the reader; it waits for ever where it has no more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[bytes] = []
        self.end = 0
        self._has_more = asyncio.Event()
        self.topic: Any = SimpleNamespace(
            cluster=SimpleNamespace(node_ids=[1]),
            settings=SimpleNamespace(name="__state"),
            leaders={0: None},
            topic_id=b"\1" * 16,
            find=self._nothing,
            close=self._nothing,
        )
        monkeypatch.setattr(state_reader, "fetch", self._fetch)
        monkeypatch.setattr(state_reader, "edge_offset", self._earliest)
        monkeypatch.setattr(state_reader, "check_topic", self._nothing)

    def write(self, records: list[Record]) -> None:
        batch = bytearray(build_batch(records, compress(records)))
        pack_into(">q", batch, 0, self.end)
        self.batches.append(bytes(batch))
        self.end += len(records)
        self._has_more.set()

    async def _fetch(self, _topic: object, offset: int, _max_wait_ms: int) -> tuple[Any, int]:
        if offset == self.end and offset:
            self._has_more.clear()
            await self._has_more.wait()
        data = b"".join(self.batches)
        self.batches.clear()
        part = SimpleNamespace(
            error_code=0,
            records=data,
            aborted_transactions=(),
            high_watermark=self.end,
            last_stable_offset=self.end,
        )
        return part, 0

    async def _earliest(self, _topic: object, _which: int) -> int:
        return 0

    async def _nothing(self, *_: object) -> None:
        pass


def records_of(table: StateTable, expected: int, change: str, count: int = KEYS) -> list[Record]:
    """Return the records of a change of many keys."""
    changes = [put(f"n{number}", expected, {"n": number, "by": change}) for number in range(count)]
    return decided(table, changes, (), Author("gw/1"), 1000, change)


def test_a_large_change_is_read_in_steps_and_seen_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    table = StateTable(StateLimits(10_000, 65_536, 2**28))
    decoded, seen, reached_with = [0], list[tuple[int, set[str]]](), list[object]()
    decode = state_table.decode_usual

    def count(records: Any, *others: Any) -> Any:
        decoded[-1] += len(records)
        return decode(records, *others)

    async def watch() -> None:
        """Look at the table in every turn of the event loop."""
        while True:
            decoded.append(0)
            seen.append((len(table), {str((one.body or {})["by"]) for one in table.of_kind("alias")}))
            await asyncio.sleep(0)

    async def reach(reader: StateReader, offset: int) -> None:
        await reader.reach(offset, 60_000)
        reached_with.append(next(iter(table.of_kind("alias"))).body)

    async def scenario() -> None:
        leader = Leader(monkeypatch)
        reader = StateReader(cast(UpstreamTopic, leader.topic), table)
        leader.write(records_of(table, 0, "first"))
        running = asyncio.create_task(reader.run())
        await reader.until_current()
        monkeypatch.setattr(state_table, "decode_usual", count)
        # The time for a step is over after each.
        monkeypatch.setattr(steps, "monotonic_ns", itertools.count(0, 1_000_000_000).__next__)
        monkeypatch.setattr(steps, "turn_until_ns", lambda _most_ns, _least_ns: 0)
        watching = asyncio.create_task(watch())
        leader.write(records_of(table, 1, "second"))
        await asyncio.gather(reach(reader, 2 * KEYS), reader.until_seen("second", 60_000))
        watching.cancel()
        running.cancel()
        await asyncio.gather(watching, running, return_exceptions=True)
        assert reader.position == 2 * KEYS

    asyncio.run(scenario())

    assert [by for _, by in seen if by not in ({"first"}, {"second"})] == []
    assert {count for count, _ in seen} == {KEYS}
    assert max(decoded) <= STEP_RECORDS
    assert sum(decoded) == KEYS
    assert reached_with == [{"n": 0, "by": "second"}]


def test_small_changes_of_one_answer_take_turns_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    table = StateTable(StateLimits(10_000, 65_536, 2**28))
    sizes = list[int]()

    async def watch() -> None:
        while True:
            sizes.append(len(table))
            await asyncio.sleep(0)

    async def scenario() -> None:
        leader = Leader(monkeypatch)
        reader = StateReader(cast(UpstreamTopic, leader.topic), table)
        leader.write(records_of(table, 0, "first", 1))
        running = asyncio.create_task(reader.run())
        await reader.until_current()
        monkeypatch.setattr(steps, "monotonic_ns", itertools.count(0, 1_000_000_000).__next__)
        monkeypatch.setattr(steps, "turn_until_ns", lambda _most_ns, _least_ns: 0)
        watching = asyncio.create_task(watch())
        for number in range(20):
            leader.write(decided(table, [put(f"m{number}", 0, {})], (), Author("gw/1"), 1000, f"c{number}"))
        await reader.reach(21, 60_000)
        watching.cancel()
        running.cancel()
        await asyncio.gather(watching, running, return_exceptions=True)

    asyncio.run(scenario())

    assert len(set(sizes)) >= 20


class KeepingLeader(Leader):
    """A leader that keeps its log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.log: list[bytes] = []

    def write(self, records: list[Record]) -> None:
        super().write(records)
        self.log.append(self.batches[-1])

    async def _fetch(self, topic: object, offset: int, max_wait_ms: int) -> tuple[Any, int]:
        self.batches = [one for one in self.log if unpack_from(">q", one, 0)[0] >= offset]
        return await super()._fetch(topic, offset, max_wait_ms)


def test_what_a_bug_has_kept_out_of_the_table_is_read_again(
    monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    """The log's position is past it by then, so reading on would lose records."""
    table = StateTable(StateLimits(10_000, 65_536, 2**28))
    monkeypatch.setattr(loop_guard, "FIRST_RETRY_S", 0.001)

    async def scenario() -> None:
        leader = KeepingLeader(monkeypatch)
        reader = StateReader(cast(UpstreamTopic, leader.topic), table)
        leader.write(records_of(table, 0, "first", 3))
        running = asyncio.create_task(keep("state_reader", reader.run))
        await reader.until_current()
        written = records_of(table, 1, "second", 3)

        with monkeypatch.context() as patch:
            failed = asyncio.Event()

            def fail(_read: object) -> None:
                failed.set()
                raise KeyError("a bug")

            patch.setattr(reader, "_fold_in_steps", fail)
            leader.write(written)
            await asyncio.wait_for(failed.wait(), 5)
        await reader.reach(leader.end, 5_000)
        running.cancel()
        assert {(one.body or {})["by"] for one in table.of_kind("alias")} == {"second"}

    asyncio.run(scenario())

    [reported] = [one for one in logged if one["event"] == "internal_error"]
    assert reported["place"] == "state_reader"
