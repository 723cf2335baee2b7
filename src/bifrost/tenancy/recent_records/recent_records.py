"""A bounded store of what brokers have answered of late about physical partitions: one for each process.

Each connection has a view (`RecentView`) of what was answered to connections of the same user in the same namespace, at
the same broker. So no client sees what the brokers have not shown to its own account, and nothing crosses tenants. What
else decides an answer (version, isolation level, rack, topic and its ID, partition) is in the key of a partition.

Bytes are bounded for each tenant and for all. Of a tenant that has as much as it may the oldest go first that no
connection needs which has asked of late; if there is none, a new answer is not kept. So connections that are behind
come to what was kept, read it without the broker, and catch up. Where all tenants have too much together, the oldest
of another one that has most go, needed or not. What is held takes no more than frames have left of the room of the
process, so both together are bounded by that.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from itertools import count, islice
from typing import TYPE_CHECKING

from bifrost.tenancy.recent_records.recent_limits import FRESH_NS, KEPT_NS, MAX_ANSWERS, MAX_READERS
from bifrost.tenancy.recent_records.shared_poll import PollEnd
from bifrost.wire.framer import MemoryLimit, TakenRoom, take_room

if TYPE_CHECKING:
    from bifrost.tenancy.recent_records.recent_partition import RecentAnswer, RecentPartition

MAX_PARTITIONS = 2048
"""Physical partitions that are known of a tenant, by account and kind of request; beyond it those of the topics go that
were not used for the longest. A client may name any number; a topic has 1,000 at the most."""
OVERHEAD_BYTES = 512
"""What an answer counts beside its records."""
FULL_PART = 3
"""The store of a tenant is full when less than this part of it can be had: 6 MiB of 18, as much as one answer has."""
MAX_BEGUN = 1024
"""Physical partitions of a tenant of which is known who is about to read them, those that were asked about last."""
MAX_LOOKED_AT = 16
"""Answers among which one is looked for that no connection needs."""

TakeRoom = Callable[[str, int], TakenRoom | None]
"""Takes room of a tenant for an answer of so many bytes; None: there is none."""


class RecentTopic(dict[int, "RecentPartition"]):
    """What is known of the partitions of one topic for clients of one account that ask alike, by number.

    A consumer asks for hundreds of them each time, so they are found by their numbers alone.
    """

    __slots__ = ("_tenant", "is_forgotten")

    def __init__(self, tenant: TenantRecent) -> None:
        """Know nothing yet."""
        super().__init__()
        self._tenant = tenant
        self.is_forgotten = False
        """Whether it made room for others while a request was being looked at."""

    def __missing__(self, number: int) -> RecentPartition:
        from bifrost.tenancy.recent_records.recent_partition import (
            RecentPartition,  # memory, for who needs it
        )

        self._tenant.make_place(self)
        made = self[number] = RecentPartition(self._tenant.open_connections)
        return made


class TenantRecent:
    """What is known of one tenant."""

    __slots__ = (
        "_beginners",
        "_count_of_partitions",
        "_expected",
        "_store",
        "bytes",
        "generation",
        "open_connections",
        "queue",
        "tenant",
        "topics",
    )

    def __init__(self, store: RecentRecords, tenant: str) -> None:
        self._store, self.tenant = store, tenant
        self.bytes = self.generation = 0
        """How many are held; and how often all was forgotten: an answer to a Fetch from before that is not kept."""
        self.open_connections: set[int] = set()
        """The numbers of the views whose connections have not ended."""
        self.topics: OrderedDict[Hashable, RecentTopic] = OrderedDict()
        """That which was asked for last is the last one."""
        self._count_of_partitions = 0
        self.queue: deque[tuple[RecentPartition, RecentAnswer]] = deque()
        """All answers, oldest first. One that was dropped before its turn has no records any more."""
        self._expected = 0
        """Bytes that Fetches on their way may bring."""
        self._beginners: OrderedDict[Hashable, dict[int, int]] = OrderedDict()
        """By partition the connections that have asked where its log begins, and when."""

    def expect(self, end: PollEnd, size: int) -> None:
        """Take note that a Fetch may bring so many bytes, until its end comes."""
        self._expected += size

        def came() -> None:
            self._expected -= size

        end.call(came)

    def note_beginner(self, place: Hashable, reader: int, now_ns: int) -> None:
        """Take note that a connection has asked where the log of a partition begins: it is about to read it from there.

        What others have read meanwhile is kept for it, so that members of a group come together that begin together:
        some clients ask for the start of each partition by itself, and one is done long before another.
        """
        beginners = self._beginners.pop(place, {})
        if len(beginners) < MAX_READERS:
            beginners[reader] = now_ns
        self._beginners[place] = beginners
        if len(self._beginners) > MAX_BEGUN:
            self._beginners.popitem(last=False)

    def _is_awaited(self, partition: RecentPartition, now_ns: int) -> bool:
        """Whether a connection is about to read a partition that has not asked for it yet."""
        beginners = self._beginners.get(partition.place)
        if beginners is None:
            return False
        awaited = [one for one, began_ns in beginners.items() if now_ns - began_ns < FRESH_NS]
        if not awaited:
            del self._beginners[partition.place]
        return any(partition.lacks(one) for one in awaited)

    def topic(self, key: Hashable) -> RecentTopic:
        """Return what is known of a topic."""
        found = self.topics.get(key)
        if found is None:
            if len(self.topics) >= MAX_PARTITIONS:
                self._has_forgotten_first()
            found = self.topics[key] = RecentTopic(self)
        else:
            self.topics.move_to_end(key)
        return found

    def make_place(self, topic: RecentTopic) -> None:
        """Forget the topics that were not used for the longest, if there are too many partitions for one more."""
        if topic.is_forgotten:
            return
        while self._count_of_partitions >= MAX_PARTITIONS and self._has_forgotten_first(topic):
            pass
        self._count_of_partitions += 1

    def _has_forgotten_first(self, but: RecentTopic | None = None) -> bool:
        """Forget the topic that was not used for the longest; False: there is no other one."""
        key = next((key for key, topic in self.topics.items() if topic is not but), None)
        if key is None:
            return False
        forgotten = self.topics.pop(key)
        forgotten.is_forgotten = True
        self._count_of_partitions -= len(forgotten)
        for partition in forgotten.values():
            self._empty(partition)
        return True

    def has_room(self, records: int) -> bool:
        """Return whether an answer with so many bytes of records can be kept; older ones are dropped for it."""
        return self._store.make_room(self, records + OVERHEAD_BYTES)

    @property
    def is_full(self) -> bool:
        """Whether there is no room for a good part of an answer beside those that are coming, as connections have still
        to read what is kept."""
        most, part = self._store.most_of_each, self._store.most_of_each // FULL_PART
        return not self._store.make_room(self, part + min(self._expected, most - part))

    def keep(self, partition: RecentPartition, answer: RecentAnswer) -> None:
        """Keep an answer for which there is room."""
        if len(partition.answers) >= MAX_ANSWERS:
            self._drop(partition.answers.pop(0))
        partition.answers.append(answer)
        self.queue.append((partition, answer))
        self._count(len(answer.records) + OVERHEAD_BYTES)

    def drop_oldest(self) -> None:
        """Drop the oldest answer."""
        self._drop_at(0)

    def drop_unneeded(self, now_ns: int) -> bool:
        """Drop the oldest answer that no connection needs; False: there is none among the oldest."""
        for place, (partition, answer) in enumerate(islice(self.queue, MAX_LOOKED_AT)):
            is_needed = partition.is_needed(answer, now_ns) or self._is_awaited(partition, now_ns)
            if answer.is_dropped or not is_needed:
                self._drop_at(place)
                return True
        return False

    def _drop_at(self, place: int) -> None:
        partition, answer = self.queue[place]
        del self.queue[place]
        if not answer.is_dropped:
            partition.answers.remove(answer)
            self._drop(answer)

    def _drop(self, answer: RecentAnswer) -> None:
        self._count(-len(answer.records) - OVERHEAD_BYTES)
        answer.records, answer.is_dropped = b"", True

    def drop_stale(self, now_ns: int) -> None:
        """Drop what is too old to be given."""
        while self.queue and now_ns - self.queue[0][1].bounds.came_ns >= KEPT_NS:
            self.drop_oldest()

    def forget(self) -> None:
        """Forget all: topics were deleted or made, records deleted, or names mean something else."""
        self.generation += 1
        # All answers are in the queue, those of topics as well that made room for others before their answers came.
        for partition, answer in self.queue:
            partition.answers.clear()
            if not answer.is_dropped:
                self._drop(answer)
        self.queue.clear()
        for topic in self.topics.values():
            for partition in topic.values():
                partition.forget()

    def _empty(self, partition: RecentPartition) -> None:
        for answer in partition.answers:
            self._drop(answer)
        partition.answers.clear()

    def _count(self, more: int) -> None:
        self.bytes += more
        self._store.count(self.tenant, more)


class RecentRecords:
    """What is known of all tenants."""

    def __init__(self, now_ns: Callable[[], int], held: Counter[str] | None = None) -> None:
        """Begin with nothing, and without room.

        Args:
            now_ns: a monotonic clock, in nanoseconds.
            held: counts the bytes that are held, by tenant; None: a counter of its own.
        """
        self.now_ns = now_ns
        self.held: Counter[str] = Counter() if held is None else held
        self.take_room: TakeRoom = lambda _tenant, size: take_room(MemoryLimit(), size)
        """The gateway counts the memory of answers."""
        self.spare: Callable[[], int] = lambda: self._most
        """Returns how many bytes the process has left for what is held here; the gateway says so, by its frames."""
        self._tenants: dict[str, TenantRecent] = {}
        self._numbers = count(1)
        self._most = self.bytes = 0
        self.most_of_each = 0
        """Bytes that may be held for a tenant."""

    @property
    def is_on(self) -> bool:
        """Whether anything may be kept."""
        return self._most > 0

    def limit(self, most: int, each: int) -> None:
        """Set how many bytes may be held in all, and for each tenant; 0: nothing is kept."""
        self._most, self.most_of_each = most, min(each, most)
        for one in self._tenants.values():
            while one.bytes > self.most_of_each:
                one.drop_oldest()
        self.fit(most)

    def view(self, tenant: str, *key: Hashable) -> RecentView:
        """Return the view of a new connection.

        Args:
            tenant: whose client it is.
            key: what decides which answers it may be given: its physical cluster, namespace, user and broker.
        """
        return RecentView(self, self._of(tenant), key, next(self._numbers))

    def forget(self, tenant: str) -> None:
        """Forget what is known of a tenant."""
        found = self._tenants.get(tenant)
        if found is not None:
            found.forget()

    def make_room(self, tenant: TenantRecent, size: int) -> bool:
        """Drop what is too old or too much; return whether a tenant may hold so many bytes more."""
        if size > self.most_of_each:
            return False
        now_ns = self.now_ns()
        tenant.drop_stale(now_ns)
        while tenant.bytes + size > self.most_of_each:
            if not tenant.drop_unneeded(now_ns):
                return False
        room = min(self._most, self.spare())
        if self.bytes + size > room:
            self.drop_stale()
            self.fit(room)
        while self.bytes + size > room:
            most = max(self._tenants.values(), key=lambda one: one.bytes)
            if most is not tenant:
                most.drop_oldest()
            elif not tenant.drop_unneeded(now_ns):
                return False
        return True

    def fit(self, room: int) -> None:
        """Drop what is beyond so many bytes, of the tenants that have most, needed or not."""
        while self.bytes > max(room, 0):
            max(self._tenants.values(), key=lambda one: one.bytes).drop_oldest()

    def drop_stale(self) -> None:
        """Drop what is too old to be given, of all tenants, and that for which the process has no room any more."""
        now_ns = self.now_ns()
        for one in self._tenants.values():
            one.drop_stale(now_ns)
        self.fit(self.spare())

    def count(self, tenant: str, more: int) -> None:
        """Count bytes of a tenant that are held, or are held no longer."""
        self.bytes += more
        self.held[tenant] += more

    def _of(self, tenant: str) -> TenantRecent:
        found = self._tenants.get(tenant)
        if found is None:
            found = self._tenants[tenant] = TenantRecent(self, tenant)
        return found


class RecentView:
    """What one connection may be given."""

    __slots__ = ("_key", "left_out", "number", "store", "tenant")

    def __init__(
        self, store: RecentRecords, tenant: TenantRecent, key: tuple[Hashable, ...], number: int
    ) -> None:
        """See `RecentRecords.view`."""
        self.store, self.tenant, self._key, self.number = store, tenant, key, number
        tenant.open_connections.add(number)
        self.left_out = 0
        """How many answers, up to the last one, had partitions of which nothing was here: the broker is to be asked for
        these."""

    def end(self) -> None:
        """Await nothing more of the connection, which has ended: nothing is kept for it."""
        self.tenant.open_connections.discard(self.number)

    def topic(self, *key: Hashable) -> RecentTopic:
        """Return what is known of the partitions of a topic.

        Args:
            key: what decides a broker's answer beside the connection: see filters/virtual/sharing/shared_fetches.py.
        """
        return self.tenant.topic((self._key, *key))

    def place_of(self, topic: str, partition: int) -> Hashable:
        """Return what a physical partition is called, however a request names its topic."""
        return self._key, topic, partition

    def note_beginner(self, topic: str, partition: int) -> None:
        """Take note that the connection has asked where the log of a partition begins."""
        self.tenant.note_beginner(self.place_of(topic, partition), self.number, self.store.now_ns())

    def take_room(self, size: int) -> TakenRoom | None:
        """Take room for an answer of so many bytes, which counts for the tenant; None: there is none."""
        return self.store.take_room(self.tenant.tenant, size)
