"""Records that wait to be written: bounds their bytes, and counts those that found no room.

Every record takes the next number of the sequence when it is made. A dropped record keeps its number, so that a reader
sees the gap, and a record of kind `drop` explains the gap later.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bifrost.journal.record import Fields, RecordKind, Source, encode_record
from bifrost.wire.codec import untrack

OVERHEAD_BYTES = 200
"""Memory that a record takes beside its own bytes, roughly."""


class DropReason(StrEnum):
    """Why a record was not written."""

    BUFFER_FULL = "buffer_full"
    EVENT_LIMIT = "event_limit"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Pending:
    """A record that waits to be written."""

    kind: RecordKind
    tenant: str | None
    sequence: int
    timestamp_ms: int
    value: bytes

    @property
    def key(self) -> bytes | None:
        """The record's key in the topic: its tenant's name; None: it concerns no tenant."""
        return None if self.tenant is None else self.tenant.encode()

    @property
    def size(self) -> int:
        """Bytes that the record takes in the buffer."""
        return len(self.value) + OVERHEAD_BYTES


@dataclass(slots=True)
class _Dropped:
    since_ms: int
    count: int = 0
    size: int = 0
    first_sequence: int | None = None
    last_sequence: int | None = None


class RecordBuffer:
    """The records that one gateway has to write."""

    def __init__(self, source: Source, max_bytes: int, now_ms: Callable[[], int]) -> None:
        """Begin empty, with number 0.

        Args:
            source: the gateway that writes.
            max_bytes: most bytes of all records together, with their overhead.
            now_ms: the time since 1970, in milliseconds.
        """
        self._source, self._now_ms = source, now_ms
        self.max_bytes = max_bytes
        self.size = 0
        """Size of the records that wait, in bytes."""
        self.sequence = 0
        """Number of the next record."""
        self.settled = 0
        """Records with lower numbers are written or dropped."""
        self._pending: deque[Pending] = deque()
        untrack(self._pending)  # A full garbage collection took 10 ms to go through a hundred thousand.
        self._dropped: dict[tuple[str | None, RecordKind, DropReason], _Dropped] = {}
        self.drops: Counter[tuple[str, str, str]] = Counter()
        """Number of records ever dropped, by tenant (empty: no tenant), kind and reason."""

    def __len__(self) -> int:
        return len(self._pending)

    def has_room_for(self, size: int) -> bool:
        """Whether the buffer would take a record of `size` bytes."""
        return self.size + size + OVERHEAD_BYTES <= self.max_bytes

    def append(self, kind: RecordKind, tenant: str | None, interval: tuple[int, int], fields: Fields) -> bool:
        """Take a record, or drop it; return whether it was taken."""
        sequence = self.sequence
        self.sequence += 1
        value = encode_record(self._source, sequence, kind, tenant, interval, fields)
        if not self.has_room_for(len(value)):
            self.drop(kind, tenant, DropReason.BUFFER_FULL, size=len(value), sequence=sequence)
            return False
        pending = Pending(kind, tenant, sequence, interval[1], value)
        untrack(pending)  # There may be a hundred thousand such objects, and none of them is part of a cycle.
        self._pending.append(pending)
        self.size += pending.size
        return True

    def drop(
        self,
        kind: RecordKind,
        tenant: str | None,
        reason: DropReason,
        *,
        count: int = 1,
        size: int = 0,
        sequence: int | None = None,
    ) -> None:
        """Count records that are not written."""
        self.drops[tenant or "", kind, reason] += count
        known = self._dropped.setdefault((tenant, kind, reason), _Dropped(self._now_ms()))
        known.count += count
        known.size += size
        if sequence is not None:
            known.first_sequence = sequence if known.first_sequence is None else known.first_sequence
            known.last_sequence = sequence

    def tell_drops(self) -> None:
        """Make records of what was dropped, as far as there is room."""
        if not self._dropped or self.size > self.max_bytes // 2:
            return  # At least half must be free: else every second record would only tell that the one before was lost.
        dropped, self._dropped = self._dropped, {}
        for (tenant, kind, reason), one in dropped.items():
            fields = {
                "dropped_kind": kind,
                "count": one.count,
                "bytes": one.size,
                "first_sequence": one.first_sequence,
                "last_sequence": one.last_sequence,
                "reason": reason,
            }
            self.append(RecordKind.DROP, tenant, (one.since_ms, self._now_ms()), fields)

    def take(self, max_bytes: int) -> list[Pending]:
        """Take out the oldest records, up to `max_bytes` but at least one, if there is one."""
        taken: list[Pending] = []
        size = 0
        while self._pending and (not taken or size + self._pending[0].size <= max_bytes):
            taken.append(self._pending.popleft())
            size += taken[-1].size
        return taken

    def written(self, records: Sequence[Pending]) -> None:
        """Free the room of records that were taken out; until then they count in `size`."""
        self.size -= sum(one.size for one in records)
        if records:
            self.settled = records[-1].sequence + 1
