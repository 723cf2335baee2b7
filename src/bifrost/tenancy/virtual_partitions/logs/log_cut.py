"""Whether the log of a physical partition can be cut so that each of its virtual partitions loses what it shall lose.

    v0   a a a . . a . .    deleted up to here: 7 ─┐      before a cut at C, each partition has all that it loses
    v1   . . . b b . b .    deleted up to here: 6 ─┤      and nothing that it keeps:
    log  0 1 2 3 4 5 6 7                           │
                     └─ C = 6: v0 loses 0, 1, 2 and 5, v1 loses 3 and 4, and both keep the rest

A broker deletes up to one offset of its log, whatever that holds. So the last record that any partition loses has to
lie before the first that any partition keeps; where it does not, the deletion is not possible. Nothing is remembered:
what was deleted is gone from the log, for all gateways and for good.

Source: Kafka's UnifiedLog.maybeIncrementLogStartOffset.
"""

from collections.abc import Mapping

from bifrost.tenancy.virtual_partitions.logs.log_search import LogSearch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.virtual_batches import around


class LogCut(LogSearch):
    """The search for such an offset, in the part of the log that decides it."""

    def __init__(
        self,
        start: int,
        losing: Mapping[PartitionGroup, int],
        keeping: frozenset[PartitionGroup],
        *,
        is_keyed: bool = False,
    ) -> None:
        """Begin.

        Args:
            start: of the log.
            losing: the groups that lose records, each up to an offset, which is not behind the end; at least one.
            keeping: the groups that lose nothing.
            is_keyed: whether the topic is compacted.
        """
        offsets = {group: max(start, offset) for group, offset in losing.items()}
        # Before all offsets each of these groups loses everything.
        self._low = start if keeping else min(offsets.values())
        self._high = self._until = max(offsets.values())
        self._cuts = {**dict.fromkeys(keeping, start), **offsets}
        self._at, self._is_keyed = self._low, is_keyed

    @property
    def offset(self) -> int | None:
        """Where to read next; None: it is decided."""
        return self._at if self._at < self._until and self._low <= self._high else None

    @property
    def cut(self) -> int | None:
        """The offset, once it is decided; None: there is none."""
        return self._low if self._low <= self._high else None

    def take(self, records: bytes | memoryview) -> bool:
        """Take what was read from `offset` on; return whether it goes on.

        Raises:
            UnfitBatch: it does not say whose it is.
        """
        end, before, behind = around(records, self._cuts, self._is_keyed)
        if end <= self._at:
            return False
        self._low = max(self._low, max(before.values(), default=-1) + 1)
        self._high = min(self._high, min(behind.values(), default=self._high))
        self._at = end
        return True
