"""A committed transaction that is read in steps, and becomes part of the table at once.

    records ──read, some at a time──▶ StagedTransaction ──take──▶ StateTable
              the table stays as it was                   all of it, or nothing

To decode a thousand records, and those that they replace, takes 10 ms. Between two steps the event loop serves
clients, whose requests ask the table; they see all of a change or none of it. Only the reader of the state changes the
table, and it does nothing else meanwhile.

`StateTable.apply` folds the records of the first reading, faster and without steps; tests/property compares the two.
"""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterator

from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.state.state_table import KEPT_DECODED, Ignored, StateEntry, StateTable

STEP_RECORDS = 50
"""Most records that are decoded in one step: each takes some microseconds."""

STEP_BYTES = 32 * 1024
"""No further record is decoded in the step that has reached so many bytes."""


class StagedTransaction:
    """What a transaction makes of the table."""

    def __init__(self, table: StateTable) -> None:
        """Stage nothing yet; the table must not change until it has taken this, or this is dropped."""
        self._table = table
        self._before: dict[StateKey, StateEntry | None] = {}
        """What the table has under the keys of the transaction. It is kept, so that `take` does not free it."""
        self._records: dict[StateKey, StateRecord | None] = {}
        """The newest record of each changed key; None: the key is removed."""
        self.values: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
        """The values that are new, by kind and by name."""
        self.last: dict[StateKey, StateRecord] = {}
        """Records of `values`, decoded; `take` puts those here that the table has kept decoded before."""
        self.removed: list[StateKey] = []
        """Keys that the table has, and loses."""
        self.undeleted: list[StateKey] = []
        """Keys whose deletion the table has, and loses, or gets anew."""
        self.deleted: dict[StateKey, StateRecord] = {}
        """New records of deletions."""
        self.deleted_of: Counter[str] = Counter()
        """How many more deletions each tenant has."""
        self.count = self.size = 0
        """How many more keys and bytes the table has."""
        self.changed: set[StateKey] = set()
        self.changes: set[str] = set()
        """IDs of the changes whose records are folded."""
        self.ignored: list[Ignored] = []

    def read(self, transaction: list[LogRecord]) -> Generator[None, None, None]:
        """Read the records of a committed transaction; yield after each small part of the work.

        Raises:
            UnreadableState: a record cannot be read, or the table would exceed its limits.
        """
        for part in _parts(transaction):
            decoded = self._table.decoded(part)
            yield
            for found, one in zip(decoded, part, strict=True):
                self._stage(found, one)
                yield
        for key, record in self._records.items():
            self._sum_up(key, record)
            yield
        self._table.check_room_for(self.count, self.size)

    def let_go(self) -> Generator[None, None, None]:
        """Drop what the table had before, once it has taken this, a record at a time: a thousand take a millisecond."""
        for records in (self._before, self._records, self.last):
            while records:
                records.popitem()
                yield

    def _stage(self, record: StateRecord | StateKey, one: LogRecord) -> None:
        """Note what one record does, behind those before it."""
        key = record.key if isinstance(record, StateRecord) else record
        if key not in self._before:
            self._before[key] = self._table.entry(key)
        if key in self._records:
            known = self._records[key]
        else:
            entry = self._before[key]
            known = None if entry is None else entry.record
        if not isinstance(record, StateRecord):
            if known is not None:
                self._records[key] = None
                self.changed.add(key)
            return
        if known is not None and record.version <= known.version:
            self.ignored.append(Ignored(record, one.offset, known.version))
            return
        self._records[key] = record
        self.values[key.kind][key.name.encode()] = one.value or b""
        self.changed.add(key)
        self.changes.add(record.change)

    def _sum_up(self, key: StateKey, record: StateRecord | None) -> None:
        """Note what the table gains and loses under one key."""
        before, name = self._before[key], key.name.encode()
        if before is not None:
            self.count -= 1
            self.size -= before.size
            if before.record.body is None:
                self.undeleted.append(key)
                self.deleted_of[key.owner] -= 1
        if record is None:
            self.values[key.kind].pop(name, None)
            if before is not None:
                self.removed.append(key)
            return
        self.count += 1
        self.size += len(key.to_bytes()) + len(self.values[key.kind][name])
        if len(self.last) < KEPT_DECODED:
            self.last[key] = record
        if record.body is None:
            self.deleted[key] = record
            self.deleted_of[key.owner] += 1


def _parts(records: list[LogRecord]) -> Iterator[list[LogRecord]]:
    """Yield the records of one step after the other."""
    part: list[LogRecord] = []
    size = 0
    for one in records:
        part.append(one)
        size += len(one.key or b"") + len(one.value or b"")
        if len(part) == STEP_RECORDS or size >= STEP_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
