"""Looks for the ends of the virtual partitions of a physical one: from its end back, then by the index.

    start ....... entry of the index | ──forwards──▶ | ◀──back── | end
                                                     floor, where virtual partitions end at the least without the index

The last records of most partitions are near the end. Those that are not are in the entry of the index, if there is one
and it is about this log, or in what lies between: that is read as well, a bounded part for each answer. Where the index
does not reach, a partition ends at the floor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.steps import StoredAt
from bifrost.filters.virtual.offset_scans import AGAIN, CHUNK, Found, LogScan
from bifrost.tenancy.virtual_partitions.index.forward_scan import ForwardScan
from bifrost.tenancy.virtual_partitions.logs.tail_scan import TailScan
from bifrost.tenancy.virtual_partitions.partition_end import STEP, least_end
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.filters.steps import StoredBatch
    from bifrost.tenancy.virtual_partitions.index.index_entry import IndexEntry
    from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
    from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches, Place
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

MAX_GAP = 16 * STEP
"""Most offsets behind the index that are read for clients, which ask again after each 16 MiB: at 1 KiB a record, eight
times. What is further behind is left to the gateway that reads on by itself."""


class EndScan(LogScan):
    """The search at one physical partition."""

    def __init__(
        self,
        place: Place,
        start: int,
        end: int,
        groups: set[PartitionGroup],
        known: KnownStretches,
        leader_epoch: int,
        *,
        is_keyed: bool = False,
        index: IndexTable | None = None,
        now_ms: int = 0,
    ) -> None:
        """Begin.

        Args:
            place: the physical partition.
            start: where its log begins.
            end: and where it ends.
            groups: whose ends are wanted.
            known: what was read before, which this adds to.
            leader_epoch: the broker's, -1: not known.
            is_keyed: whether the topic is compacted.
            index: what is known of whole logs, which this adds to; None: there is no index.
            now_ms: the time, by a monotonic clock.
        """
        super().__init__(place)
        self._known, self._leader_epoch, self._is_keyed = known, leader_epoch, is_keyed
        self._start, self._end, self._groups = start, end, groups
        self._index, self._now_ms = index, now_ms
        before = known.of(place, leader_epoch)
        self._low = max(start, least_end(end))
        self._tail = TailScan(self._low, end, groups, before, is_keyed=is_keyed)
        self._begin = self._tail.found.begin
        self._forward: ForwardScan | None = None
        self._proved: IndexEntry | None = None
        """What the index says of the whole log up to where the last records were looked for."""
        self.is_distrusted = False
        """Whether the index was about another log."""
        if self._tail.offset is None:
            self._end_tail()

    @property
    def wanted(self) -> StoredAt | None:
        """What to read next."""
        if self.is_done:
            return None
        forward = self._forward
        offset = self._tail.offset if forward is None else forward.offset
        size = 1 if forward is not None and forward.is_to_check else CHUNK
        return None if offset is None else StoredAt(*self.place, offset, size)

    def take(self, stored: StoredBatch) -> None:
        """Take what was read. That the index cannot be used is no error: it may be about a log that is gone."""
        forward = self._forward
        if forward is None or forward.is_trusted or not stored.error_code:
            super().take(stored)
            return
        self.is_done = True
        if stored.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and forward.entry is not None:
            self._distrust(forward.entry)  # The log ends, or begins, elsewhere.

    def end_of(self, group: PartitionGroup) -> Found:
        """Return the end of a virtual partition, as far as it is known."""
        if self._tail.offset is not None and self._tail.found.begin < self._begin:
            return AGAIN  # What was read is remembered, so the next request gets further.
        if self.error is not None or not self._is_far(group):
            return self.error or Found(self._tail.end_of(group))
        if self._proved is None:
            return self._end_by_floor(group)
        # Without a record the partition ends where the log begins.
        end = max(self._start, self._proved.ends.get(group, 0), min(self._moved_to(group), self._low))
        return Found(min(self._end, end))

    def _end_by_floor(self, group: PartitionGroup) -> Found:
        if self._forward is not None and not self.is_distrusted and self.is_full:
            return AGAIN  # The index has grown by what was read.
        return Found(self._tail.end_of(group))

    def _moved_to(self, group: PartitionGroup) -> int:
        return 0 if self._index is None else self._index.moved_to(self.place, group, self._end)

    def _is_far(self, group: PartitionGroup) -> bool:
        """Whether the last record of a group is not near the end."""
        return self._tail.found.last.get(group, -1) < self._low

    def _look_into(self, records: bytes) -> None:
        if self._forward is not None:
            self._look_on(self._forward, records)
            return
        if not self._tail.take(records):
            # The end of the log has gone: a broker that had not all has become its leader.
            self.error, self.is_done = AGAIN, True
        elif self._tail.offset is None:
            self._end_tail()
        elif self.is_full:
            self.is_done = True
        if self._tail.found.begin < self._begin:
            self._known.add(self.place, self._leader_epoch, self._tail.found)

    def _end_tail(self) -> None:
        """Go on by the index, if groups are left whose last record is not near the end, and it reaches far enough."""
        self.is_done = True
        is_whole = self._low <= self._start
        if self._index is None or is_whole or not any(map(self._is_far, self._groups)):
            return
        entry = self._index.of(self.place)
        if entry is None or entry.begin > self._start or not self._start < entry.end:
            return
        if self._low - entry.end <= MAX_GAP:
            self._forward = ForwardScan(entry, self._low, is_keyed=self._is_keyed)
            self.is_done = self.is_full

    def _distrust(self, entry: IndexEntry) -> None:
        assert self._index is not None, "there is nothing to distrust without it"
        self.is_distrusted = True
        self._index.distrust(self.place, entry)

    def _look_on(self, forward: ForwardScan, records: bytes) -> None:
        assert self._index is not None, "there is nothing to go on from without it"
        before = forward.entry
        try:
            is_further = forward.take(records)
        except UnfitBatch:
            self.is_done = True
            return
        if forward.is_distrusted and before is not None:
            self._distrust(before)
        if forward.entry is not None and forward.entry is not before:
            self._index.extend(self.place, forward.entry, self._now_ms)
        if forward.is_done:
            self._proved = forward.entry
        self.is_done = forward.offset is None or not is_further or self.is_full
