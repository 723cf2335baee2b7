"""What is counted in each message for the journal, compiled for the engine (usage.pyx).

Which topics, groups and transactional IDs a request names; of Produce its acks and record batches; of a response its
error codes and throttle time, and the records of those that carry some. As everywhere the schema says where that is.
The walk ends behind the last of it.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from bifrost.journal.usage import Tally
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import REFUSED, entities_of
from bifrost.wire.programs import ProgramWriter
from bifrost.wire.reader import Kind
from bifrost.wire.schema import Field, FieldType, MessageSchema, request_schema, response_schema

FETCHES = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH})
"""APIs whose responses say which topics were read: with a fetch session the requests need not (KIP-227)."""

_RECORDS, _ERROR, _THROTTLE, _ACKS, _TYPE = 2, 3, 5, 6, 7
_NUMBERS = {
    "ErrorCode": (Kind.INT16, FieldType.INT16, _ERROR),
    "AcknowledgeErrorCode": (Kind.INT16, FieldType.INT16, _ERROR),
    "ThrottleTimeMs": (Kind.INT32, FieldType.INT32, _THROTTLE),
    "Acks": (Kind.INT16, FieldType.INT16, _ACKS),
    "KeyType": (Kind.INT8, FieldType.INT8, _TYPE),
    "ResourceType": (Kind.INT8, FieldType.INT8, _TYPE),
}
_TOPICS = {Entity.TOPIC_NAME: int(Entity.TOPIC_NAME), Entity.TOPIC_ID: int(Entity.TOPIC_ID)}
_OTHERS = {
    Entity.GROUP_ID: int(Entity.GROUP_ID),
    Entity.TRANSACTIONAL_ID: int(Entity.TRANSACTIONAL_ID),
    # What these are says a type beside them.
    Entity.COORDINATOR_KEY: 7,
    Entity.RESOURCE_NAME: 8,
}
"""Engine's slots of what is counted by name."""


@cache
def request_tally(api_key: int, version: int) -> Tally | None:
    """Return what is counted in the requests of a version that the schema has; None: nothing within them."""
    schema = request_schema(api_key)
    named = _slots(schema, version, _OTHERS if api_key in FETCHES else _TOPICS | _OTHERS)
    if api_key == ApiKey.FIND_COORDINATOR and version == 0:
        named = {"Key": int(Entity.GROUP_ID)}  # It has no type yet.
    numbers = {"Acks"} if api_key == ApiKey.PRODUCE else {"KeyType", "ResourceType"}
    return _compile(schema, version, named, numbers) if named else None


@cache
def response_tally(api_key: int, version: int) -> Tally | None:
    """Return what is counted in the responses; None: nothing within them."""
    schema = response_schema(api_key)
    numbers = {"ErrorCode", "AcknowledgeErrorCode", "ThrottleTimeMs"}
    return _compile(schema, version, _slots(schema, version, _TOPICS), numbers)


def _slots(schema: MessageSchema, version: int, slots: Mapping[Entity, int]) -> dict[str, int]:
    """Return the engine's slot of every field that names one of these entities."""
    if schema.api_key in REFUSED:
        return {}  # Their fields have no classification: no such request goes to a broker.
    entities = entities_of(schema.name, version).items()
    return {path: slots[one] for path, one in entities if one in slots}


def _compile(schema: MessageSchema, version: int, named: dict[str, int], numbers: set[str]) -> Tally | None:
    writer = _TallyWriter(version, schema.is_flexible(version), named, numbers)
    wanted = [
        index
        for index, field in enumerate(schema.fields)
        if version in field.versions
        and not field.is_tagged(version)
        and writer.wants(field, field.kafka_name)
    ]
    if not wanted:
        return None
    writer.front(schema.fields[: wanted[-1] + 1])
    return writer.tally()


class _TallyWriter(ProgramWriter):
    """Writes a program in which numbers and records have slots too."""

    def __init__(self, version: int, flexible: bool, named: Mapping[str, int], numbers: set[str]) -> None:
        super().__init__(version, flexible, named)
        self._named, self._numbers = named, numbers

    def wants(self, field: Field, path: str) -> bool:
        """Whether there is something to count in a field."""
        if field.type is FieldType.STRUCT:
            within = [one for one in field.fields if self._version in one.versions]
            return any(self.wants(one, f"{path}.{one.kafka_name}") for one in within)
        return path in self._named or self._mark(field) is not None

    def front(self, fields: Sequence[Field]) -> None:
        """Write the first fields of the message."""
        for field in fields:
            if self._version in field.versions and not field.is_tagged(self._version):
                self.value(field, field.kafka_name)

    def tally(self) -> Tally:
        """Return what was written."""
        return Tally(*self.finished())

    def scalar(self, field: Field, path: str, *, nullable: bool) -> None:
        """Write a field, with its slot if it is counted."""
        mark = self._mark(field)
        if mark is None:
            super().scalar(field, path, nullable=nullable)
        elif mark[0] is Kind.BYTES:
            super().scalar(field, path, nullable=nullable)
            kind, flags, _, a, b = self.ops[-1]
            self.ops[-1] = (kind, flags, mark[1], a, b)
        else:
            self.emit(mark[0], slot=mark[1])

    def _mark(self, field: Field) -> tuple[Kind, int] | None:
        if field.type is FieldType.RECORDS:
            return Kind.BYTES, _RECORDS
        known = _NUMBERS.get(field.kafka_name) if field.kafka_name in self._numbers else None
        if known is None or known[1] is not field.type or field.is_array:
            return None
        return known[0], known[2]
