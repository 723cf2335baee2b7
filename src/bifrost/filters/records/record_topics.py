"""The topics of one namespace and their transforms, for clients to whom the same rules apply.

The engine gets tables of names in which a topic that a filter is for has a way (topic_way.pyx) in the place of its
name, where each of its transforms has a compiled step; else it has no place there, so that a message that names it
leaves the hot path, and the filters of this package see it. All other topics are in the tables with their names. Each
gets there when it was asked about once.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, cast

from bifrost.filters.records.record_work import FIRST_WITH_ZSTD
from bifrost.filters.records.topic_way import TopicWay, has_steps
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.remembered_names import MAX_REMEMBERED_BYTES
from bifrost.transforms.record_transform import (
    BatchTransform,
    Direction,
    PlacedTransform,
    RecordTransform,
)
from bifrost.transforms.transform_kind import Topic, Transform, kind_of
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.rewriting import Names

if TYPE_CHECKING:
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.filters.plan import Plan
    from bifrost.filters.records.tenant_records import TenantRecords
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.acls.guard import Guard
    from bifrost.tenancy.namespace import Namespace
    from bifrost.tenancy.policies.record_rules import RecordRules
    from bifrost.transforms.quarantine import QuarantinePlace
    from bifrost.transforms.tenant_filters import Rules
    from bifrost.wire.rewriting import RecordWay

MAX_REMEMBERED = 4096
"""Names and chains of topics remembered, of each kind: more than a client uses at a time. Beyond it that memory is
emptied."""

_MISS_STEPS = 320
"""Rounds of a loop that a name stands for of which is found out whether filters are for it: 10 to 20 us."""

_SLOTS = (Entity.TOPIC_NAME, Entity.TOPIC_ID)


class _Seen(Enum):
    """Messages that the filters have to see of some topics."""

    PRODUCED = "requests with records"
    FETCHED = "answers with records"
    SHARED = "answers with records for a share group"
    LOOKED_UP = "requests for offsets by time"


_WITH_WAYS = {_Seen.PRODUCED: Direction.PRODUCE, _Seen.FETCHED: Direction.FETCH}


class TopicChain(NamedTuple):
    """What happens to the records of a topic on one way."""

    transforms: tuple[Transform, ...]
    """In the order in which records pass them."""
    refused_acks: dict[int, str]
    """The settings `acks` with which a request is refused, each with the name of the first filter that does."""
    sealed: tuple[str, bytes] | None = None
    """Cluster and physical topic, where fetched batches prove what was before and behind them."""
    rules: RecordRules | None = None
    """What policies of namespaces say about records that are produced."""

    def at(self, partition: int) -> tuple[RecordTransform | BatchTransform, ...]:
        """Return the transforms of a partition."""
        return tuple(
            one.at(partition) if isinstance(one, PlacedTransform) else one for one in self.transforms
        )


class HiddenTimes(NamedTuple):
    """A topic of which a broker cannot look offsets up by time."""

    physical: bytes
    chain: TopicChain
    """What makes the timestamps readable, on fetch."""


class RecordTopics:
    """Which topics are transformed, and how."""

    def __init__(
        self,
        records: TenantRecords,
        namespace: Namespace,
        rules: Rules,
        guard: Guard | None,
        virtual: VirtualTopics | None = None,
    ) -> None:
        """Know no topic yet; see `TenantRecords.topics`."""
        self.records, self.namespace = records, namespace
        self._rules, self._virtual = rules, virtual
        self._chains: dict[tuple[str, Direction], TopicChain | None] = {}
        self._hidden: dict[str, HiddenTimes | None] = {}
        self._tables: dict[tuple[_Seen, Names], Names] = {}
        namespace.users.guards.add(self)
        if guard is not None:
            # What its tables permit is remembered here as well.
            guard.sessions.add(self)

    # -- for the engine

    def plan(self, plan: Plan) -> Plan:
        """Return how messages are treated that name such topics."""
        one = self.records.filter_of(plan.api_key)
        if one is None:
            return plan
        carries_records = plan.api_key != ApiKey.LIST_OFFSETS
        # A way does not know what a version of Produce may not have.
        is_old = plan.api_key == ApiKey.PRODUCE and plan.api_version < FIRST_WITH_ZSTD
        return replace(
            plan,
            request=plan.request if is_old else plan.request.with_ways(),
            response=plan.response.with_ways(),
            filters=(*plan.filters, one),
            carries_records=carries_records,
        )

    def to_physical(self, api_key: int, names: Names) -> Names:
        """Return the names in requests of an API, without those of topics whose records must be seen."""
        if api_key == ApiKey.PRODUCE:
            return self._table(_Seen.PRODUCED, names)
        return self._table(_Seen.LOOKED_UP, names) if api_key == ApiKey.LIST_OFFSETS else names

    def to_virtual(self, api_key: int, names: Names) -> Names:
        """Return likewise the names in its answers."""
        if api_key == ApiKey.FETCH:
            return self._table(_Seen.FETCHED, names)
        return self._table(_Seen.SHARED, names) if api_key == ApiKey.SHARE_FETCH else names

    def renew(self) -> None:
        """Forget all names: they mean something else now."""
        self._chains.clear()
        self._hidden.clear()
        for names in self._tables.values():
            for slot in _SLOTS:
                table = names.tables[slot]
                assert table is not None
                table.clear()

    def rights_changed(self) -> None:
        """Ask anew from now on: a name that was permitted may not be any more."""
        self.renew()

    def _table(self, seen: _Seen, base: Names) -> Names:
        names = self._tables.get((seen, base))
        if names is None:
            made = Names(lambda slot, value: self._found(made, base, seen, slot, value), base, _MISS_STEPS)
            for slot in _SLOTS:
                made.tables[slot] = {}
            names = self._tables[seen, base] = made
        return names

    def _found(
        self, names: Names, base: Names, seen: _Seen, slot: int, value: bytes
    ) -> bytes | RecordWay | None:
        known = base.tables[slot]
        found = None if known is None else known.get(value)
        found = base.missing(slot, value) if found is None else found
        if found is None or slot not in _SLOTS:
            return found
        # A broker's answer has the virtual name in `found`, and so has a client's request in `value`.
        name = found if seen in (_Seen.FETCHED, _Seen.SHARED) else value
        topic = self.namespace.topic_of(found) if slot == Entity.TOPIC_ID else _text(name)
        found_or_way: bytes | RecordWay | None = found
        if topic is not None and self._is_seen(topic, seen):
            found_or_way = self._way(found, topic, seen)
            if found_or_way is None:
                return None
        table = names.tables[slot]
        # An ID that was masked because it is absent may exist later.
        is_certain = slot != Entity.TOPIC_ID or topic is not None
        if table is not None and is_certain and len(found) <= MAX_REMEMBERED_BYTES:
            if len(table) >= MAX_REMEMBERED:
                table.clear()
            # Only the engine reads this table, and it knows ways.
            table[value] = cast("bytes", found_or_way)
        return found_or_way

    def _is_seen(self, topic: str, seen: _Seen) -> bool:
        if seen is _Seen.LOOKED_UP:
            return self.hidden_times(topic) is not None
        direction = Direction.PRODUCE if seen is _Seen.PRODUCED else Direction.FETCH
        return self.chain(topic, direction) is not None

    def _way(self, name: bytes, topic: str, seen: _Seen) -> RecordWay | None:
        """Return the way of a topic's records past the filters; None: these have to see them.

        Members of share groups get all records of a partition or none, which a way does not know. Nor does it know the
        records of virtual partitions.
        """
        direction = None if self._is_virtual(topic) else _WITH_WAYS.get(seen)
        chain = None if direction is None else self.chain(topic, direction)
        if direction is None or chain is None or chain.refused_acks or chain.rules is not None:
            return None
        if not has_steps(chain.at(0), direction):
            return None
        return TopicWay(name, self.records, chain, direction)

    def _is_virtual(self, topic: str) -> bool:
        return self._virtual is not None and self._virtual.map_of(topic) is not None

    # -- for the filters

    def chain(self, topic: str, direction: Direction) -> TopicChain | None:
        """Return what happens to the records of a topic, by its virtual name; None: nothing."""
        key = (topic, direction)
        if len(topic) > MAX_REMEMBERED_BYTES:
            return self._made_chain(topic, direction)
        if key not in self._chains:
            if len(self._chains) >= MAX_REMEMBERED:
                self._chains.clear()
            self._chains[key] = self._made_chain(topic, direction)
        return self._chains[key]

    def hidden_times(self, topic: str) -> HiddenTimes | None:
        """Return a topic of which a broker cannot look offsets up by time, by its virtual name; None: it can."""
        if len(topic) > MAX_REMEMBERED_BYTES:
            return self._made_hidden(topic)
        if topic not in self._hidden:
            if len(self._hidden) >= MAX_REMEMBERED:
                self._hidden.clear()
            self._hidden[topic] = self._made_hidden(topic)
        return self._hidden[topic]

    def _made_hidden(self, topic: str) -> HiddenTimes | None:
        chain = self.chain(topic, Direction.FETCH)
        hiding = () if chain is None else tuple(one for one in chain.transforms if _hides_times(one))
        physical = bytes(self.namespace.names.physical_topic(VirtualTopic(topic.encode())))
        return HiddenTimes(physical, TopicChain(hiding, {})) if hiding else None

    def _made_chain(self, topic: str, direction: Direction) -> TopicChain | None:
        names = self.namespace.names
        full = names.full_name(topic)
        physical = names.physical_topic(VirtualTopic(topic.encode()))
        part = names.aliases.get(names.tenant)
        # A topic that was moved or shared within the tenant cannot get away from the rules about its other names.
        others = () if part is None else (one.full_name for one in part.origins(physical))
        filters = _sealed_last(
            self.records.filters.applying(self._rules, {full, *others}, direction), direction
        )
        policies = self.namespace.rules if direction is Direction.PRODUCE else None
        rules = None if policies is None else policies.on_records(topic)
        if not filters and rules is None:
            return None
        cluster = self.namespace.physical_cluster_id() or ""
        place = Topic(names.tenant, full, bytes(physical), cluster, self._is_virtual(topic))
        refused: dict[int, str] = {}
        for one in filters:
            for acks in kind_of(one.name).refused_acks(one.config):
                refused.setdefault(acks, one.shown_name)
        transforms = tuple(self._transform(one, place, direction, filters) for one in filters)
        is_ordered = direction is Direction.FETCH and any(_hides_times(one) for one in transforms)
        return TopicChain(transforms, refused, (place.cluster, place.physical) if is_ordered else None, rules)

    def _transform(
        self, one: RecordFilter, place: Topic, direction: Direction, filters: list[RecordFilter]
    ) -> Transform:
        """Return the transform of a filter; what it refuses is put aside where it says so."""
        made = kind_of(one.name).make(one.shown_name, one.config, place)
        topic = one.config.quarantine_topic
        if topic is None or direction is not Direction.PRODUCE:
            return made
        assert not isinstance(made, BatchTransform | PlacedTransform), "such filters have no quarantine_topic"
        # Only for those who use it.
        from bifrost.transforms.quarantine import Quarantine

        return Quarantine(made, self._quarantine(place, topic, filters))

    def _quarantine(self, place: Topic, topic: str, filters: list[RecordFilter]) -> QuarantinePlace:
        """Return where bad records of a topic are put aside: in the namespace of the clients that write them."""
        from bifrost.transforms.quarantine import QuarantinePlace

        names, virtual = self.namespace.names, VirtualTopic(topic.encode())
        others = self.records.filters.applying(self._rules, {names.full_name(topic)}, Direction.PRODUCE)
        unusable = None
        if not names.is_allowed(virtual) or names.access(topic) is not None:
            unusable = "the topic of quarantine is not one of the namespace's own"
        elif any(kind_of(one.name).seals for one in (*filters, *others)):
            # The configuration is refused where this is known; topics that were moved have other names.
            unusable = "records that are encrypted are not put aside in plaintext"
        physical = bytes(names.physical_topic(virtual))
        return QuarantinePlace(place.tenant, place.name, names.full_name(topic), physical, unusable)


def _hides_times(transform: Transform) -> bool:
    return isinstance(transform, PlacedTransform) and transform.hides_timestamps


def _sealed_last(filters: list[RecordFilter], direction: Direction) -> list[RecordFilter]:
    """Return filters with the one that seals next to the broker, and without a second one.

    The configuration has them so (`filter_order.py`); only a topic with several names may be under rules that were not
    made for the same topic.
    """
    sealing = [one for one in filters if kind_of(one.name).seals]
    if not sealing:
        return filters
    others = [one for one in filters if one not in sealing]
    # The first one of the file, on both ways.
    return [*others, sealing[0]] if direction is Direction.PRODUCE else [sealing[-1], *others]


def _text(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None
