"""What a ListOffsets of virtual partitions reads from brokers, until its answer is known.

    the end                 of the last own record        EndScan (logs/end_scan.py), from the end back
    the earliest record     the first own one             StartScan, from the start of the log on
    the record of a time    the first own one from then   FirstScan, from the record that the broker answers with

Several virtual partitions of one physical that need the same part of its log read it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.tenancy.virtual_partitions.logs.known_starts import KnownStart
from bifrost.tenancy.virtual_partitions.record_times import first_record_since
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch, around, first_batch
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.logs.known_starts import KnownStarts
    from bifrost.tenancy.virtual_partitions.logs.stretch import Place
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

MAX_SCAN_BYTES = 16 * 1024 * 1024
"""Most bytes of one physical partition that are read for one answer: the end of a virtual partition is in less than
that, if its records have up to 1 KiB."""
MAX_SCANNED_BYTES = 64 * 1024 * 1024
"""Most bytes that are read for a request, some 0.2 s of work. Partitions beyond it have an error with which clients ask
for these again."""
LIMIT = "virtual_offset_bytes"
"""What the metrics call both."""
AT_A_TIME = 100
"""Most parts of logs that are asked for before some of them are looked into."""
CHUNK, FIRST_CHUNK = 1024 * 1024, 64 * 1024
"""Bytes that are read at a time, and at first where one batch is likely to be enough."""
NEAR = FIRST_CHUNK + CHUNK
"""What was read with two questions is near the beginning of a log. The second may go on behind what was known."""

_FOR_GOOD = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
"""Errors after which the broker's own answer stands: the gateway may not read, today or tomorrow. After any other a
client asks again; the end of the physical partition in place of its own would be a wrong answer."""


class Found(NamedTuple):
    """The answer for a virtual partition."""

    offset: int
    timestamp_ms: int = -1
    error_code: int = 0


AGAIN = Found(-1, -1, int(ErrorCode.KAFKA_STORAGE_ERROR))
"""With this error clients ask again."""


class LogScan:
    """What all have in common: where to read next, and how much was read."""

    def __init__(self, place: Place) -> None:
        self.place, self.read_bytes, self.is_done = place, 0, False
        self.error: Found | None = None
        """The answer if the log could not be read."""
        self.is_refused = False
        """Whether the broker's own answer stands."""

    @property
    def wanted(self) -> StoredAt | None:
        """What to read next; None: nothing more."""
        raise NotImplementedError

    @property
    def is_full(self) -> bool:
        """Whether so much was read for one answer as may be."""
        return self.read_bytes >= MAX_SCAN_BYTES

    def take(self, stored: StoredBatch) -> None:
        """Take what was read."""
        self.read_bytes += len(stored.records)
        if stored.error_code:
            self.is_done = True
            if stored.error_code in _FOR_GOOD:
                self.is_refused = True
            else:
                self.error = AGAIN
            return
        try:
            self._look_into(stored.records)
        except UnfitBatch:
            self.is_done = self.is_refused = True

    def _look_into(self, records: bytes) -> None:
        raise NotImplementedError


class StartScan(LogScan):
    """Looks for the first records of the virtual partitions of a physical one."""

    def __init__(
        self,
        place: Place,
        bounds: tuple[int, int],
        groups: Iterable[PartitionGroup],
        known: KnownStarts,
        now_ms: int,
        *,
        is_keyed: bool = False,
    ) -> None:
        """Begin.

        Args:
            place: the physical partition.
            bounds: where its log begins and ends.
            groups: all that the topic has.
            known: what was read a moment ago, which this adds to.
            now_ms: the time, by a monotonic clock.
            is_keyed: whether the topic is compacted.
        """
        super().__init__(place)
        begin, end = bounds
        self._known, self._groups, self._is_keyed = known, dict.fromkeys(groups, begin), is_keyed
        self._start = known.of(place, begin, end, now_ms) or KnownStart(begin, begin, {}, now_ms)
        self._is_read = self._start.end > begin
        self._wanted: set[PartitionGroup] = set()
        self.is_done = True

    def want(self, group: PartitionGroup) -> None:
        """Look for the first record of a group."""
        self._wanted.add(group)
        self.is_done = self.is_done and group in self._start.firsts

    @property
    def wanted(self) -> StoredAt | None:
        """What to read next."""
        size = CHUNK if self._is_read else FIRST_CHUNK
        return None if self.is_done else StoredAt(*self.place, self._start.end, size)

    def first_of(self, group: PartitionGroup) -> int | None:
        """Return the first offset of a group; None: it has none before `end`."""
        return self._start.firsts.get(group)

    @property
    def end(self) -> int:
        """Behind what was read."""
        return self._start.end

    def _look_into(self, records: bytes) -> None:
        end, _, firsts = around(records, self._groups, self._is_keyed)
        if end <= self._start.end:
            self.is_done = True
            return
        # What was known before comes first in the log.
        near = end if self.read_bytes <= NEAR else self._start.near
        self._start = self._start._replace(end=end, firsts=firsts | dict(self._start.firsts), near=near)
        self._is_read = True
        self._known.add(self.place, self._start)
        self.is_done = self._wanted <= self._start.firsts.keys() or self.is_full


class FirstScan(LogScan):
    """Looks for the first record of a virtual partition that is not older than a time."""

    def __init__(
        self,
        place: Place,
        group: PartitionGroup,
        offset: int,
        time_ms: int,
        broker: Found,
        groups: dict[bytes, int] | None = None,
        *,
        is_keyed: bool = False,
    ) -> None:
        """Begin.

        Args:
            place: the physical partition.
            group: of the virtual partition.
            offset: where to begin.
            time_ms: the time, in milliseconds.
            broker: the broker's answer for the physical partition.
            groups: whose the batches are, as far as scans of this physical partition know; see `first_batch`.
            is_keyed: whether the topic is compacted.
        """
        super().__init__(place)
        self._groups, self._is_keyed = groups, is_keyed
        self._group, self._at, self._from, self._time_ms = group, offset, offset, time_ms
        self._broker = broker
        self.found: Found | None = None
        self.is_at_end = False
        """Whether there is none up to the end of the log."""

    @property
    def wanted(self) -> StoredAt | None:
        """What to read next."""
        size = CHUNK if self.read_bytes else FIRST_CHUNK
        return None if self.is_done else StoredAt(*self.place, self._at, size)

    @property
    def answer(self) -> Found:
        """What was found; where the limit was met, it is certain that there is none before the offset."""
        if self.error is not None or self.is_refused:
            return self.error or self._broker
        return self.found or Found(max(self._at, self._broker.offset), self._broker.timestamp_ms)

    def _look_into(self, records: bytes) -> None:
        end, batch = first_batch(
            records, self._group, self._from, self._time_ms, self._groups, self._is_keyed
        )
        if batch is not None:
            self.found = self._record_in(batch)
            self.is_done = self.found is not None
        if end <= self._at:
            self.is_done = self.is_at_end = True
        else:
            self._at = end
            self.is_done = self.is_done or self.is_full

    def _record_in(self, data: memoryview) -> Found | None:
        """Return the record of a batch; None: only records before the offset are so late."""
        record = first_record_since(data, self._from, self._time_ms)
        return None if record is None else Found(record.offset, record.timestamp_ms)


class OffsetScans:
    """All of one request."""

    def __init__(self) -> None:
        """Begin without any."""
        self._scans: list[LogScan] = []
        self.is_begun = False
        self._read_bytes = 0
        self.reads = 0
        """How often brokers were asked."""
        self.is_over = False
        """Whether the request has met its limit, so that what is not known has to be asked for again."""

    def add(self, scan: LogScan) -> None:
        """Add one."""
        self._scans.append(scan)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._scans)

    def take(self, met: StoredBatches) -> int:
        """Give what was read to those that have asked for it, and return how many bytes it has.

        Another filter of the message may have asked for the rest.
        """
        taken: dict[StoredAt, int] = {}
        for scan in in_steps(self._scans):
            wanted = scan.wanted
            stored = None if wanted is None else met.found.get(wanted)
            if wanted is not None and stored is not None:
                scan.take(stored)
                taken[wanted] = len(stored.records)
        self.reads += len(taken)
        self._read_bytes += sum(taken.values())
        return sum(taken.values())

    def next_need(self, met: StoredBatches | None) -> StoredBatches | None:
        """Return what to read next; None: nothing more."""
        if self._read_bytes >= MAX_SCANNED_BYTES:
            for scan in self._open():
                scan.error, scan.is_done, self.is_over = AGAIN, True, True
            return None
        wanted: dict[StoredAt, None] = {}
        for scan in self._open():
            at = scan.wanted
            if at is not None and len(wanted) < AT_A_TIME:
                wanted[at] = None
        if not wanted:
            return None
        return StoredBatches(tuple(wanted), waited_ns=0 if met is None else met.waited_ns)

    def _open(self) -> Iterator[LogScan]:
        return (scan for scan in in_steps(self._scans) if not scan.is_done)
