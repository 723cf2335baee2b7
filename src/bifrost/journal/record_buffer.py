"""Records that wait to be written: a bound on their bytes, and an account of what found no room.

Every record takes the next number of the sequence when it is made. What is dropped keeps its number, so that a reader
sees the gap, and a record of kind `drop` says later what it was.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bifrost.journal.record import Fields, RecordKind, Source, encode_record
from bifrost.wire.engine import untrack

OVERHEAD_BYTES = 200
"""What a record takes in memory beside its own bytes, roughly."""


class DropReason(StrEnum):
    """Why something was not written."""

    BUFFER_FULL = "buffer_full"
    EVENT_LIMIT = "event_limit"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Pending:
    """A record that waits."""

    kind: RecordKind
    tenant: str | None
    sequence: int
    timestamp_ms: int
    value: bytes

    @property
    def size(self) -> int:
        """What it counts for in the buffer, in bytes."""
        return len(self.value) + OVERHEAD_BYTES


@dataclass(slots=True)
class _Dropped:
    since_ms: int
    count: int = 0
    size: int = 0
    first_sequence: int | None = None
    last_sequence: int | None = None


class RecordBuffer:
    """What one gateway has to write."""

    def __init__(self, source: Source, max_bytes: int, now_ms: Callable[[], int]) -> None:
        """Begin empty, with number 0.

        Args:
            source: who writes.
            max_bytes: of records and what they take beside, together.
            now_ms: the time since 1970, in milliseconds.
        """
        self._source, self._now_ms = source, now_ms
        self.max_bytes = max_bytes
        self.size = 0
        """Of what waits, in bytes."""
        self.sequence = 0
        """The next number."""
        self.settled = 0
        """Records with numbers below it are written, or dropped."""
        self._pending: deque[Pending] = deque()
        untrack(self._pending)  # A full garbage collection took 10 ms to go through a hundred thousand.
        self._dropped: dict[tuple[str | None, RecordKind, DropReason], _Dropped] = {}
        self.drops: Counter[tuple[str, str, str]] = Counter()
        """How many records were ever dropped, by tenant (empty: nobody's), kind and reason."""

    def __len__(self) -> int:
        return len(self._pending)

    def has_room_for(self, size: int) -> bool:
        """Whether a record of so many bytes would be taken."""
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
        untrack(pending)  # There may be a hundred thousand, and none of them is part of a cycle.
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
        """Note what is not written."""
        self.drops[tenant or "", kind, reason] += count
        known = self._dropped.setdefault((tenant, kind, reason), _Dropped(self._now_ms()))
        known.count += count
        known.size += size
        if sequence is not None:
            known.first_sequence = sequence if known.first_sequence is None else known.first_sequence
            known.last_sequence = sequence

    def tell_drops(self) -> None:
        """Write down what was dropped, as far as there is room."""
        if not self._dropped or self.size > self.max_bytes // 2:
            return  # Half of it free: else one record in two would tell of the one before.
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
        """Take out the records that came first, up to so many bytes but at least one, if there is one."""
        taken: list[Pending] = []
        size = 0
        while self._pending and (not taken or size + self._pending[0].size <= max_bytes):
            taken.append(self._pending.popleft())
            size += taken[-1].size
        return taken

    def written(self, records: Sequence[Pending]) -> None:
        """Free the room of records that were taken out: until then they count."""
        self.size -= sum(one.size for one in records)
        if records:
            self.settled = records[-1].sequence + 1
