"""Typed messages: one class per message of the protocol, over all its versions, built from its schema.

A class has Kafka's fields as slots in snake_case; its structs are classes of their own beneath it, as in
Kafka's `*Data` classes: `FetchRequest.FetchTopic`. What a field of a type holds:

    bool, int8 to int64, float64    bool, int, float
    string                          str
    bytes                           bytes
    uuid                            16 bytes; zero is Kafka's "none"
    records                         bytes | memoryview | None: a run of record batches, not looked into
    []T                             list
    a struct                        an instance of its class
    anything nullable               None besides

The classes know nothing of versions: a field that a version lacks keeps its default, and whether a value can
be written is the engine's to check (`encode`). Code names the classes by wire/messages.py, its counterpart.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar, dataclass_transform

from bifrost.wire.codec import untrack
from bifrost.wire.schema import Field, FieldType, MessageSchema, message_schema

_MODULE = "bifrost.wire.messages"
_UUID_BYTES = 16


@dataclass_transform(kw_only_default=True)
class Struct:
    """A struct inside a message, and all that messages and structs share."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    _constants: ClassVar[tuple[tuple[str, Any], ...]] = ()
    _factories: ClassVar[tuple[tuple[str, Callable[[], Any]], ...]] = ()

    def __init__(self, **values: Any) -> None:
        """Set the fields that are named; the others get Kafka's defaults, lists and structs fresh ones.

        Raises:
            TypeError: the message has no such field.
        """
        for name, default in self._constants:
            setattr(self, name, default)
        for name, make in self._factories:
            if name not in values:
                made = make()
                untrack(made)
                setattr(self, name, made)
        for name, value in values.items():
            if name not in self.__slots__:
                raise TypeError(f"{type(self).__qualname__} has no field {name!r}")
            if type(value) is list:
                untrack(value)  # A message is a tree: nothing in it is part of a cycle.
            setattr(self, name, value)
        untrack(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # messages are changed in place

    def __repr__(self) -> str:
        """Name every field; bytes and records (SASL tokens, data) only by length. Strings are shown."""
        fields = ", ".join(f"{f.name}={_describe(getattr(self, f.name), f.type)}" for f in self.FIELDS)
        return f"{type(self).__qualname__}({fields})"


class Message(Struct):
    """A whole message: a request, a response, a header or an embedded payload."""

    __slots__ = ()

    SCHEMA: ClassVar[MessageSchema]


@cache
def message_class(name: str) -> type[Message]:
    """Give the class of a message by Kafka's name.

    Raises:
        KeyError: there is no such message.
    """
    schema = message_schema(name)
    structs: dict[str, type[Struct]] = {}
    for field in _struct_fields(schema.fields):
        struct_name = str(field.struct_name)
        # A common struct is used more than once in a message: one class.
        if struct_name not in structs:
            namespace = _namespace(f"{name}.{struct_name}", field.fields, structs)
            structs[struct_name] = type(struct_name, (Struct,), namespace)
    namespace = _namespace(name, schema.fields, structs)
    return type(name, (Message,), namespace | structs | {"SCHEMA": schema})


def _struct_fields(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Yield every field that is a struct or an array of them, inner before outer."""
    for field in fields:
        if field.type is FieldType.STRUCT:
            yield from _struct_fields(field.fields)
            yield field


def _namespace(qualname: str, fields: tuple[Field, ...], structs: dict[str, type[Struct]]) -> dict[str, Any]:
    constants: list[tuple[str, Any]] = []
    factories: list[tuple[str, Callable[[], Any]]] = []
    for field in fields:
        if field.default != ():
            constants.append((field.name, field.default))
        else:
            factories.append((field.name, list if field.is_array else structs[str(field.struct_name)]))
    return {
        "__module__": _MODULE,
        "__qualname__": qualname,
        "__slots__": tuple(field.name for field in fields),
        "FIELDS": fields,
        "_constants": tuple(constants),
        "_factories": tuple(factories),
    }


def _describe(value: object, field_type: FieldType) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_describe(item, field_type) for item in value)}]"
    if isinstance(value, bytes | bytearray | memoryview):
        if field_type is FieldType.UUID and len(value) == _UUID_BYTES:
            # As Kafka prints it (org.apache.kafka.common.Uuid).
            return urlsafe_b64encode(value).decode().rstrip("=")
        return f"<{memoryview(value).nbytes} bytes>"
    return repr(value)
