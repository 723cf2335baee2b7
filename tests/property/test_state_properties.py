"""The state is one table, whoever reads its log, whenever, and however the log was compacted meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from bifrost.gateway.loop.steps import at_once
from bifrost.records.batch_reader import LogRecord
from bifrost.state.record_decoding import decode
from bifrost.state.staged_transaction import StagedTransaction
from bifrost.state.state_change import Author, Change, StateConflict, purge
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, UnreadableState, encode
from bifrost.state.state_table import StateTable
from support.state_log import decided, in_log, table

KEYS = [StateKey("alias", name) for name in "abc"]
KEEP_MS = 10


@dataclass
class Writer:
    """A writer with what it has seen of the log: it looks rarely, so it often proposes what is out of date."""

    name: str
    table: StateTable = field(default_factory=table)
    read: int = 0

    def look(self, log: list[list[LogRecord]]) -> None:
        for transaction in log[self.read :]:
            self.table.apply(transaction)
        self.read = len(log)


@dataclass
class World:
    """The log, with transactions as they were committed, and who won and lost."""

    log: list[list[LogRecord]] = field(default_factory=list)
    losers: list[list[LogRecord]] = field(default_factory=list)
    """What writers that nothing fences would have written, each time."""
    conflicts: int = 0
    now_ms: int = 0
    changes: int = 0

    @property
    def next_offset(self) -> int:
        return sum(map(len, self.log)) * 10

    def propose(self, writer: Writer, keys: list[StateKey], deletes: bool) -> None:
        """Propose what the writer would change by what it last saw; as the real one, it decides at the log's end."""
        self.changes += 1
        self.now_ms += 3
        change_id = f"c{self.changes}"
        changes = []
        for one in keys:
            seen = writer.table.get(one)
            body = None if deletes and seen is not None else {"by": writer.name, "n": self.changes}
            changes.append(Change(one, 0 if seen is None else seen.version, body))
        author = Author(writer.name)
        unfenced = decided(writer.table, changes, (), author, self.now_ms, change_id)
        writer.look(self.log)
        try:
            records = decided(writer.table, changes, (), author, self.now_ms, change_id)
        except StateConflict:
            self.conflicts += 1
            self.losers.append(in_log(unfenced, self.next_offset))
            return
        records += purge(writer.table, author, self.now_ms, change_id, KEEP_MS, changes)
        self.log.append(in_log(records, self.next_offset))


PROPOSALS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True),
        st.booleans(),
    ),
    min_size=1,
    max_size=25,
)


def world_of(proposals: list[tuple[int, list[StateKey], bool]]) -> World:
    world, writers = World(), [Writer(name) for name in ("one", "two", "three")]
    for number, keys, deletes in proposals:
        world.propose(writers[number], keys, deletes)
    return world


def contents(one: StateTable) -> list[StateRecord]:
    return [entry.record for entry in one.entries()]


def folded(transactions: list[list[LogRecord]]) -> StateTable:
    one = table()
    for transaction in transactions:
        assert one.apply(transaction)[1] == []
    return one


def compacted(
    log: list[list[LogRecord]], data: st.DataObject, *, drops_tombstones: bool
) -> list[list[LogRecord]]:
    """Remove what a cleaner may remove: any record with a later one of its key, and in the end tombstones."""
    last = {one.key: one.offset for transaction in log for one in transaction}
    kept: list[list[LogRecord]] = []
    kept_keys: set[bytes | None] = set()
    for transaction in log:
        kept.append([])
        for one in transaction:
            is_last = last[one.key] == one.offset
            if is_last and one.value is None and drops_tombstones and one.key not in kept_keys:
                continue
            if is_last or data.draw(st.booleans()):
                kept[-1].append(one)
                kept_keys.add(one.key)
    return kept


@given(PROPOSALS, st.data())
def test_every_compaction_of_the_log_makes_the_same_table(
    proposals: list[tuple[int, list[StateKey], bool]], data: st.DataObject
) -> None:
    log = world_of(proposals).log

    assert contents(folded(compacted(log, data, drops_tombstones=True))) == contents(folded(log))


@given(PROPOSALS, st.data())
def test_a_reader_in_the_middle_of_a_compaction_has_the_same_table(
    proposals: list[tuple[int, list[StateKey], bool]], data: st.DataObject
) -> None:
    log = world_of(proposals).log
    at = data.draw(st.integers(0, len(log)))

    read = [*log[:at], *compacted(log, data, drops_tombstones=False)[at:]]

    assert contents(folded(read)) == contents(folded(log))


@given(PROPOSALS, st.data())
def test_a_table_that_follows_in_steps_is_the_same_as_one_that_folds_at_once(
    proposals: list[tuple[int, list[StateKey], bool]], data: st.DataObject
) -> None:
    world = world_of(proposals)
    log = data.draw(st.permutations([*world.log, *world.losers]) | st.just([*world.log, *world.losers]))
    ends = data.draw(st.lists(st.booleans(), min_size=len(log), max_size=len(log)))
    one, other = table(), table()

    transaction: list[LogRecord] = []
    for records, is_end in zip(log, ends, strict=True):
        transaction += records
        if not is_end:
            continue
        changed, ignored = one.apply(transaction)
        staged = StagedTransaction(other)
        at_once(staged.read(transaction))
        other.take(staged)

        assert (staged.changed, staged.ignored, staged.changes) == (changed, ignored, one.last_changes)
        at_once(staged.let_go())
        transaction = []

        assert contents(other) == contents(one)
        assert [other.get(key) for key in KEYS] == [one.get(key) for key in KEYS]
        assert (len(other), other.size, other.counts()) == (len(one), one.size, one.counts())
        assert {one.key for one in other.deleted(1 << 60)} == {one.key for one in one.deleted(1 << 60)}
        assert [other.deleted_of(key.owner) for key in KEYS] == [one.deleted_of(key.owner) for key in KEYS]


@given(PROPOSALS)
def test_the_record_of_a_lost_race_is_ignored_and_reported(
    proposals: list[tuple[int, list[StateKey], bool]],
) -> None:
    world = world_of(proposals)
    one = folded(world.log)
    before = contents(one)

    for loser in (records for records in world.losers if len(records) == 1):
        if one.entry(StateKey.from_bytes(loser[0].key or b"")) is not None:
            changed, ignored = one.apply(loser)
            assert (changed, len(ignored)) == (set(), 1)

    assert contents(one) == before


@given(PROPOSALS)
def test_versions_of_a_key_only_rise_and_every_acknowledged_change_is_in_the_log_once(
    proposals: list[tuple[int, list[StateKey], bool]],
) -> None:
    world, highest, seen = world_of(proposals), dict[StateKey, int](), set[str]()
    one = table()
    for transaction in world.log:
        one.apply(transaction)
        changes = set()
        for record in transaction:
            entry = one.entry(StateKey.from_bytes(record.key or b""))
            if entry is not None and record.value is not None:
                key, version = entry.record.key, entry.record.version
                assert version > highest.get(key, 0)
                highest[key] = version
                changes.add(entry.record.change)
        assert len(changes) == 1
        assert not changes & seen
        seen |= changes

    assert len(world.log) + world.conflicts == len(proposals)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\ü', max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
RECORDS = st.builds(
    StateRecord,
    st.sampled_from(KEYS),
    st.integers(1, 2**70),
    st.integers(-5, 2**70),
    TEXTS,
    TEXTS,
    st.none() | TEXTS,
    st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
)


def found(value: bytes) -> StateRecord | None:
    try:
        return decode(KEYS[0].to_bytes(), value, 0)
    except UnreadableState:
        return None


@given(RECORDS)
def test_a_record_is_read_as_it_was_written(record: StateRecord) -> None:
    assert decode(record.key.to_bytes(), encode(record), 0) == record


@given(RECORDS, st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_the_layout_of_a_value_does_not_decide_what_is_read(
    record: StateRecord, at: int, inserted: bytes, removed: int
) -> None:
    written = encode(record)
    at %= len(written) + 1
    value = written[:at] + inserted + written[at + removed :]

    read = found(value)

    # A space in front is none that `encode` writes, so the whole decoder reads this.
    assert found(b" " + value) == read
    if read is not None:
        assert json.loads(value)["body"] == read.body
