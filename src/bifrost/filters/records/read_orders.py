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
"""Producers that are remembered, in all partitions together, some 25 MB; partitions that are not read make room. When
all of it is used, each tenant has an equal share."""
LIMIT = "read_orders"
"""What the metrics call `MAX_PRODUCERS_IN_ALL`."""


class OrderedPartition(NamedTuple):
    """A partition whose batches have an order that their seals prove."""

    tenant: str
    """Who reads it."""
    cluster: str
    topic: bytes
    """The physical topic."""
    partition: int


class _TenantOrders:
    """Those of one tenant."""

    __slots__ = ("ends", "size")

    def __init__(self) -> None:
        self.ends: OrderedDict[OrderedPartition, OrderedDict[int, BatchOrder]] = OrderedDict()
        """By partition and offset; first the one that was not read for longest."""
        self.size = 0

    def drop(self) -> int:
        """Forget the partition that was not read for longest; return how many producers were remembered for it."""
        _, dropped = self.ends.popitem(last=False)
        size = sum(map(_size, dropped.values()))
        self.size -= size
        return size


class ReadOrders:
    """The orders of a process."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._tenants: dict[str, _TenantOrders] = {}
        self.size = 0
        """Producers that are remembered; an order without any counts as one."""

    def at(self, partition: OrderedPartition, offset: int) -> BatchOrder:
        """Return the order of what stands before an offset, which the caller may go on with."""
        own = self._tenants.get(partition.tenant)
        ends = None if own is None else own.ends.get(partition)
        found = None if ends is None else ends.get(offset)
        if own is None or ends is None or found is None:
            return BatchOrder()
        own.ends.move_to_end(partition)
        ends.move_to_end(offset)
        return found.copy()

    def keep(self, partition: OrderedPartition, offset: int, order: BatchOrder) -> list[str]:
        """Remember the order of what stands before an offset at which a Fetch has ended.

        Returns:
            Whose partitions were forgotten to make room: a tenant for each.
        """
        own = self._tenants.setdefault(partition.tenant, _TenantOrders())
        ends, before = own.ends.setdefault(partition, OrderedDict()), own.size
        own.ends.move_to_end(partition)
        replaced = ends.pop(offset, None)
        if replaced is not None:
            own.size -= _size(replaced)
        ends[offset] = order
        own.size += _size(order)
        if len(ends) > MAX_ENDS:
            own.size -= _size(ends.popitem(last=False)[1])
        self.size += own.size - before
        return self._make_room(partition.tenant) if self.size > MAX_PRODUCERS_IN_ALL else []

    def _make_room(self, tenant: str) -> list[str]:
        """Forget partitions: those of the tenant that needs room if it has more than its share, else of the one that
        has most. So no tenant loses what is within its share because of another one."""
        losers: list[str] = []
        while self.size > MAX_PRODUCERS_IN_ALL:
            loser, own = tenant, self._tenants[tenant]
            if len(own.ends) == 1 or own.size <= MAX_PRODUCERS_IN_ALL // len(self._tenants):
                others = (one for one in self._tenants if one != tenant)
                loser = max(others, key=lambda one: self._tenants[one].size, default=tenant)
            orders = self._tenants[loser]
            if loser == tenant and len(orders.ends) == 1:
                break  # It is the partition that was read now.
            self.size -= orders.drop()
            losers.append(loser)
            if not orders.ends:
                del self._tenants[loser]
        return losers


def _size(order: BatchOrder) -> int:
    return len(order) or 1
