"""The topics of one namespace and their transforms, for clients to whom the same rules apply.

The engine gets tables of names in which no topic has its place that a filter is for; so a message that names one leaves
the hot path, and the filters of this package see it. All other topics are in the tables, after they were asked about
once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bifrost.tenancy.names import VirtualTopic
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
    from bifrost.tenancy.acls.guard import Guard
    from bifrost.tenancy.namespace import Namespace
    from bifrost.tenancy.policies.record_rules import RecordRules
    from bifrost.transforms.tenant_filters import Rules

MAX_REMEMBERED = 4096
"""Names and chains of topics remembered, of each kind: more than a client uses at a time. Beyond it that memory is
emptied."""

_SLOTS = (Entity.TOPIC_NAME, Entity.TOPIC_ID)


class TopicChain(NamedTuple):
    """What happens to the records of a topic on one way."""

    transforms: tuple[Transform, ...]
    """In the order in which records pass them."""
    refused_acks: dict[int, str]
    """The settings `acks` with which a request is refused, each with the name of the first filter that does."""
    rules: RecordRules | None = None
    """What policies of namespaces say about records that are produced."""

    def at(self, partition: int) -> tuple[RecordTransform | BatchTransform, ...]:
        """Return the transforms of a partition."""
        return tuple(
            one.at(partition) if isinstance(one, PlacedTransform) else one for one in self.transforms
        )


class RecordTopics:
    """Which topics are transformed, and how."""

    def __init__(
        self, records: TenantRecords, namespace: Namespace, rules: Rules, guard: Guard | None
    ) -> None:
        """Know no topic yet; see `TenantRecords.topics`."""
        self.records, self.namespace = records, namespace
        self._rules = rules
        self._chains: dict[tuple[str, Direction], TopicChain | None] = {}
        self._tables: dict[tuple[Direction, Names], Names] = {}
        namespace.users.guards.add(self)
        if guard is not None:
            # What its tables permit is remembered here as well.
            guard.sessions.add(self)

    # -- for the engine

    def plan(self, plan: Plan) -> Plan:
        """Return how messages are treated that name such topics."""
        one = self.records.filter_of(plan.api_key)
        return plan if one is None else replace(plan, filters=(*plan.filters, one), carries_records=True)

    def to_physical(self, api_key: int, names: Names) -> Names:
        """Return the names in requests of an API, without those of topics whose records must be seen."""
        return self._table(Direction.PRODUCE, names) if api_key == ApiKey.PRODUCE else names

    def to_virtual(self, api_key: int, names: Names) -> Names:
        """Return likewise the names in its answers."""
        return self._table(Direction.FETCH, names) if api_key in (ApiKey.FETCH, ApiKey.SHARE_FETCH) else names

    def renew(self) -> None:
        """Forget all names: they mean something else now."""
        self._chains.clear()
        for names in self._tables.values():
            for slot in _SLOTS:
                table = names.tables[slot]
                assert table is not None
                table.clear()

    def rights_changed(self) -> None:
        """Ask anew from now on: a name that was permitted may not be any more."""
        self.renew()

    def _table(self, direction: Direction, base: Names) -> Names:
        names = self._tables.get((direction, base))
        if names is None:
            made = Names(lambda slot, value: self._found(made, base, direction, slot, value))
            made.tables = [*base.tables]
            for slot in _SLOTS:
                made.tables[slot] = {}
            names = self._tables[direction, base] = made
        return names

    def _found(
        self, names: Names, base: Names, direction: Direction, slot: int, value: bytes
    ) -> bytes | None:
        known = base.tables[slot]
        found = None if known is None else known.get(value)
        found = base.missing(slot, value) if found is None else found
        if found is None or slot not in _SLOTS:
            return found
        # A broker's answer has the virtual name in `found`, and so has a client's request in `value`.
        name = value if direction is Direction.PRODUCE else found
        topic = self.namespace.topic_of(found) if slot == Entity.TOPIC_ID else _text(name)
        if topic is not None and self.chain(topic, direction) is not None:
            return None
        table = names.tables[slot]
        # An ID that was masked because it is absent may exist later.
        if table is not None and (slot != Entity.TOPIC_ID or topic is not None):
            if len(table) >= MAX_REMEMBERED:
                table.clear()
            table[value] = found
        return found

    # -- for the filters

    def chain(self, topic: str, direction: Direction) -> TopicChain | None:
        """Return what happens to the records of a topic, by its virtual name; None: nothing."""
        key = (topic, direction)
        if key not in self._chains:
            if len(self._chains) >= MAX_REMEMBERED:
                self._chains.clear()
            self._chains[key] = self._made_chain(topic, direction)
        return self._chains[key]

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
        place = Topic(names.tenant, full, bytes(physical), self.namespace.physical_cluster_id() or "")
        refused: dict[int, str] = {}
        for one in filters:
            for acks in kind_of(one.name).refused_acks(one.config):
                refused.setdefault(acks, one.shown_name)
        transforms = tuple(kind_of(one.name).make(one.shown_name, one.config, place) for one in filters)
        return TopicChain(transforms, refused, rules)


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
