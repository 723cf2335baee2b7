"""The table that the records of the state make: the newest version of each key.

    records of a committed transaction ──apply──▶ table ──▶ watchers of the kinds that have changed

The table keeps the bytes of each record and decodes them when it is asked: that takes some microseconds, and less than
half of the memory of decoded records. Only the last ones are kept decoded. Who asks often has a model of its own
(state_model.py).

A reader folds whole transactions, so the table never holds half a change; what comes later, when clients are served, it
reads in steps first (staged_transaction.py). The same table results from every compacted form of the log, also for a
reader that was in the middle of it when it was compacted; tests/property compares them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bifrost.records.batch_reader import LogRecord
from bifrost.state.record_decoding import decode, decode_usual
from bifrost.state.record_layout import put_new
from bifrost.state.state_key import FLOOR, StateKey
from bifrost.state.state_record import StateRecord, TooLarge, UnreadableState

if TYPE_CHECKING:
    from bifrost.state.staged_transaction import StagedTransaction

KEPT_DECODED = 1_000
"""Most records that are kept as they were decoded when they were folded: a megabyte, as a rule."""

MAX_YOUNGER = 1_000
"""Deletions that are looked at in vain for old ones, a tenth of a millisecond: a state may have some hundred thousand,
and each change looks."""


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
        self.last_changes: set[str] = set()
        """IDs of the changes whose records the last `apply` has folded."""
        self._values: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
        """The newest record of each key as it is in the topic, by kind and by name."""
        self._kinds: dict[bytes, str] = {}
        """The kinds of the records that were read, by their bytes."""
        self._count = 0
        self._last: dict[StateKey, StateRecord] = {}
        """Records that were folded last, decoded: the models ask for them at once."""
        self._deleted: dict[StateKey, StateRecord] = {}
        """The records of deletions, in the order in which they were read."""
        self._deleted_of: Counter[str] = Counter()
        """How many of them each tenant has."""
        self._watchers: defaultdict[str, list[Watcher]] = defaultdict(list)

    def __len__(self) -> int:
        """Return the number of keys, with those of deleted records that are not purged yet."""
        return self._count

    def get(self, key: StateKey) -> StateRecord | None:
        """Return what is stored under a key; None: nothing, or it was deleted."""
        record = self._last.get(key)
        if record is None:
            record = self._record(key)
        return None if record is None or record.body is None else record

    def entry(self, key: StateKey) -> StateEntry | None:
        """Return the newest record of a key, also that of its deletion."""
        record = self._record(key)
        if record is None:
            return None
        return StateEntry(record, len(key.to_bytes()) + len(self._values[key.kind][key.name.encode()]))

    def counts(self) -> dict[str, int]:
        """Return how many keys are stored of each kind, without those of deleted records. Any thread may call it."""
        deleted = Counter(one.kind for one in list(self._deleted))
        kinds = [(kind, len(values) - deleted[kind]) for kind, values in list(self._values.items())]
        return {kind: count for kind, count in kinds if kind != FLOOR.kind}

    def of_kind(self, kind: str) -> Iterator[StateRecord]:
        """Yield what is stored of a kind, in no order."""
        for name, value in self._values.get(kind, {}).items():
            record = _decoded(kind, name, value)
            if record.body is not None:
                yield record

    def entries(self) -> Iterator[StateEntry]:
        """Yield the newest record of each key, in the order of the keys."""
        for kind in sorted(self._values):
            for name, value in sorted(self._values[kind].items()):
                yield StateEntry(_decoded(kind, name, value), len(kind) + 1 + len(name) + len(value))

    def deleted(self, before_ms: int) -> Iterator[StateRecord]:
        """Yield the deletions that were made before a time, in the order in which they were read.

        They end behind MAX_YOUNGER that are not: their times are in nearly the same order, as the writers' clocks are.
        """
        younger = 0
        for one in self._deleted.values():
            if one.at_ms < before_ms:
                yield one
            else:
                younger += 1
                if younger == MAX_YOUNGER:
                    return

    def deleted_of(self, tenant: str) -> int:
        """Return how many deleted keys of a tenant are not purged yet."""
        return self._deleted_of[tenant]

    def next_version(self, key: StateKey) -> int:
        """Return the version that the next record of a key has."""
        record = self._record(key)
        return (self.floor if record is None else record.version) + 1

    @property
    def floor(self) -> int:
        """The highest version that was purged of any key; a key that the table does not know begins above it."""
        record = self._record(FLOOR)
        return 0 if record is None else int((record.body or {}).get("version", 0))

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
        """Fold the records of a committed transaction, or of several; return the changed keys, and what was ignored.

        Raises:
            UnreadableState: a record cannot be read (FutureSchema among them): the table has none of the transaction;
                or the table exceeds its limits.
        """
        records = list(transaction)
        decoded = decode_usual(records, self._kinds, self.limits.record_bytes)
        read = self._all_read(records, decoded)
        self.last_changes = set()
        changed: set[StateKey] = set()
        ignored: list[Ignored] = []
        if len(self._last) + len(read) > KEPT_DECODED:
            self._last.clear()
        at = 0
        while True:
            # Of a large state nearly all records are the first ones of their keys.
            new, size = put_new(
                records, decoded, at, self._values, self._last, KEPT_DECODED, changed, self.last_changes
            )
            self._count += new
            self.size += size
            at += new
            if at == len(records):
                break
            late = self._fold(read[at], records[at], changed)
            if late is not None:
                ignored.append(late)
            at += 1
        self.check_room_for(0, 0)
        return changed, ignored

    def decoded(self, records: list[LogRecord]) -> list[StateRecord | StateKey]:
        """Return records as those of the state, or the keys that they remove; the table stays as it is.

        Raises:
            UnreadableState: as `apply`.
        """
        return self._all_read(records, decode_usual(records, self._kinds, self.limits.record_bytes))

    def take(self, staged: "StagedTransaction") -> None:
        """Fold a transaction that was read in steps: less than a microsecond for each of its records."""
        for key in staged.removed:
            self._values[key.kind].pop(key.name.encode(), None)
        for kind, values in staged.values.items():
            if values:
                self._values[kind].update(values)
        for key in staged.undeleted:
            self._deleted.pop(key, None)
        self._deleted.update(staged.deleted)
        self._deleted_of.update(staged.deleted_of)
        for owner in staged.deleted_of:
            if not self._deleted_of[owner]:
                del self._deleted_of[owner]
        self._count += staged.count
        self.size += staged.size
        staged.last, self._last = self._last, staged.last  # What was kept before is let go of in steps.

    def check_room_for(self, more_records: int, more_bytes: int) -> None:
        """Check that the table is within its limits with so much more.

        Raises:
            UnreadableState: it is not.
        """
        try:
            check_room(self.limits, self._count + more_records, self.size + more_bytes)
        except TooLarge as error:
            raise UnreadableState(f"{error}: give all gateways the same limits") from None

    def _fold(self, record: StateRecord | StateKey, one: LogRecord, changed: set[StateKey]) -> Ignored | None:
        """Fold one record of any kind; return it if it is ignored."""
        if not isinstance(record, StateRecord):
            if self._remove(record):
                changed.add(record)
            return None
        key = record.key
        name = _name(one.key or b"", key.kind)
        values = self._values[key.kind]
        if name in values:
            known = _decoded(key.kind, name, values[name])
            if record.version <= known.version:
                return Ignored(record, one.offset, known.version)
            self._remove(key)
        values[name] = one.value or b""
        self._put(record, one)
        changed.add(key)
        self.last_changes.add(record.change)
        return None

    def become(self, other: "StateTable") -> set[StateKey]:
        """Take the entries of a table that was read anew; return the keys that differ."""
        self._last.clear()
        before, self._values = self._values, other._values
        self._kinds = other._kinds
        self.size, self._count = other.size, other._count
        self._deleted, self._deleted_of = other._deleted, other._deleted_of
        changed: set[StateKey] = set()
        for kind in before.keys() | self._values.keys():
            differs = before.get(kind, {}).items() ^ self._values.get(kind, {}).items()
            changed |= {StateKey(kind, name.decode()) for name, _ in differs}
        return changed

    def _all_read(
        self, records: list[LogRecord], decoded: list[StateRecord | None]
    ) -> list[StateRecord | StateKey]:
        return [
            self._read(one) if record is None else record
            for one, record in zip(records, decoded, strict=True)
        ]

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
        record = decode(one.key, one.value, one.offset)
        kind = record.key.kind
        if kind not in self._values:
            self._kinds[kind.encode()] = kind
        return record

    def _record(self, key: StateKey) -> StateRecord | None:
        """Return the newest record of a key."""
        last = self._last.get(key)
        if last is not None:
            return last
        kind = self._values.get(key.kind)
        name = key.name.encode()
        value = None if kind is None else kind.get(name)
        return None if value is None else _decoded(key.kind, name, value)

    def _put(self, record: StateRecord, one: LogRecord) -> None:
        self._count += 1
        if len(self._last) < KEPT_DECODED:
            self._last[record.key] = record
        if record.body is None:
            self._deleted[record.key] = record
            self._deleted_of[record.key.owner] += 1
        self.size += _size(one)

    def _remove(self, key: StateKey) -> bool:
        value = self._values.get(key.kind, {}).pop(key.name.encode(), None)
        if value is None:
            return False
        self._count -= 1
        self._last.pop(key, None)
        if self._deleted.pop(key, None) is not None:
            owner = key.owner
            self._deleted_of[owner] -= 1
            if not self._deleted_of[owner]:
                del self._deleted_of[owner]
        self.size -= len(key.to_bytes()) + len(value)
        return True


def check_room(limits: StateLimits, records: int, size: int) -> None:
    """Check the size of a table.

    Raises:
        TooLarge: there are too many records or bytes.
    """
    if records > limits.records:
        raise TooLarge(f"the state has {records} records, and max_records is {limits.records}")
    if size > limits.total_bytes:
        raise TooLarge(f"the state has {size} bytes, and max_bytes is {limits.total_bytes}")


def _decoded(kind: str, name: bytes, value: bytes) -> StateRecord:
    """Return a record that was decoded before."""
    return decode(b"%b:%b" % (kind.encode(), name), value, -1)


def _name(key: bytes, kind: str) -> bytes:
    """Return the name in the bytes of a key; a kind is ASCII."""
    return key[len(kind) + 1 :]


def _size(one: LogRecord) -> int:
    return len(one.key or b"") + len(one.value or b"")
