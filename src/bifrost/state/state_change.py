"""The decision of a change: expected versions in, records to write out, or a conflict.

A caller says for each key which version it has seen. If one has changed since, nothing is written, and the caller
learns who was first. The records of one change are written in one transaction: readers see all of them or none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bifrost.state.state_key import FLOOR, StateKey
from bifrost.state.state_record import Body, StateRecord, TooLarge, encode

if TYPE_CHECKING:  # The changes are made in processes without a state as well, whose memory these would take.
    from bifrost.records.record_batch import Record
    from bifrost.state.state_table import StateTable

MAX_PURGED = 100
"""Most records that one change purges, so that a change stays small."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one key becomes."""

    key: StateKey
    expected: int
    """The version that the caller has seen; 0: nothing is stored under the key."""

    body: Body | None = field(repr=False)
    """What is stored from now on; None: it is deleted. It may hold secrets."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A key that a change relies on without changing it, such as the namespace above a new one."""

    key: StateKey
    expected: int
    """As in `Change`."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change."""

    writer: str
    """The process: its gateway, host and process ID."""

    on_behalf_of: str | None = None
    """The principal or operator that asked for it, if it is known."""


Dependents = Callable[["StateTable"], "Iterable[Change]"]
"""Returns the changes that go with others, by the state as it is when no other writer can commit any more."""


class StateConflict(Exception):
    """A key is not as the caller has seen it: another writer was first. Nothing was written."""

    def __init__(self, key: StateKey, expected: int, found: StateRecord | None) -> None:
        """Describe what was found instead; None: the table does not know the key."""
        self.key, self.expected = key, expected
        self.found = 0 if found is None or found.body is None else found.version
        """The version that is stored; 0: nothing is."""
        self.writer = None if found is None else found.writer
        """The process that wrote it, or deleted it."""
        self.on_behalf_of = None if found is None else found.on_behalf_of
        """The principal or operator that asked for that."""
        by = "" if found is None else f", written by {found.on_behalf_of or found.writer}"
        super().__init__(f"{key} has changed: version {expected} was expected, {self.found} was found{by}")


def decide(
    table: StateTable,
    changes: Sequence[Change],
    unchanged: Sequence[Unchanged],
    author: Author,
    now_ms: int,
    change_id: str,
) -> Generator[None, None, list[Record]]:
    """Return the records that make a change, as they are written to the topic; yield after each key, for a thousand
    take 15 ms.

    The table may change between two steps only if another writer has fenced the caller's: then no broker takes what is
    decided here.

    Args:
        table: the state, read to its end.
        changes: at least one, each of another key.
        unchanged: what must be as the caller has seen it.
        author: who makes the change.
        now_ms: the time, in milliseconds since 1970.
        change_id: tells this change from all others.
    Raises:
        StateConflict: a key is not as expected.
        TooLarge: a record or the table would exceed its limit.
        ValueError: the changes do not go together: a key twice, or a deletion of nothing.
    """
    if not changes or len({one.key for one in changes}) < len(changes):
        raise ValueError("a change has at least one key, and each key once")
    seen: list[Change | Unchanged] = [*changes, *unchanged]
    for one in seen:
        yield
        entry = table.entry(one.key)
        found = None if entry is None else entry.record
        if one.expected != (0 if found is None or found.body is None else found.version):
            raise StateConflict(one.key, one.expected, found)
    records = []
    for change in changes:
        yield
        if change.key == FLOOR or (change.expected == 0 and change.body is None):
            raise ValueError(f"{change.key} cannot be changed so")
        version = table.next_version(change.key)
        made = StateRecord(
            change.key, version, now_ms, change_id, author.writer, author.on_behalf_of, change.body
        )
        records.append(_write(made))
    yield from _check(table, records)
    return records


def purge(
    table: StateTable,
    author: Author,
    now_ms: int,
    change_id: str,
    keep_ms: int,
    spared: Sequence[Change] = (),
) -> list[Record]:
    """Return the records that remove what was deleted longer than `keep_ms` ago, at most MAX_PURGED of them.

    The deleted keys get records without a value, which compaction removes with all before them; and the floor rises, so
    that a key that is created again goes on with a higher version.

    Args:
        table: the state, read to its end.
        author: who purges.
        now_ms: the time, in milliseconds since 1970.
        change_id: as for `decide`.
        keep_ms: how long a deletion stays visible, in milliseconds.
        spared: changes of the same transaction: their keys are not purged.
    """
    keys = {one.key for one in spared}
    old = []
    for record in table.deleted(now_ms - keep_ms):
        if record.key not in keys:
            old.append(record)
        if len(old) == MAX_PURGED:
            break
    if not old:
        return []
    floor = max(table.floor, *(record.version for record in old))
    body = {"version": floor}
    version = table.next_version(FLOOR)
    raised = StateRecord(FLOOR, version, now_ms, change_id, author.writer, author.on_behalf_of, body)
    return [*((now_ms, record.key.to_bytes(), None) for record in old), _write(raised)]


def _write(record: StateRecord) -> Record:
    return record.at_ms, record.key.to_bytes(), encode(record)


def _check(table: StateTable, records: Sequence[Record]) -> Generator[None, None, None]:
    """Check that the table has room for records, each of another key; yield after each."""
    from bifrost.state.state_table import check_room

    count, total = len(table), table.size
    for _, key, value in records:
        yield
        size = len(key or b"") + len(value or b"")
        if size > table.limits.record_bytes:
            name = (key or b"").decode()
            raise TooLarge(f"{name} has {size} bytes, and max_record_bytes is {table.limits.record_bytes}")
        known = table.entry(StateKey.from_bytes(key or b""))
        count += known is None
        total += size - (0 if known is None else known.size)
    check_room(table.limits, count, total)
