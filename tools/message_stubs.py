"""Type stubs of the message classes: what wire/message.py builds at run time, for editors and mypy.

A class lists its fields, one line each; the constructor's keywords follow from them (PEP 681: `Struct` is a
`dataclass_transform`). Structs are nested in their message and named in full, as a class body in Python does
not see the names of the class around it.
"""

from collections.abc import Iterator, Sequence

from bifrost.wire.schema import Field, FieldType, MessageSchema
from java_enums import HEADER

_IMPORTS = """
from bifrost.wire.message import Message, Struct
"""

_TYPES = {
    FieldType.BOOL: "bool",
    FieldType.FLOAT64: "float",
    FieldType.UUID: "bytes",
    FieldType.STRING: "str",
    FieldType.BYTES: "bytes",
    FieldType.RECORDS: "bytes | memoryview",
}


def write_stubs(schemas: Sequence[MessageSchema]) -> str:
    """Write the module's stub, messages by name."""
    blocks = ["\n".join(_message(schema)) for schema in sorted(schemas, key=lambda schema: schema.name)]
    return "\n".join([HEADER + _IMPORTS, *blocks, ""])


def _message(schema: MessageSchema) -> Iterator[str]:
    yield f"class {schema.name}(Message):"
    for name, fields in _structs(schema.fields).items():
        yield f"    class {name}(Struct):"
        yield from (f"        {line}" for line in _attributes(schema.name, fields))
    yield from (f"    {line}" for line in _attributes(schema.name, schema.fields))


def _attributes(message: str, fields: Sequence[Field]) -> Iterator[str]:
    for field in fields:
        yield f"{field.name}: {_type(message, field)} = ..."
    if not fields:
        yield "..."


def _structs(fields: Sequence[Field]) -> dict[str, Sequence[Field]]:
    found: dict[str, Sequence[Field]] = {}
    for field in fields:
        if field.struct_name:
            found |= {field.struct_name: field.fields} | _structs(field.fields)
    return found


def _type(message: str, field: Field) -> str:
    element = f"{message}.{field.struct_name}" if field.struct_name else _TYPES.get(field.type, "int")
    is_nullable = field.nullable or field.default is None
    return (f"list[{element}]" if field.is_array else element) + (" | None" if is_nullable else "")
