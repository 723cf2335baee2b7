"""Limits the bytes of held frames: of a tenant, of all clients that have not authenticated, of the process.

A connection whose frame finds no room is not read and waits in a queue of its tenant. Whenever room is given back,
tenants take turns, and within each tenant its connections do, in the order in which they came. A tenant that has filled
its own room does not hold up the others. Frames of up to 1 MiB do not wait behind larger ones, and the larger ones
leave a part of the process's room to them.

The engine counts (`Room`); it calls here only while a connection waits.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from bifrost.forwarding.room import LARGE_BYTES, Room
from bifrost.wire.framer import Framer

TENANT_ROOM, TOTAL_ROOM = "max_buffered_bytes", "max_buffered_bytes_total"
UNAUTHENTICATED_ROOM = "max_buffered_bytes_unauthenticated"
"""Names of the settings in the configuration and in the metrics."""

FOR_SMALL = 16
"""One part in 16 of the process's room is left to frames of up to 1 MiB."""

FOR_BACKLOGS = 4
"""Bytes that wait to be written have room of their own, in addition: one part in 4 of the process's room. Of one
connection up to 1 MiB may wait there, and less than 64 KiB when that room is full."""


class Waiter(Protocol):
    """What waits for room: a ClientConnection."""

    def update_reading(self) -> None:
        """Read again if there is room now."""


class _Queue:
    """The waiting frames of one tenant."""

    __slots__ = ("room", "waiting")

    def __init__(self, room: Room) -> None:
        self.room = room
        self.waiting: OrderedDict[Framer, Waiter] = OrderedDict()


class Rooms:
    """The rooms of one process."""

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        hits: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Begin without limits.

        Args:
            schedule: calls the given function a little later, not from within the call.
            hits: where to count how often a connection had to wait, by limit and tenant.
        """
        self._schedule = schedule
        self._hits = Counter() if hits is None else hits
        self._is_scheduled = False
        self.of_all = Room()
        self.backlogs = Room()
        """Bytes that wait to be written to clients and brokers; no connection waits for room here."""
        self._queues: dict[str | None, _Queue] = {}
        self._turns: deque[str | None] = deque()
        """Tenants with a connection that waits, in the order of their turns."""
        self._most: Mapping[str, int | None] = {}
        self._most_of_each: int | None = None
        self._most_unauthenticated: int | None = None

    def limit(self, total: int, each: int, unauthenticated: int, most_of: Mapping[str, int | None]) -> None:
        """Set the limits, or change them, in bytes.

        Args:
            total: the limit of the process.
            each: the limit of a tenant that has none of its own.
            unauthenticated: the limit of all clients that have not authenticated.
            most_of: the limits of tenants that have one of their own, by name.
        """
        of_all = self.of_all.most, self._most_of_each, self._most_unauthenticated
        changed: Iterable[str | None] = self._most.keys() | most_of.keys()
        if of_all != (total, each, unauthenticated):
            changed = tuple(self._queues)
        self.of_all.most, self.of_all.for_small = total, total // FOR_SMALL
        self.backlogs.most = total // FOR_BACKLOGS
        self._most, self._most_of_each, self._most_unauthenticated = most_of, each, unauthenticated
        for tenant in changed:
            queue = self._queues.get(tenant)
            if queue is not None:
                self._set_most(tenant, queue.room)
        self._have_turns()

    def room(self, tenant: str | None) -> Room:
        """Return the room of a tenant; None stands for the clients that have not authenticated."""
        queue = self._queues.get(tenant)
        if queue is None:
            queue = self._queues[tenant] = _Queue(Room(self.of_all))
            queue.room.on_room = self._have_turns
            self._set_most(tenant, queue.room)
        return queue.room

    def is_short_for(self, tenant: str | None) -> bool:
        """Whether a connection of this tenant waits for room, or one of any tenant for the process's room."""
        own = self._queues.get(tenant)
        if own is not None and own.waiting:
            return True
        return any(queue.waiting and self._waits_for_all(queue) for queue in self._queues.values())

    def _waits_for_all(self, queue: _Queue) -> bool:
        framer = next(iter(queue.waiting))
        return queue.room.used + framer.wanted <= queue.room.most

    def wait(self, tenant: str | None, framer: Framer, waiter: Waiter) -> None:
        """Queue a frame for room, if it is not queued yet."""
        room = self.room(tenant)
        waiting = self._queues[tenant].waiting
        if framer in waiting:
            return
        self._hits[self._limit_hit(tenant, room, framer), tenant or ""] += 1
        if not waiting:
            self._turns.append(tenant)
        waiting[framer] = waiter
        self._count(tenant)
        # The room it waits for may have been given back by now.
        self._have_turns()

    def forget(self, tenant: str | None, framer: Framer) -> None:
        """Remove a frame from its tenant's queue."""
        queue = self._queues.get(tenant)
        if queue is not None and queue.waiting.pop(framer, None) is not None:
            self._count(tenant)
            self._have_turns()

    def _set_most(self, tenant: str | None, room: Room) -> None:
        most = self._most_unauthenticated if tenant is None else self._most.get(tenant) or self._most_of_each
        if most is not None:
            room.most = most

    def _limit_hit(self, tenant: str | None, room: Room, framer: Framer) -> str:
        if room.used + framer.wanted <= room.most:
            return TOTAL_ROOM
        return UNAUTHENTICATED_ROOM if tenant is None else TENANT_ROOM

    def _count(self, tenant: str | None) -> None:
        queue = self._queues[tenant]
        self.of_all.waiting += len(queue.waiting) - queue.room.waiting
        queue.room.waiting = len(queue.waiting)

    def _have_turns(self) -> None:
        if self._turns and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._give_turns)

    def _give_turns(self) -> None:
        """Give the tenants turns, one after the other, until no connection gets room any more."""
        self._is_scheduled = False
        refused, large_have_to_wait = 0, False
        while refused < len(self._turns):
            tenant = self._turns.popleft()
            queue = self._queues[tenant]
            if not queue.waiting:
                continue
            framer, waiter = next(iter(queue.waiting.items()))
            is_large = framer.wanted > LARGE_BYTES
            if not (is_large and large_have_to_wait) and framer.retry():
                del queue.waiting[framer]
                self._count(tenant)
                refused = 0
                if queue.waiting:
                    self._turns.append(tenant)
                try:
                    waiter.update_reading()
                except Exception:
                    self._have_turns()  # The others do not wait until room is given back once more.
                    raise
                continue
            # No other large frame overtakes one that fits its tenant's room and only waits for the process's.
            large_have_to_wait |= is_large and self._waits_for_all(queue)
            refused += 1
            self._turns.append(tenant)
