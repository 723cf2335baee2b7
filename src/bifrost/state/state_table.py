"""The table that the records of the state make: the newest version of each key.

    records of a committed transaction ──apply──▶ table ──▶ watchers of the kinds that have changed

A reader folds whole transactions, so the table never holds half a change. The same table results from every compacted
form of the log, also for a reader that was in the middle of it when it was compacted; tests/property compares them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, TooLarge, UnreadableState, decode

FLOOR = StateKey("state", "floor")
"""The record with the highest version that a purge has removed, of any key."""


@dataclass(frozen=True, slots=True)
class StateLimits:
    """The bounds of the state."""

    records: int
    """Most keys, with those of deleted records that are not purged yet."""

    record_bytes: int
    """Most bytes of one record, with its key."""

    total_bytes: int
    """Most bytes of all records, with their keys."""


@dataclass(frozen=True, slots=True)
class StateEntry:
    """What the table has under a key."""

    record: StateRecord
    offset: int
    size: int
    """Bytes of the record in the topic, with its key."""


@dataclass(frozen=True, slots=True)
class Ignored:
    """A record that is older than what the table has: its writer has lost a race that it should not have run."""

    record: StateRecord
    offset: int
    found: int
    """The version that the table has."""


Watcher = Callable[[Sequence[StateKey]], None]
"""Is told the keys of its kind that one transaction has changed."""


class StateTable:
    """The state as far as it was read."""

    def __init__(self, limits: StateLimits) -> None:
        """Begin without entries."""
        self.limits = limits
        self.size = 0
        """Bytes of all entries in the topic."""
        self._entries: dict[StateKey, StateEntry] = {}
        self._kinds: Counter[str] = Counter()
        self._deleted: dict[StateKey, StateRecord] = {}
        """The records of deletions, in the order in which they were read."""
        self._watchers: defaultdict[str, list[Watcher]] = defaultdict(list)

    def __len__(self) -> int:
        """Return the number of keys, with those of deleted records that are not purged yet."""
        return len(self._entries)

    def get(self, key: StateKey) -> StateRecord | None:
        """Return what is stored under a key; None: nothing, or it was deleted."""
        entry = self._entries.get(key)
        return None if entry is None or entry.record.body is None else entry.record

    def entry(self, key: StateKey) -> StateEntry | None:
        """Return the newest record of a key, also that of its deletion."""
        return self._entries.get(key)

    def of_kind(self, kind: str) -> Iterator[StateRecord]:
        """Yield what is stored of a kind, in no order."""
        if self._kinds[kind]:
            for key, entry in self._entries.items():
                if key.kind == kind and entry.record.body is not None:
                    yield entry.record

    def entries(self) -> Iterator[StateEntry]:
        """Yield the newest record of each key, in the order of the keys."""
        for key in sorted(self._entries):
            yield self._entries[key]

    def deleted(self, before_ms: int) -> Iterator[StateRecord]:
        """Yield the deletions that were made before a time, in the order in which they were read."""
        return (one for one in self._deleted.values() if one.at_ms < before_ms)

    def next_version(self, key: StateKey) -> int:
        """Return the version that the next record of a key has."""
        entry = self._entries.get(key)
        return (self.floor if entry is None else entry.record.version) + 1

    @property
    def floor(self) -> int:
        """The highest version that was purged of any key; a key that the table does not know begins above it."""
        entry = self._entries.get(FLOOR)
        return 0 if entry is None else int((entry.record.body or {}).get("version", 0))

    # -- watchers

    def watch(self, kind: str, watcher: Watcher) -> None:
        """Tell `watcher` of every change of a kind from now on; it reads the table itself."""
        self._watchers[kind].append(watcher)

    def calls(self, changed: Iterable[StateKey]) -> Iterator[Callable[[], None]]:
        """Yield the calls that tell the watchers of changed keys: one call may fail, and the others are made."""
        by_kind: defaultdict[str, list[StateKey]] = defaultdict(list)
        for key in changed:
            by_kind[key.kind].append(key)
        for kind, keys in by_kind.items():
            for watcher in self._watchers[kind]:
                yield lambda watcher=watcher, keys=keys: watcher(keys)  # type: ignore[misc]

    # -- folding

    def apply(self, transaction: Iterable[LogRecord]) -> tuple[set[StateKey], list[Ignored]]:
        """Fold the records of a committed transaction; return the changed keys, and what was ignored.

        Raises:
            UnreadableState: a record cannot be read (FutureSchema among them): the table has none of the transaction;
                or the table exceeds its limits.
        """
        read = [(one, self._read(one)) for one in transaction]
        changed: set[StateKey] = set()
        ignored: list[Ignored] = []
        for one, record in read:
            if not isinstance(record, StateRecord):
                if self._remove(record):
                    changed.add(record)
                continue
            known = self._entries.get(record.key)
            if known is not None and record.version <= known.record.version:
                ignored.append(Ignored(record, one.offset, known.record.version))
                continue
            self._remove(record.key)
            self._put(StateEntry(record, one.offset, _size(one)))
            changed.add(record.key)
        self._check_size()
        return changed, ignored

    def become(self, other: "StateTable") -> set[StateKey]:
        """Take the entries of a table that was read anew; return the keys that differ."""
        before, self._entries = self._entries, other._entries
        self.size, self._kinds, self._deleted = other.size, other._kinds, other._deleted
        return {
            key
            for key in before.keys() | self._entries.keys()
            if key not in before
            or key not in self._entries
            or before[key].record != self._entries[key].record
        }

    def _read(self, one: LogRecord) -> StateRecord | StateKey:
        """Return the record, or the key that is removed."""
        if _size(one) > self.limits.record_bytes:
            raise UnreadableState(
                f"the record at offset {one.offset} of the state has {_size(one)} bytes, and max_record_bytes is "
                f"{self.limits.record_bytes}: give all gateways the same limits"
            )
        if one.value is None:
            try:
                return StateKey.from_bytes(one.key or b"")
            except ValueError as error:
                raise UnreadableState(f"the record at offset {one.offset} of the state: {error}") from None
        return decode(one.key, one.value, one.offset)

    def _put(self, entry: StateEntry) -> None:
        self._entries[entry.record.key] = entry
        self._kinds[entry.record.key.kind] += 1
        if entry.record.body is None:
            self._deleted[entry.record.key] = entry.record
        self.size += entry.size

    def _remove(self, key: StateKey) -> bool:
        entry = self._entries.pop(key, None)
        if entry is None:
            return False
        self._kinds[key.kind] -= 1
        self._deleted.pop(key, None)
        self.size -= entry.size
        return True

    def _check_size(self) -> None:
        try:
            check_room(self.limits, len(self._entries), self.size)
        except TooLarge as error:
            raise UnreadableState(f"{error}: give all gateways the same limits") from None


def check_room(limits: StateLimits, records: int, size: int) -> None:
    """Check the size of a table.

    Raises:
        TooLarge: there are too many records or bytes.
    """
    if records > limits.records:
        raise TooLarge(f"the state has {records} records, and max_records is {limits.records}")
    if size > limits.total_bytes:
        raise TooLarge(f"the state has {size} bytes, and max_bytes is {limits.total_bytes}")


def _size(one: LogRecord) -> int:
    return len(one.key or b"") + len(one.value or b"")
