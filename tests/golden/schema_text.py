"""What a message looks like on the wire at one version, as text: by our table, and by Kafka's own `SCHEMAS`.

Random messages are made from our table and would never show a tagged field or a null that it does not know of:
so the two texts are compared besides. They look like this, with `?` for what may be null:

    {topics:COMPACT_ARRAY?({name:COMPACT_STRING,<>}),<0=epoch:INT32>}

Source: org.apache.kafka.common.protocol.types.
"""

from collections.abc import Sequence
from typing import Any

from bifrost.wire.schema import Field, FieldType, MessageSchema

JAVA_TYPES = {FieldType.BOOL: "BOOLEAN", FieldType.UINT32: "UNSIGNED_INT32"}
"""Where Kafka's classes have another name than its definitions."""
WITH_LENGTH = {FieldType.STRING, FieldType.BYTES, FieldType.RECORDS}


def schema_text(schema: MessageSchema, version: int) -> str:
    """Describe a message by our table."""
    return _fields_text(schema.fields, version, schema.is_flexible(version))


def _fields_text(fields: Sequence[Field], version: int, flexible: bool) -> str:
    present = [field for field in fields if version in field.versions]
    tagged = sorted((field.tag or 0, field) for field in present if field.is_tagged(version))
    texts = [_field_text(field, version, flexible) for field in present if not field.is_tagged(version)]
    if flexible:
        tags = [f"{tag}={_field_text(field, version, flexible)}" for tag, field in tagged]
        texts.append(f"<{','.join(tags)}>")
    return f"{{{','.join(texts)}}}"


def _field_text(field: Field, version: int, flexible: bool) -> str:
    is_compact = flexible if field.flexible is None else version in field.flexible
    compact = "COMPACT_" if is_compact else ""
    text = JAVA_TYPES.get(field.type, field.type.name)
    if field.type in WITH_LENGTH:
        text = compact + text
    elif field.type is FieldType.STRUCT:
        text = _fields_text(field.fields, version, flexible)
    null = "?" if version in field.nullable else ""
    return f"{field.name}:{compact}ARRAY{null}({text})" if field.is_array else f"{field.name}:{text}{null}"


def java_schema_text(java_type: Any) -> str:
    """Describe a type of Kafka's, a message's `SCHEMAS[version]` to begin with."""
    null = "?" if java_type.isNullable() else ""
    kind = str(java_type.getClass().getSimpleName())
    if kind in ("Schema", "NullableSchema"):
        texts = [_java_field_text(bound.def_) for bound in java_type.fields()]
        return f"{{{','.join(texts)}}}{null}"
    name = str(java_type.typeName()).replace("NULLABLE_", "")
    if java_type.isArray():
        return f"{name}{null}({java_schema_text(java_type.arrayElementType().get())})"
    return name + null


def _java_field_text(field: Any) -> str:
    if str(field.type.getClass().getSimpleName()) != "TaggedFields":
        return f"{field.name}:{java_schema_text(field.type)}"
    # Kafka 3.9 has no accessor for it.
    known = field.type.getClass().getDeclaredField("fields")
    known.setAccessible(True)
    tags = [f"{e.getKey()}={_java_field_text(e.getValue())}" for e in known.get(field.type).entrySet()]
    return f"<{','.join(tags)}>"
