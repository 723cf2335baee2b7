"""What a process has read of sealed partitions, so that it sees batches that changed places or were appended once more.

A Fetch goes on where another one has ended, over whatever connection; so what stood before its first batch is known by
the offset of that. Behind an offset where nothing has ended the order is looked at from there on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from bifrost.encryption.batch_order import BatchOrder

MAX_ENDS = 8
"""Offsets of a partition at which Fetches have ended that are remembered, the latest used: consumers that keep up with
each other read to the same ones."""
MAX_PRODUCERS_IN_ALL = 100_000
"""Producers that are remembered, in all partitions together, some 25 MB; partitions that are not read make room."""
LIMIT = "read_orders"
"""What the metrics call `MAX_PRODUCERS_IN_ALL`."""


class OrderedPartition(NamedTuple):
    """A partition whose batches have an order that their seals prove."""

    cluster: str
    topic: bytes
    """The physical topic."""
    partition: int


class ReadOrders:
    """The orders of a process."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._ends: OrderedDict[OrderedPartition, OrderedDict[int, BatchOrder]] = OrderedDict()
        self.size = 0
        """Producers that are remembered; an order without any counts as one."""

    def at(self, partition: OrderedPartition, offset: int) -> BatchOrder:
        """Return the order of what stands before an offset, which the caller may go on with."""
        ends = self._ends.get(partition)
        found = None if ends is None else ends.get(offset)
        if ends is None or found is None:
            return BatchOrder()
        self._ends.move_to_end(partition)
        ends.move_to_end(offset)
        return found.copy()

    def keep(self, partition: OrderedPartition, offset: int, order: BatchOrder) -> int:
        """Remember the order of what stands before an offset at which a Fetch has ended.

        Returns:
            How many other partitions were forgotten, to make room.
        """
        ends = self._ends.setdefault(partition, OrderedDict())
        self._ends.move_to_end(partition)
        before = ends.pop(offset, None)
        if before is not None:
            self.size -= _size(before)
        ends[offset] = order
        self.size += _size(order)
        if len(ends) > MAX_ENDS:
            self.size -= _size(ends.popitem(last=False)[1])
        before_all = len(self._ends)
        while self.size > MAX_PRODUCERS_IN_ALL and len(self._ends) > 1:
            _, dropped = self._ends.popitem(last=False)
            self.size -= sum(_size(one) for one in dropped.values())
        return before_all - len(self._ends)


def _size(order: BatchOrder) -> int:
    return len(order) or 1
