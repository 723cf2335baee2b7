"""Makes the program of an Avro schema, by which compiled code checks payloads."""

from collections.abc import Mapping, Sequence
from typing import Any

from bifrost.schemas import avro_check as avro

PRIMITIVES = {
    "null": avro.NULL_TYPE,
    "boolean": avro.BOOLEAN,
    "int": avro.INT,
    "long": avro.LONG,
    "float": avro.FLOAT,
    "double": avro.DOUBLE,
    "bytes": avro.BYTES,
    "string": avro.STRING,
}
"""The kinds of the types without parts, by their names in a schema."""

MAX_NODES = 100_000
"""Most types of one schema with its references: more is no schema that people write."""


class TooManyTypes(ValueError):
    """A schema has more than MAX_NODES types."""


class _Lists:
    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.firsts: list[int] = []
        self.counts: list[int] = []
        self.children: list[int] = []
        self.named: dict[str, int] = {}

    def add(self, kind: int, count: int = 0) -> int:
        if len(self.kinds) >= MAX_NODES:
            raise TooManyTypes(f"more than {MAX_NODES} types")
        self.kinds.append(kind)
        self.firsts.append(0)
        self.counts.append(count)
        return len(self.kinds) - 1


def avro_program(schema: Any, named: Mapping[str, Any]) -> avro.AvroProgram:
    """Return the program of a schema.

    Args:
        schema: as `fastavro.parse_schema` returns it: checked, with full names.
        named: likewise the named types that it refers to, by their full names.
    Raises:
        TooManyTypes, KeyError, RecursionError: it cannot be used.
    """
    lists = _Lists()
    _add(lists, schema, named)
    return avro.AvroProgram(lists.kinds, lists.firsts, lists.counts, lists.children)


def _add(lists: _Lists, schema: Any, named: Mapping[str, Any]) -> int:
    if isinstance(schema, list):
        return _with_children(lists, lists.add(avro.UNION), schema, named)
    if isinstance(schema, str):
        if schema in PRIMITIVES:
            return lists.add(PRIMITIVES[schema])
        known = lists.named.get(schema)
        return _add(lists, named[schema], named) if known is None else known
    kind = schema["type"]
    if kind in ("record", "error", "fixed", "enum"):
        return _add_named(lists, schema, kind, named)
    if kind == "array":
        return _with_children(lists, lists.add(avro.ARRAY), [schema["items"]], named)
    if kind == "map":
        return _with_children(lists, lists.add(avro.MAP), [schema["values"]], named)
    return _add(lists, kind, named)


def _add_named(lists: _Lists, schema: Any, kind: str, named: Mapping[str, Any]) -> int:
    known = lists.named.get(schema["name"])
    if known is not None:
        return known
    if kind == "fixed":
        place = lists.add(avro.FIXED, schema["size"])
    elif kind == "enum":
        place = lists.add(avro.ENUM, len(schema["symbols"]))
    else:
        place = lists.add(avro.RECORD)
    lists.named[schema["name"]] = place
    if lists.kinds[place] == avro.RECORD:
        _with_children(lists, place, [field["type"] for field in schema["fields"]], named)
    return place


def _with_children(lists: _Lists, place: int, schemas: Sequence[Any], named: Mapping[str, Any]) -> int:
    children = [_add(lists, one, named) for one in schemas]
    lists.firsts[place], lists.counts[place] = len(lists.children), len(children)
    lists.children += children
    return place
