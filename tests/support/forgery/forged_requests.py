"""Requests that name what is another's, each beside its control: the same request with a thing that no tenant has.

By the schema: for every field of every served request that can name something (a topic, a group, a member, a fetch
session, a producer ID, ...) one request with that field forged and all others the sender's own, and requests with
everything forged at once. Foreign and control values have the same length, so answers can be compared in bytes.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import UnclassifiedField, entities_of, walk_fields
from bifrost.wire.message import Message, message_class
from bifrost.wire.schema import Field, FieldType, message_schema, request_schema
from support.clients.record_batches import build_batch
from support.forgery.forged_tables import (
    BOOLS,
    BUSY,
    GROUP,
    LIVE_GROUP,
    NUMBERS,
    PATHS,
    PLAIN,
    TEXTS,
    VARIANTS,
    Variant,
)
from support.forgery.victim import Victim, assignment, subscription

_TEXT = random.Random(20)


@dataclass(frozen=True)
class Pair:
    """A value that is another's, and one of the same length that no tenant has."""

    foreign: Any
    control: Any
    size: int = 8
    """Bytes of a number on the wire."""

    def swaps(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield what stands in answers for the foreign value, and what should for the control."""
        if isinstance(self.foreign, str):
            yield self.foreign.encode(), self.control.encode()
        elif isinstance(self.foreign, bytes):
            yield self.foreign, self.control
        else:
            yield self.foreign.to_bytes(self.size, "big"), self.control.to_bytes(self.size, "big")


@dataclass(frozen=True)
class Forgery:
    """One forged request and its control."""

    label: str
    foreign: Message
    control: Message
    swaps: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True)
class Own:
    """What the sender has itself: everything that is not forged names these."""

    topic: str
    topic_id: bytes
    busy_topic: str
    """Of which records are written: offsets in it change."""
    group: str
    """A classic group with a member."""
    member: str


class Loot:
    """What the sender knows of its victim, by what it is."""

    def __init__(
        self,
        victim: Victim,
        *,
        cluster_id: str,
        internal_topic_id: bytes,
        paths: Sequence[str] = (),
        hidden_topics: Mapping[str, bytes] | None = None,
    ) -> None:
        """Note everything.

        Args:
            victim: whose things they are.
            cluster_id: that of the physical cluster.
            internal_topic_id: that of __consumer_offsets.
            paths: what more may stand in front of the victim's names, such as the path of its namespace.
            hidden_topics: the IDs of the gateway's own topics, by name.
        """
        self.victim = victim
        tag, other = victim.tag, _hex(len(victim.tag))
        physical = victim.prefix

        def named(*names: str) -> list[Pair]:
            virtual = [Pair(name, name.replace(tag, other)) for name in names]
            fronts = (physical, *paths)
            return virtual + [Pair(f + one.foreign, f + one.control) for f in fronts for one in virtual]

        hidden = hidden_topics or {}
        self.topics = [*named(victim.topic), Pair("__consumer_offsets", "__consumer_offsetz")]
        self.topics += [Pair(name, f"{name[:-1]}{'z' if name[-1] != 'z' else 'y'}") for name in hidden]
        groups = (victim.classic, victim.consumer.group_id, victim.share.group_id, victim.streams.group_id)
        self.groups = named(*groups)
        self.transactions = named(victim.transactional_id)
        newer = [
            Pair(group.member_id, group.member_id[:1] + _hex(len(group.member_id) - 1))
            for group in (victim.consumer, victim.share, victim.streams)
        ]
        member_id = victim.member_id.replace(tag, other)
        self.members = [Pair(victim.member_id, member_id[:-12] + _hex(12)), *newer]
        self.instances = named(victim.instance_id)
        self.sessions = [Pair(victim.session_id, victim.session_id ^ 0x2A2A2A2A, size=4)]
        self.producers = [Pair(victim.producer_id, victim.producer_id + 7_654_321)]
        self.topic_ids = (victim.topic_id, internal_topic_id, *hidden.values())
        self.cluster_ids = [Pair(cluster_id, cluster_id[:-6] + _hex(6))]
        self.regexes = [
            Pair(text.replace("TAG", tag), text.replace("TAG", other))
            for text in (f"{physical}zebra-TAG", f".*|{physical}zebra-TAG.*", f")|(?:{physical}zebra-TAG")
        ]

    def ids(self) -> list[Pair]:
        """Topic IDs, each time beside others that no topic ever had."""
        return [Pair(one, os.urandom(16)) for one in self.topic_ids]


_numbers = count(1)


def _hex(length: int) -> str:
    return "".join(_TEXT.choices("0123456789abcdef", k=length))


def fresh_group() -> str:
    """A group that only one request names."""
    return f"own-group-{next(_numbers):08d}"


def forgeries(api_key: int, version: int, own: Own, loot: Loot) -> Iterator[Forgery]:
    """Yield every forged request of one API and version."""
    name = request_schema(api_key).name
    for variant_number, variant in enumerate(VARIANTS.get(name, PLAIN)):
        if not _exists(name, version, variant):
            continue
        maker = _Maker(name, version, own, loot, variant)
        yield from maker.one_by_one(f"variant {variant_number}")
        yield from maker.all_at_once(f"variant {variant_number}")


def _exists(name: str, version: int, variant: Variant) -> bool:
    """Whether a version of a request can say what the variant wants."""
    fields = dict(walk_fields(message_schema(name).fields, version))
    for path, value in variant.items():
        if path not in fields and value:
            return False
        if path in fields and value is None and version not in fields[path].nullable:
            return False
    return True


class _Maker:
    """Makes one API's requests, at one version and variant."""

    def __init__(self, name: str, version: int, own: Own, loot: Loot, variant: Variant) -> None:
        self._name, self._version, self._own, self._loot = name, version, own, loot
        self._schema = message_schema(name)
        try:
            self._entities = entities_of(name, version)
        except UnclassifiedField:  # An API that is always refused.
            self._entities = {}
        self._is_refused = not self._entities and any(
            field.type in (FieldType.STRING, FieldType.UUID)
            for _path, field in walk_fields(self._schema.fields, version)
        )
        merged = {**PATHS.get(name, {}), **variant}
        self._fixed = {path: value for path, value in merged.items() if value is not ...}
        self._variant = variant
        self._forgeable: dict[str, list[Pair]] = {}
        for path, field in walk_fields(self._schema.fields, version):
            if not self._is_left_out(path):
                pairs = self._pairs(path, field)
                if pairs:
                    self._forgeable[path] = pairs

    def _is_left_out(self, path: str) -> bool:
        """Whether the field, or what it stands in, is fixed to nothing."""
        parts = path.split(".")
        above = (".".join(parts[:length]) for length in range(1, len(parts)))
        if any(self._fixed.get(one, ...) in (None, []) for one in above):
            return True
        # Of a name and an ID only one may be given: what the variant says of the other holds.
        return (
            path in self._variant and self._variant[path] in (None, bytes(16)) and path != "TransactionalId"
        )

    def one_by_one(self, label: str) -> Iterator[Forgery]:
        for path, pairs in self._forgeable.items():
            for pair in pairs:
                yield self._forgery(f"{label} {path}={_shown(pair.foreign)}", {path: pair})

    def all_at_once(self, label: str) -> Iterator[Forgery]:
        """Everything of the victim's, under its virtual and under its physical names, for each of its groups."""
        if len(self._forgeable) < 2:
            return
        for number in range(8):
            chosen = {path: pairs[number % len(pairs)] for path, pairs in self._forgeable.items()}
            yield self._forgery(f"{label} all {number}", chosen)

    def _forgery(self, label: str, chosen: Mapping[str, Pair]) -> Forgery:
        groups = Pair(fresh_group(), fresh_group())
        foreign = self._build({path: pair.foreign for path, pair in chosen.items()}, groups.foreign)
        control = self._build({path: pair.control for path, pair in chosen.items()}, groups.control)
        swaps = [swap for pair in (*chosen.values(), groups) for swap in pair.swaps()]
        # The longest first: a physical name contains the virtual one.
        swaps.sort(key=lambda swap: -len(swap[0]))
        return Forgery(f"{self._name} v{self._version} {label}", foreign, control, tuple(swaps))

    def _build(self, forged: Mapping[str, Any], group: str) -> Message:
        def give(path: str, field: Field) -> Any:
            if path in forged:
                return forged[path]
            return self._fixed[path] if path in self._fixed else self._default(path, field, group)

        cls = message_class(self._name)
        return _fill(cls, cls, self._schema.fields, "", self._version, give, self._fixed)

    def _pairs(self, path: str, field: Field) -> list[Pair]:  # noqa: C901  # a table
        loot = self._loot
        if self._is_refused:
            return {FieldType.STRING: loot.topics + loot.groups, FieldType.UUID: loot.ids()}.get(
                field.type, []
            )
        match self._entities.get(path):
            case Entity.TOPIC_NAME:
                return loot.topics
            case Entity.GROUP_ID:
                return loot.groups
            case Entity.TRANSACTIONAL_ID:
                return loot.transactions
            case Entity.TOPIC_ID:
                return loot.ids()
            case Entity.COORDINATOR_KEY:
                return loot.transactions if self._fixed.get("KeyType") == 1 else loot.groups
            case Entity.RESOURCE_NAME:
                return loot.groups if self._fixed.get("Resources.ResourceType") == GROUP else loot.topics
            case Entity.TOPIC_REGEX | Entity.TRANSACTIONAL_ID_REGEX:
                return loot.regexes
            case Entity.CLUSTER_ID:
                return loot.cluster_ids
            case Entity.SUBSCRIPTION:
                return [Pair(subscription(one.foreign), subscription(one.control)) for one in loot.topics]
            case Entity.ASSIGNMENT:
                return [Pair(assignment(one.foreign), assignment(one.control)) for one in loot.topics]
        if field.type is FieldType.RECORDS:
            producer, victim = loot.producers[0], loot.victim
            made = [
                build_batch(
                    [b"forged"],
                    producer_id=one,
                    producer_epoch=victim.producer_epoch,
                    base_sequence=1,
                    is_transactional=is_transactional,
                )
                for is_transactional in (False, True)
                for one in (producer.foreign, producer.control)
            ]
            return [Pair(made[0], made[1]), Pair(made[2], made[3])]
        return {
            "MemberId": loot.members,
            "GroupInstanceId": loot.instances,
            "InstanceId": loot.instances,
            "SessionId": loot.sessions,
            "ProducerId": loot.producers,
            "V3AndBelowProducerId": loot.producers,
            "ProducerIdFilters": loot.producers,
        }.get(field.kafka_name, [])

    def _default(self, path: str, field: Field, group: str) -> Any:
        own = self._own
        match self._entities.get(path):
            case Entity.TOPIC_NAME:
                return own.busy_topic if self._name in BUSY else own.topic
            case Entity.GROUP_ID | Entity.COORDINATOR_KEY:
                return own.group if self._name in LIVE_GROUP else group
            case Entity.TRANSACTIONAL_ID:
                return "own-transaction"
            case Entity.TOPIC_ID:
                return own.topic_id
            case Entity.RESOURCE_NAME:
                return group if self._fixed.get("Resources.ResourceType") == GROUP else own.busy_topic
            case Entity.TOPIC_REGEX | Entity.TRANSACTIONAL_ID_REGEX | Entity.CLUSTER_ID:
                return own.topic if field.is_array else None
            case Entity.SUBSCRIPTION:
                return subscription(own.topic)
            case Entity.ASSIGNMENT:
                return assignment(own.topic)
            case Entity.FOLLOWER:
                return bytes(16)
        return _neutral(field, self._version, self._loot)


def _neutral(field: Field, version: int, loot: Loot) -> Any:
    name = field.kafka_name
    if name in TEXTS:
        value = TEXTS[name]
        if value is None and version not in field.nullable:
            return ""
        return value
    match field.type:
        case FieldType.BOOL:
            return BOOLS.get(name, False)
        case FieldType.STRING:
            return "text"
        case FieldType.BYTES:
            return b"bytes"
        case FieldType.RECORDS:
            return build_batch([b"own"])
        case FieldType.UUID:
            return bytes(16)
        case FieldType.FLOAT64:
            return 0.0
    # The victim's own epoch: with another every answer would be about the epoch.
    return loot.victim.producer_epoch if name.endswith("ProducerEpoch") else NUMBERS.get(name, 0)


def _fill(
    message: type[Message],
    cls: type[Any],
    fields: tuple[Field, ...],
    prefix: str,
    version: int,
    give: Callable[[str, Field], Any],
    fixed: Mapping[str, Any],
) -> Any:
    values: dict[str, Any] = {}
    for field in fields:
        if version not in field.versions:
            continue
        path = prefix + field.kafka_name
        if field.type is FieldType.STRUCT:
            if path in fixed:
                values[field.name] = fixed[path]
                continue
            struct = getattr(message, str(field.struct_name))
            value = _fill(message, struct, field.fields, path + ".", version, give, fixed)
        else:
            value = give(path, field)
        if field.is_array and not isinstance(value, list) and value is not None:
            value = [value]
        values[field.name] = value
    return cls(**values)


def _shown(value: Any) -> str:
    return value.hex()[:16] if isinstance(value, bytes) else repr(value)
