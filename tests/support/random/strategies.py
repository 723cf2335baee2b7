"""Hypothesis strategies that follow the schema: messages of any name and version, valid for that version.

A field that a version lacks keeps its default; everything that it has may be drawn, nulls and tagged fields too.
"""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.schema import Field, FieldType, all_schemas, message_schema

MAX_ELEMENTS = 3
"""Elements of an array: enough to tell one from several, and structs nest five deep."""

_LARGE_RECORDS = bytes(range(256)) * 20
"""Above the 4096 bytes from which on the engine slices instead of copying."""

_SCALARS: dict[FieldType, st.SearchStrategy[Any]] = {
    FieldType.BOOL: st.booleans(),
    FieldType.INT8: st.integers(-(2**7), 2**7 - 1),
    FieldType.INT16: st.integers(-(2**15), 2**15 - 1),
    FieldType.UINT16: st.integers(0, 2**16 - 1),
    FieldType.INT32: st.integers(-(2**31), 2**31 - 1),
    FieldType.UINT32: st.integers(0, 2**32 - 1),
    FieldType.INT64: st.integers(-(2**63), 2**63 - 1),
    FieldType.FLOAT64: st.floats(allow_nan=False),
    FieldType.UUID: st.binary(min_size=16, max_size=16) | st.just(bytes(16)),
    FieldType.STRING: st.text(max_size=12) | st.just("n" * 200),
    FieldType.BYTES: st.binary(max_size=12),
    FieldType.RECORDS: st.binary(max_size=12) | st.just(_LARGE_RECORDS),
}


def all_versions() -> list[tuple[str, int]]:
    """Give (name, version) of every version of every message in the table."""
    return [(schema.name, version) for schema in all_schemas() for version in schema.versions]


@cache
def messages(name: str, version: int) -> st.SearchStrategy[Message]:
    """Draw messages that can be written at `version`."""
    cls = message_class(name)
    return _structs(cls, cls, message_schema(name).fields, version)


def _structs(
    cls: type[Struct], message: type[Message], fields: tuple[Field, ...], version: int
) -> st.SearchStrategy[Any]:
    present = {field.name: _values(field, message, version) for field in fields if version in field.versions}
    return st.builds(cls, **present)


def _values(field: Field, message: type[Message], version: int) -> st.SearchStrategy[Any]:
    values = _SCALARS.get(field.type)
    if values is None:
        values = _structs(getattr(message, str(field.struct_name)), message, field.fields, version)
    if field.is_array:
        values = st.lists(values, max_size=MAX_ELEMENTS)
    if version in field.nullable:
        values = st.none() | values
    if field.is_tagged(version) and field.default != ():
        values = st.just(field.default) | values
    return values
