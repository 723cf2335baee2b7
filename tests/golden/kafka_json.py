"""Our messages in the JSON form of Kafka's `*JsonConverter` classes, and the names in them.

Kafka's form: names in camelCase, bytes in base64, UUIDs in base64 for URLs, null as null; a tagged field at its
default is left out, and so is what the version lacks; of records only the size is told.

Source: JsonConverterGenerator of Kafka's message generator, with serializeRecords off (KIP-673).
"""

from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from bifrost.wire.fields.entities import walk_fields
from bifrost.wire.message import Message, Struct
from bifrost.wire.schema import Field, FieldType, message_schema

SLOTS = {FieldType.STRING: 1, FieldType.UUID: 4}
"""The engine's slot that the oracle gives to every string and to every UUID."""
ZERO_UUID = bytes(16)
_LONG_NAME = 0x7000


def json_name(field: Field) -> str:
    """Give Kafka's name of a field in JSON."""
    return field.kafka_name[0].lower() + field.kafka_name[1:]


def to_kafka_json(message: Message, version: int) -> dict[str, Any]:
    """Write a message as Kafka would.

    A field that the version lacks shows if it is not at its default, which Kafka's JSON never has.
    """
    return _struct_to_json(message, message.SCHEMA.fields, version)


def _struct_to_json(struct: Struct, fields: Sequence[Field], version: int) -> dict[str, Any]:
    node: dict[str, Any] = {}
    for field in fields:
        value = getattr(struct, field.name)
        is_optional = version not in field.versions or field.is_tagged(version)
        if is_optional and is_default(field, value):
            continue
        if field.type is FieldType.RECORDS and value is not None:
            node[json_name(field) + "SizeInBytes"] = len(value)
        elif isinstance(value, list):
            node[json_name(field)] = [_value_to_json(item, field, version) for item in value]
        else:
            node[json_name(field)] = _value_to_json(value, field, version)
    return node


def _value_to_json(value: Any, field: Field, version: int) -> Any:
    if value is None:
        return None
    if field.type is FieldType.STRUCT:
        return _struct_to_json(value, field.fields, version)
    if field.type is FieldType.UUID:
        return urlsafe_b64encode(value).decode().rstrip("=")
    return b64encode(value).decode() if field.type is FieldType.BYTES else value


def is_default(field: Field, value: Any) -> bool:
    """Say whether a value is what the field is when it is absent."""
    if field.default != ():
        return bool(value == field.default)
    return bool(value == [] if field.is_array else value == type(value)())


@cache
def name_slots(message: str, version: int) -> dict[str, int]:
    """Give slots to all strings and UUIDs that a message has at a version."""
    fields = walk_fields(message_schema(message).fields, version)
    return {path: SLOTS[field.type] for path, field in fields if field.type in SLOTS}


def names_on_wire(message: Message, version: int) -> list[tuple[int, bytes]] | None:
    """Give (slot, name) of all that has to be looked up, in the order of the wire.

    None: a tagged field that is there could hold one, and the engine leaves that to decoding.
    """
    try:
        return list(_names(message, message.SCHEMA.fields, version))
    except LookupError:
        return None


def _names(struct: Struct, fields: Sequence[Field], version: int) -> Iterator[tuple[int, bytes]]:
    for field in fields:
        value = getattr(struct, field.name)
        if version not in field.versions or value is None:
            continue
        if field.is_tagged(version):
            if holds_names(field, version) and not is_default(field, value):
                raise LookupError(field.name)
            continue
        for item in value if field.is_array else [value]:
            if field.type is FieldType.STRUCT:
                yield from _names(item, field.fields, version)
            elif field.type is FieldType.STRING:
                yield SLOTS[field.type], item.encode()
            elif field.type is FieldType.UUID and item != ZERO_UUID:
                yield SLOTS[field.type], item


def holds_names(field: Field, version: int) -> bool:
    """Say whether a field is a string or a UUID, or a struct with one in it."""
    return field.type in SLOTS or any(inner.type in SLOTS for _, inner in walk_fields(field.fields, version))


def records_in(message: Message) -> list[bytes | None]:
    """Give the records of a message, in the order of its fields."""
    return [None if value is None else bytes(value) for value in _records(message, message.SCHEMA.fields)]


def _records(struct: Struct, fields: Sequence[Field]) -> Iterator[bytes | memoryview | None]:
    for field in fields:
        value = getattr(struct, field.name)
        if field.type is FieldType.RECORDS:
            yield value
        elif field.type is FieldType.STRUCT and value is not None:
            for item in value if field.is_array else [value]:
                yield from _records(item, field.fields)


def other_name(slot: int, name: bytes) -> bytes:
    """Give what the oracle calls a name on the other side: mostly longer, sometimes shorter, UUIDs reversed."""
    if slot == SLOTS[FieldType.UUID]:
        return name[::-1]
    return b"acme." + name if len(name) < _LONG_NAME else b"short"


def with_other_names(node: Any, fields: Sequence[Field], version: int) -> Any:
    """Copy a message in Kafka's JSON form with all names changed but those in tagged fields."""
    changed = dict(node)
    for field in fields:
        value = changed.get(json_name(field))
        if value is None or field.is_tagged(version):
            continue
        if field.is_array:
            changed[json_name(field)] = [_with_other_name(item, field, version) for item in value]
        else:
            changed[json_name(field)] = _with_other_name(value, field, version)
    return changed


def _with_other_name(value: Any, field: Field, version: int) -> Any:
    if field.type is FieldType.STRUCT:
        return with_other_names(value, field.fields, version)
    if field.type is FieldType.STRING:
        return other_name(SLOTS[field.type], value.encode()).decode()
    if field.type is FieldType.UUID:
        name = urlsafe_b64decode(value + "==")
        return urlsafe_b64encode(other_name(SLOTS[field.type], name)).decode().rstrip("=")
    return value
