"""A message with every field filled, by what each means: for tests that nothing of the other side shows through.

Strings, bytes and uuids are given by their entity (wire/entity.py), arrays have one element, nullable structs and
tagged fields are there, and numbers are what no filter minds.
"""

from collections.abc import Callable
from typing import Any

from bifrost.wire.entity import Entity
from bifrost.wire.fields.entities import UnclassifiedField, entities_of
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.schema import Field, FieldType, message_schema

Give = Callable[[Entity, Field], Any]
"""Gives the value of a string, bytes or uuid field."""

_NUMBERS: dict[str, Any] = {
    "Acks": -1,  # otherwise there is no response
    "ReplicaId": -1,  # a consumer
    "SessionId": 0,  # none, which is of no tenant
    "ResourceType": 2,  # a topic
}
_TEXTS = {"ProtocolType": "consumer"}
_LENGTHLESS = frozenset({FieldType.STRING, FieldType.BYTES, FieldType.UUID, FieldType.RECORDS})


def sample(name: str, version: int, give: Give) -> Message:
    """Give a message of this version with every field filled; of one that is not classified all are neutral."""
    try:
        entities = entities_of(name, version)
    except UnclassifiedField:
        entities = {}
    cls = message_class(name)
    return _fill(cls, cls, message_schema(name).fields, "", version, entities, give)


def _fill(
    message: type[Message],
    cls: type[Struct],
    fields: tuple[Field, ...],
    prefix: str,
    version: int,
    entities: dict[str, Entity],
    give: Give,
) -> Any:
    values: dict[str, Any] = {}
    for field in fields:
        if version not in field.versions:
            continue
        path = prefix + field.kafka_name
        if field.type is FieldType.STRUCT:
            struct = getattr(message, str(field.struct_name))
            value = _fill(message, struct, field.fields, path + ".", version, entities, give)
        elif field.kafka_name in _TEXTS:
            value = _TEXTS[field.kafka_name]
        elif field.type in _LENGTHLESS:
            value = give(entities.get(path, Entity.NEUTRAL), field)
        else:
            value = _number(field)
        values[field.name] = [value] if field.is_array else value
    return cls(**values)


def _number(field: Field) -> Any:
    if field.kafka_name in _NUMBERS:
        return _NUMBERS[field.kafka_name]
    return True if field.type is FieldType.BOOL else 0
