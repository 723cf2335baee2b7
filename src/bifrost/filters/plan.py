"""Decides once per (API key, version) how messages are treated.

    in place   the engine replaces the entities in the bytes (most messages; none to replace is the cheapest case)
    decode     a typed message goes through the filters, because some field needs more than a look-up
    refuse     there is no plan: the API or the version is not wholly classified, or not served

A message that is usually handled in place may still need decoding: because of an unknown tagged field, an address in a
leader hint, a foreign name in an answer. Then the same filters run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import cast

from bifrost.filters.filter import AnyFilter
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import Layout
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import ANSWERED, REFUSED, engine_slots, entities_of, served_versions
from bifrost.wire.program import (
    SLOT_DECODE,
    SLOT_PARTITION,
    SLOT_USUAL,
    SLOT_WAY,
    Passage,
    Peek,
    Program,
    Usually,
    peek,
)
from bifrost.wire.programs import IF_USUAL, compile_layout, compile_peek, compile_program
from bifrost.wire.schema import (
    MessageSchema,
    begins_with_throttle,
    has_throttle,
    request_schema,
    response_schema,
)

_RECORDS: Mapping[str, tuple[str, str]] = {
    "ProduceRequest": ("TopicData.PartitionData.Index", "TopicData.PartitionData.Records"),
    "FetchResponse": ("Responses.Partitions.PartitionIndex", "Responses.Partitions.Records"),
}
"""Where a message has the partition of its records, and these."""

_PLACES: Mapping[str, Mapping[str, int]] = {
    "ProduceRequest": dict(zip(_RECORDS["ProduceRequest"], (SLOT_PARTITION, SLOT_WAY), strict=True)),
    "ProduceResponse": {"Responses.PartitionResponses.Index": SLOT_PARTITION},
}


@dataclass(frozen=True, slots=True)
class Direction:
    """One message of a plan: how to treat its bytes."""

    message: str
    version: int
    is_flexible_header: bool
    """Whether the header ends in tagged fields (request header v2, response header v1)."""
    program: Program | None
    """For the engine; None when the message must be decoded."""
    slots: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What the program was compiled with, if there is one."""

    def with_ways(self) -> "Direction":
        """Return the same message for names of which some have a RecordWay, if it carries records past the engine."""
        places = _RECORDS.get(self.message)
        if places is None or self.program is None:
            return self
        slots = {**self.slots, **dict(zip(places, (SLOT_PARTITION, SLOT_WAY), strict=True))}
        return replace(self, program=compile_program(self.message, self.version, slots), slots=slots)

    def with_places(self) -> "Direction":
        """Return the same message for names of which some have a RecordWay with places, if it has partitions that the
        client has written to."""
        places = _PLACES.get(self.message)
        if places is None or self.program is None:
            return self
        slots = {**self.slots, **places}
        return replace(self, program=compile_program(self.message, self.version, slots), slots=slots)

    @property
    def layout(self) -> Layout:
        """For decode and encode; compiled when first needed, which for most messages is never."""
        return compile_layout(self.message, self.version)

    @property
    def codes(self) -> Program:
        """For `error_codes`; likewise compiled when first needed."""
        return compile_program(self.message, self.version, {})


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens to the requests of one API and version, and to their responses."""

    api_key: int
    api_version: int
    request: Direction
    response: Direction
    filters: tuple[AnyFilter, ...]
    is_refused: bool
    """Whether the filters answer every request; then nothing of it is translated, and nothing goes to the broker."""
    request_peek: "PeekFields | None" = None
    """Reads the fields in `PEEKED_FIELDS` from a request without decoding it."""
    response_peek: "PeekFields | None" = None
    drops_trailing: bool = False
    """Whether bytes behind the body of a request are dropped; everywhere else they are malformed."""
    owned: Program | None = None
    """For `prune`: where a response that may list the entities of all tenants has the name of each."""
    owned_entity: Entity = Entity.TOPIC_NAME
    """The kind of entity at that place."""
    has_throttle: bool = False
    """Whether its response can tell a client to wait (`throttle_time_ms`, KIP-219)."""
    begins_with_throttle: bool = False
    """Whether that is the first field of the response's body, which the engine can overwrite where it stands."""
    carries_records: bool = False
    """Whether requests are decoded for the sake of the records in them, however large they are."""
    passage: Passage = field(init=False)
    """Both directions for the engine's hot path."""

    def __post_init__(self) -> None:
        """Make the Passage for the engine."""
        passage = Passage(
            None if self.is_refused else self.request.program,
            None if self.is_refused else self.response.program,
            self.request.is_flexible_header,
            self.response.is_flexible_header,
            self.request_peek,
            self.response_peek,
            None if self.request_peek is None else self.request_peek.compiled,
            None if self.response_peek is None else self.response_peek.compiled,
            drops_trailing=self.drops_trailing,
            has_throttle=self.has_throttle,
            begins_with_throttle=self.begins_with_throttle,
        )
        object.__setattr__(self, "passage", passage)


_OWNED: Mapping[str, tuple[str, Entity]] = {
    "MetadataResponse": ("Topics.Name", Entity.TOPIC_NAME),
    "ListGroupsResponse": ("Groups.GroupId", Entity.GROUP_ID),
    "ListTransactionsResponse": ("TransactionStates.TransactionalId", Entity.TRANSACTIONAL_ID),
}
"""Lists of all tenants' entities: decoding ten thousand foreign topics to find two of the tenant's takes a second."""

_TRAILING_SINCE = 9
"""librdkafka 2.16 leaves three bytes behind the body when it asks for all topics by Metadata v9 or later. A broker
ignores such bytes in every request; the gateway drops or refuses them, so that no client can hide data there."""

PEEKED_FIELDS: Mapping[str, Mapping[str, Usually]] = {
    "ProduceRequest": {"Acks": Usually.NOT_ZERO},
    "FetchRequest": {
        "ReplicaId": Usually.NEGATIVE,
        "SessionId": Usually.KNOWN,
        "SessionEpoch": Usually.ANYTHING,
    },
    "FetchResponse": {"SessionId": Usually.KNOWN},
}
"""Fields that the engine reads from every message of a kind; a field that the version lacks reads as its default. Where
all have their usual value the engine passes the message on without asking; otherwise it asks the session
(`FetchOwnership`), which tells it the fetch session that the connection uses from then on (KNOWN)."""


@dataclass(frozen=True, slots=True)
class PeekFields:
    """Reads the fields of one message at one version."""

    compiled: Peek
    before: tuple[int, ...]
    """The defaults of the fields that the version lacks, before those that it has."""
    after: tuple[int, ...]

    def __call__(self, frame: bytes | memoryview, offset: int) -> tuple[int, ...]:
        """Return the fields of the message whose body begins at `offset`.

        Raises:
            MalformedFrame: the frame ends before.
        """
        return (*self.before, *peek(self.compiled, frame, offset), *self.after)


class Plans:
    """All plans, made when first needed."""

    def __init__(
        self,
        filters: Mapping[int, tuple[AnyFilter, ...]],
        decoded: frozenset[str],
        unless_usual: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        guarded: "Callable[[], Plans] | None" = None,
    ) -> None:
        """Start without plans, to be made with these filters.

        Args:
            filters: by API key, in the order in which a request meets them.
            decoded: messages that a filter always wants to see decoded.
            unless_usual: by message, the fields because of which a filter needs it decoded: numbers that are not their
                default, arrays and names that are null, topic IDs that are not zero.
            guarded: makes the plans for clients that ACLs apply to, when the first one comes; None: these.
        """
        self._make_guarded = guarded or (lambda: self)
        self._filters = filters
        self._decoded = decoded
        self._unless_usual = unless_usual
        self._plans: dict[tuple[int, int], Plan | None] = {}

    @cached_property
    def guarded(self) -> "Plans":
        """The plans for clients that ACLs apply to."""
        return self._make_guarded()

    def plan_for(self, api_key: int, api_version: int) -> Plan | None:
        """Return the plan, or None when the request is to be refused."""
        key = (api_key, api_version)
        if key not in self._plans:
            versions = served_versions(api_key)
            if versions is None or api_version not in versions:
                return None  # Not remembered: clients choose the pairs, so their number has no bound.
            self._plans[key] = self._make(api_key, api_version)
        return self._plans[key]

    def _make(self, api_key: int, api_version: int) -> Plan:
        request, response = request_schema(api_key), response_schema(api_key)
        filters = self._filters.get(api_key, ())
        if api_key not in REFUSED:
            _check_coverage(filters, request.name, response.name, api_version)
        return Plan(
            api_key=api_key,
            api_version=api_version,
            request=self._direction(request, api_version, request.request_header_version(api_version) >= 2),
            response=self._direction(
                response, api_version, response.response_header_version(api_version) >= 1
            ),
            filters=filters,
            is_refused=api_key in REFUSED,
            request_peek=_peek_fields(request, api_version),
            response_peek=_peek_fields(response, api_version),
            owned=_owned_program(response.name, api_version),
            owned_entity=_OWNED.get(response.name, ("", Entity.TOPIC_NAME))[1],
            has_throttle=has_throttle(response.fields, api_version),
            begins_with_throttle=begins_with_throttle(response.fields, api_version),
            drops_trailing=api_key == ApiKey.METADATA and api_version >= _TRAILING_SINCE,
        )

    def _direction(self, schema: MessageSchema, version: int, is_flexible_header: bool) -> Direction:
        program, slots = None, dict[str, int]()
        if (
            schema.api_key not in REFUSED | ANSWERED
            and schema.name not in self._decoded
            and not _needs_decoding(schema, version)
        ):
            slots = engine_slots(schema.name, version)
            for path in self._unless_usual.get(schema.name, ()):
                slots[path] = slots[path] | IF_USUAL if path in slots else SLOT_USUAL
            program = compile_program(schema.name, version, slots)
        return Direction(schema.name, version, is_flexible_header, program, slots)


def _check_coverage(filters: tuple[AnyFilter, ...], request: str, response: str, version: int) -> None:
    """Fail closed: some filter must handle each entity that the engine does not replace in place."""
    handled = frozenset[Entity]().union(*(one.ENTITIES for one in filters))
    for message in (request, response):
        for path, entity in entities_of(message, version).items():
            assert entity.is_in_place or entity in handled, (
                f"{message}.{path}: no filter handles {entity.name}"
            )


def _needs_decoding(schema: MessageSchema, version: int) -> bool:
    """Whether an untagged field cannot be handled in place. Tagged fields are rare: the engine reports them."""
    return any(
        slot == SLOT_DECODE and not _is_tagged(schema, path, version)
        for path, slot in engine_slots(schema.name, version).items()
    )


def _is_tagged(schema: MessageSchema, path: str, version: int) -> bool:
    fields = schema.fields
    for name in path.split("."):
        field = next(one for one in fields if one.kafka_name == name and version in one.versions)
        if version in field.tagged:
            return True
        fields = field.fields
    return False


def _peek_fields(schema: MessageSchema, version: int) -> PeekFields | None:
    names = PEEKED_FIELDS.get(schema.name)
    if names is None:
        return None
    fields = [field for field in schema.fields if field.kafka_name in names]
    present = [field.kafka_name for field in fields if version in field.versions]
    first = next((place for place, field in enumerate(fields) if version in field.versions), len(fields))
    before = tuple(cast(int, field.default) for field in fields[:first])
    after = tuple(cast(int, field.default) for field in fields[first + len(present) :])
    return PeekFields(
        compile_peek(schema.name, version, {name: names[name] for name in present}), before, after
    )


def _owned_program(message: str, version: int) -> Program | None:
    owned = _OWNED.get(message)
    return None if owned is None else compile_program(message, version, {owned[0]: 1})
