"""Looks for the record with the latest timestamp of each virtual partition of a physical one (KIP-734).

    start ........ first ........ begin ──read──▶ | already read | end
                   the broker's first record that is as late as the latest one that was read

The log is read from its end back, as for the end of a partition (tail_scan.py). Producers give records any time, so
a record that is read may be followed by an earlier one that is later. But brokers have an index by time: where no
record before what was read is as late as the latest own one, that is the one. Then a little of the log is enough where
times grow with offsets.
"""

from collections.abc import Collection

from bifrost.tenancy.virtual_partitions.logs.log_search import LogSearch
from bifrost.tenancy.virtual_partitions.logs.tail_scan import FIRST_PART, GROWTH
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.record_times import TimedRecord, first_record_of, first_record_since
from bifrost.tenancy.virtual_partitions.virtual_batches import latest_batches


class LatestSearch(LogSearch):
    """The search at one physical partition."""

    def __init__(
        self, start: int, end: int, groups: Collection[PartitionGroup], *, is_keyed: bool = False
    ) -> None:
        """Begin at the end.

        Args:
            start: of the log.
            end: of what counts: records behind it do not.
            groups: of the virtual partitions that are asked for.
            is_keyed: whether the topic is compacted.
        """
        self._start, self._begin, self._part = start, end, end
        self._length, self._is_keyed = FIRST_PART, is_keyed
        self._open = set(groups)
        self._at: int | None = None
        self._time_ms: int | None = None
        self._found: dict[PartitionGroup, TimedRecord] = {}
        """The latest own record of what was read, without a gap to the end."""
        self._in_part: dict[PartitionGroup, TimedRecord] = {}
        self._next_part()

    @property
    def offset(self) -> int | None:
        """Where to read next; None: nothing."""
        return self._at

    @property
    def time_ms(self) -> int | None:
        """The time for which the broker is to be asked; None: it need not be."""
        return self._time_ms

    def is_known(self, group: PartitionGroup) -> bool:
        """Whether it is decided which record of a group is the latest, or that it has none."""
        return group not in self._open

    def latest(self, group: PartitionGroup) -> TimedRecord | None:
        """Return the latest record of a group, if it is decided; None: it has none."""
        return self._found.get(group)

    def take(self, records: bytes | memoryview) -> bool:
        """Take what was read from `offset` on; return whether it goes on.

        Raises:
            UnfitBatch: it does not say whose it is.
        """
        assert self._at is not None, "nothing was asked for"
        end, found = latest_batches(records, self._begin, self._is_keyed)
        if end <= self._at:
            return False
        self._at = end
        for group, (time_ms, batch) in found.items():
            known = self._in_part.get(group)
            if group in self._open and (known is None or time_ms > known.timestamp_ms):
                self._in_part[group] = first_record_since(batch, 0, time_ms) or first_record_of(
                    batch, time_ms
                )
        if end >= self._begin:
            self._end_part()
        return True

    def take_first(self, offset: int) -> None:
        """Take the first offset that the broker has for `time_ms`; -1: there is none."""
        time_ms, self._time_ms = self._time_ms, None
        assert time_ms is not None, "nothing was asked for"
        if offset < 0 or offset >= self._begin:
            # The others are later still, so no record before what was read is as late as they are.
            self._open -= {group for group in self._open if self._is_since(group, time_ms)}
        self._next_part()

    def _is_since(self, group: PartitionGroup, time_ms: int) -> bool:
        found = self._found.get(group)
        return found is not None and found.timestamp_ms >= time_ms

    def _end_part(self) -> None:
        self._at, self._begin = None, self._part
        for group, record in self._in_part.items():
            # Of several that are as late the first counts.
            if not self._is_since(group, record.timestamp_ms + 1):
                self._found[group] = record
        # A time below 0 has another meaning for brokers.
        times = [self._found[group].timestamp_ms for group in self._open if self._is_since(group, 0)]
        if times and self._begin > self._start:
            self._time_ms = min(times)
        else:
            self._next_part()

    def _next_part(self) -> None:
        if self._begin <= self._start:
            self._open.clear()
        if not self._open:
            return
        self._part = self._at = max(self._start, self._begin - self._length)
        self._length *= GROWTH
        self._in_part = {}
