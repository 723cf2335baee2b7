"""Which topics of a namespace have virtual partitions, and the filters that messages about them pass.

The engine gets tables of names in which these topics never have a place; so a message that names one leaves the hot
path. In those for Produce they have a way in the place of their name (partition_way.pyx).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

from bifrost.filters.virtual.division import in_one_piece
from bifrost.filters.virtual.groups.told_members import ToldMembers
from bifrost.filters.virtual.offset_group_names import OffsetGroupNamesFilter, group_places
from bifrost.filters.virtual.partition_way import PartitionWay
from bifrost.filters.virtual.streams.known_members import KnownMembers
from bifrost.filters.virtual.virtual_filters import (
    ALWAYS_DECODED_ANSWERS,
    ALWAYS_DECODED_REQUESTS,
    BEFORE_ALL,
    FILTERS,
)
from bifrost.records.codec.errors import CorruptBatch
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.remembered_names import MAX_REMEMBERED_BYTES
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.commit_stamps import CommitStamp
from bifrost.tenancy.virtual_partitions.logs.known_starts import KnownStarts
from bifrost.tenancy.virtual_partitions.logs.stretch import KnownStretches
from bifrost.tenancy.virtual_partitions.offset_groups import is_offset_group
from bifrost.tenancy.virtual_partitions.own_producer import OwnProducer
from bifrost.tenancy.virtual_partitions.partition_end import may_be_least_end
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRules
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets, ScannedRoom
from bifrost.tenancy.virtual_partitions.shares.share_room import ShareRoom
from bifrost.tenancy.virtual_partitions.shares.share_sessions import ShareSessions
from bifrost.tenancy.virtual_partitions.transaction_numbers import TransactionNumbers
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch, own_records
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields import entities
from bifrost.wire.rewriting import Names, RecordWay
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from bifrost.filters.plan import Plan
    from bifrost.filters.virtual.division import TopicKey
    from bifrost.tenancy.acls.guard import Guard
    from bifrost.tenancy.namespace import Namespace
    from bifrost.tenancy.recent_records.recent_records import RecentRecords, RecentView
    from bifrost.tenancy.virtual_partitions.index.index_table import IndexTable
    from bifrost.tenancy.virtual_partitions.partition_map import (
        PartitionGroup,
        PartitionMap,
        PhysicalPartition,
    )
    from bifrost.tenancy.virtual_partitions.partition_rules import PartitionRule

MAX_REMEMBERED = 4096
"""Names of topics remembered in each table: more than a client uses at a time. Beyond it that memory is emptied."""

_MISS_STEPS = 80
"""Rounds of a loop that a name stands for of which is found out whether it has virtual partitions: 2 to 5 us."""

_SLOTS = (Entity.TOPIC_NAME, Entity.TOPIC_ID)
_REQUEST_SLOTS = (*_SLOTS, entities.SLOT_FETCHED_TOPIC)
_NAMES = (OffsetGroupNamesFilter(),)
_WITH_RECORDS = frozenset({ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.SHARE_FETCH})


class TenantVirtualTopics:
    """Those of one tenant."""

    def __init__(
        self,
        rules: Iterable[PartitionRule],
        tenant: str = "",
        counts: Counter[tuple[str, str]] | None = None,
        hits: Counter[tuple[str, str]] | None = None,
        recent: RecentRecords | None = None,
        index: IndexTable | None = None,
        *,
        wall_s: Callable[[], float],
    ) -> None:
        """Take the rules of the configuration; there is at least one.

        Args:
            rules: in the order of the file.
            tenant: whose they are.
            counts: counts what they cost, by tenant and number; None: a counter of its own.
            hits: counts what a limit refuses, by the name of the limit and tenant; None likewise.
            recent: keeps what brokers have answered of late, of all tenants; None: no connection is given that.
            index: what is known of whole logs at the tenant's physical cluster; None: there is no index.
            wall_s: the time since 1970, in seconds, by which commits are stamped.
        """
        self.rules, self.tenant, self.wall_s = PartitionRules(rules), tenant, wall_s
        self.index = index
        self.stretches, self.starts = KnownStretches(), KnownStarts()
        self.numbers = TransactionNumbers()
        self.told_members = ToldMembers()
        self.streams_members = KnownMembers()
        self._scanned_room, self._share_room = ScannedRoom(), ShareRoom()
        self._recent = recent
        self.forget_recent()  # A reload may have given the tenant's topics other names at the brokers.
        self.counts: Counter[tuple[str, str]] = Counter() if counts is None else counts
        self.hits: Counter[tuple[str, str]] = Counter() if hits is None else hits
        self._topics: WeakValueDictionary[tuple[Namespace, Guard | None], VirtualTopics] = (
            WeakValueDictionary()
        )

    def topics(self, namespace: Namespace, guard: Guard | None) -> VirtualTopics:
        """Return those of a namespace: one object for all clients with the same rights."""
        found = self._topics.get((namespace, guard))
        if found is None:
            found = self._topics[namespace, guard] = VirtualTopics(self, namespace, guard)
        return found

    def new_producer(self) -> OwnProducer:
        """Return the producer of a new connection."""
        return OwnProducer()

    def new_scanned(self) -> ScannedOffsets:
        """Return what a new connection has fetched."""
        return ScannedOffsets(self._scanned_room)

    def new_shares(self) -> ShareSessions:
        """Return the share sessions of a new connection."""
        return ShareSessions(self._share_room)

    def new_view(self, *key: Hashable) -> RecentView | None:
        """Return what a new connection may be given of what was answered to others; see `RecentRecords.view`."""
        return None if self._recent is None else self._recent.view(self.tenant, *key)

    def forget_recent(self) -> None:
        """Forget what brokers have answered of late: it may be of other topics, or of records that are deleted."""
        self.starts.forget()
        self.stretches.forget()
        if self._recent is not None:
            self._recent.forget(self.tenant)


class VirtualTopics:
    """Those of one namespace, by the names that its clients use."""

    def __init__(self, tenant: TenantVirtualTopics, namespace: Namespace, guard: Guard | None) -> None:
        """Know no topic yet; see `TenantVirtualTopics.topics`."""
        self.rules, self.namespace = tenant.rules, namespace
        self.stretches, self.starts, self.numbers = tenant.stretches, tenant.starts, tenant.numbers
        self.told_members, self.streams_members = tenant.told_members, tenant.streams_members
        self.index, self._tenant = tenant.index, tenant
        self._maps: dict[str, PartitionMap | None] = {}
        self._tables: dict[tuple[bool, bool, Names], Names] = {}
        namespace.users.guards.add(self)
        if guard is not None:
            # What its tables permit is remembered here as well.
            guard.sessions.add(self)

    def commit_stamp(self, *, is_transactional: bool) -> CommitStamp:
        """Return what is noted with an offset that is committed now."""
        return CommitStamp(int(self._tenant.wall_s()), is_transactional)

    def map_of(self, topic: str) -> PartitionMap | None:
        """Return the partitions of a topic, by its virtual name; None: it has no virtual ones."""
        if len(topic) > MAX_REMEMBERED_BYTES:
            return self._map_of(topic)
        if topic not in self._maps:
            if len(self._maps) >= MAX_REMEMBERED:
                self._maps.clear()
            self._maps[topic] = self._map_of(topic)
        return self._maps[topic]

    def _map_of(self, topic: str) -> PartitionMap | None:
        """A topic that was moved or shared within the tenant has the partitions of the names that it had before: its
        records are marked for these."""
        names = self.namespace.names
        part = names.aliases.get(names.tenant)
        if part is not None:
            for place in part.origins(names.physical_topic(VirtualTopic(topic.encode()))):
                found = self.rules.map_of(place.full_name)
                if found is not None:
                    return found
        return self.rules.map_of(names.full_name(topic))

    def map_of_either(self, topic: str | None, topic_id: bytes) -> PartitionMap | None:
        """Return likewise the partitions of a topic that a message names, or whose ID it has."""
        name = self.name_of(topic, topic_id)
        return None if not name else self.map_of(name)

    def name_of(self, topic: str | None, topic_id: bytes) -> str:
        """Return the virtual name of a topic that a message names, or whose ID it has; empty: it is not known."""
        return topic or self.namespace.topic_of(topic_id) or ""

    def at_brokers(self, topic: str) -> bytes:
        """Return the physical name of a topic."""
        return bytes(self.namespace.names.physical_topic(VirtualTopic(topic.encode())))

    def place_of(self, topic: str, partition: int) -> tuple[PartitionGroup, PhysicalPartition] | None:
        """Return the group and the physical partition of a virtual one; None: the topic has none, or not this one."""
        partitions = self.map_of(topic)
        if partitions is None or not partitions.has(partition):
            return None
        return partitions.place_of(VirtualPartition(partition))

    def moves(self, topics: Iterable[Any]) -> Iterator[tuple[TopicKey, int, int]]:
        """Yield the offsets of a list of committed ones to which Fetch may have moved consumers, with the topic and
        the virtual partition of each; nothing without an index."""
        for topic in in_steps(() if self.index is None else topics):
            key = topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID)
            for one in in_steps(() if self.map_of_either(*key) is None else topic.partitions):
                if may_be_least_end(one.committed_offset):
                    yield key, one.partition_index, one.committed_offset

    def note_moved(self, key: TopicKey, partition: int, offset: int) -> None:
        """Note that a consumer may have been moved to an offset, which brokers have as a committed one (see
        index_entry.py)."""
        partitions = self.map_of_either(*key)
        if self.index is not None and partitions is not None and partitions.has(partition):
            group, physical = partitions.place_of(VirtualPartition(partition))
            place = self.at_brokers(self.name_of(*key)), physical
            self.index.note_moved(place, group, offset, self.namespace.now_ms())

    def own_batches(
        self, topic: str, group: PartitionGroup, records: bytes, offset: int
    ) -> bytes | memoryview:
        """Return what was read of a physical partition of a topic as a virtual one has it from an offset on.

        Raises:
            CorruptBatch: it cannot be told whose it is.
        """
        partitions = self.map_of(topic)
        is_keyed = partitions is not None and partitions.is_keyed
        try:
            return in_one_piece(own_records(records, {group: offset}, is_keyed=is_keyed).records[group])
        except UnfitBatch as unfit:
            raise CorruptBatch(str(unfit)) from None

    def count(self, number: str, amount: int) -> None:
        """Count one of `NUMBERS`."""
        if amount:
            self._tenant.counts[self._tenant.tenant, number] += amount

    def forget_recent(self) -> None:
        """See `TenantVirtualTopics.forget_recent`."""
        self._tenant.forget_recent()

    def hit(self, limit: str) -> None:
        """Count that a limit has refused something."""
        self._tenant.hits[limit, self._tenant.tenant] += 1

    # -- for the engine

    def plan(self, plan: Plan) -> Plan:
        """Return how messages of an API are treated by clients that have such topics."""
        filters = FILTERS.get(plan.api_key, ())
        guards = _NAMES if group_places(plan.request.message, plan.request.version) else ()
        if not filters and not guards:
            return plan
        request, response = plan.request, plan.response
        if plan.api_key in ALWAYS_DECODED_REQUESTS:
            request = replace(request, program=None)
        if plan.api_key == ApiKey.PRODUCE:
            request, response = request.with_places(), response.with_places()
        if plan.api_key in ALWAYS_DECODED_ANSWERS:
            response = replace(response, program=None)
        in_order = (*filters, *plan.filters) if plan.api_key in BEFORE_ALL else (*plan.filters, *filters)
        return replace(
            plan,
            request=request,
            response=response,
            filters=(*guards, *in_order),
            carries_records=plan.carries_records or plan.api_key in _WITH_RECORDS,
        )

    def in_requests(self, api_key: int, names: Names) -> Names:
        """Return the names in requests of an API, without those of such topics."""
        return self._table(names, is_answer=False, has_ways=api_key == ApiKey.PRODUCE)

    def in_answers(self, api_key: int, names: Names) -> Names:
        """Return the names in its answers likewise."""
        return self._table(names, is_answer=True, has_ways=api_key == ApiKey.PRODUCE)

    def renew(self) -> None:
        """Forget all names: they mean something else now."""
        self.forget_recent()
        self._maps.clear()
        for (is_answer, _, _), names in self._tables.items():
            for slot in _SLOTS if is_answer else (*_REQUEST_SLOTS, Entity.GROUP_ID):
                table = names.tables[slot]
                assert table is not None
                table.clear()

    def rights_changed(self) -> None:
        """Ask anew from now on: a name that was permitted may not be any more."""
        self.renew()

    def _table(self, base: Names, *, is_answer: bool, has_ways: bool) -> Names:
        names = self._tables.get((is_answer, has_ways, base))
        if names is None:
            made = Names(
                lambda slot, value: self._found(
                    made, base, slot, value, is_answer=is_answer, has_ways=has_ways
                ),
                base,
                _MISS_STEPS,
            )
            for slot in _SLOTS if is_answer else (*_REQUEST_SLOTS, Entity.GROUP_ID, entities.SLOT_NEW_TOPIC):
                made.tables[slot] = {}
            names = self._tables[is_answer, has_ways, base] = made
        return names

    def _found(
        self, names: Names, base: Names, slot: int, value: bytes, *, is_answer: bool, has_ways: bool
    ) -> bytes | RecordWay | None:
        known = base.tables[slot]
        found = None if known is None else known.get(value)
        found = base.missing(slot, value) if found is None else found
        if slot == entities.SLOT_NEW_TOPIC and not is_answer:
            # Not remembered: whether a topic exists is forgotten when one is deleted (`ExistingTopics`).
            topic = _text(value)
            return found if topic is None or self.map_of(topic) is None else None
        if slot == Entity.GROUP_ID and not is_answer:
            group_id = _text(value)
            if found is None or group_id is None or is_offset_group(group_id, found.decode()):
                return None
            return _remember(names, slot, value, found)
        if found is None or slot not in (_SLOTS if is_answer else _REQUEST_SLOTS):
            return found
        # A broker's answer has the virtual name in `found`, and so has a client's request in `value`. The topic's
        # records may have a way (`RecordTopics`).
        there = found.name if isinstance(found, RecordWay) else found
        topic = (
            self.namespace.topic_of(there)
            if slot == Entity.TOPIC_ID
            else _text(there if is_answer else value)
        )
        partitions = None if topic is None else self.map_of(topic)
        if partitions is not None and (not has_ways or partitions.is_keyed or isinstance(found, RecordWay)):
            # The way of its records would not divide them, nor change keys. That it has no place is remembered as well.
            return _remember(names, slot, value, cast("bytes", None))
        if partitions is not None:
            way = PartitionWay(found, found if is_answer else value, partitions, self.count)
            # Only the engine reads this table, and it knows ways.
            return _remember(names, slot, value, cast("bytes", way))
        # An ID that was masked because it is absent may exist later.
        if slot != Entity.TOPIC_ID or topic is not None:
            _remember(names, slot, value, found)
        return found


def _remember(names: Names, slot: int, value: bytes, found: bytes) -> bytes:
    table = names.tables[slot]
    if table is not None and len(value) <= MAX_REMEMBERED_BYTES:
        if len(table) >= MAX_REMEMBERED:
            table.clear()
        table[value] = found
    return found


def _text(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None
