"""Finds in an Avro schema the fields that paths or tags lead to, and makes the program that replaces them.

A type may stand at several places, so the same type has a node for each set of paths that are under way there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from bifrost.schemas import avro_check as avro
from bifrost.schemas.avro_program import PRIMITIVES
from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking.avro_masker import NO_TARGET
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bifrost.transforms.masking.field_path import Path

TAGS: Final = "confluent:tags"
"""What a schema says of a field: a list of texts."""
MAX_NODES: Final = 20_000
"""Most types of one schema at all places where other fields are looked for: more is no schema that people write."""

Active = frozenset[tuple[int, int]]
"""The paths that are under way: which one, and how many of its names led here."""


class Targets(Protocol):
    """What is made of a field."""

    def place(self, fields: AvroFields, schema: Any, path: int) -> int:
        """Return the node of a field.

        Args:
            fields: what adds nodes.
            schema: the type of the field: a text, a list or a dictionary.
            path: which path led there; TAGGED: a tag did.
        Raises:
            SchemaError: it cannot be replaced.
        """


TAGGED: Final = -1


class AvroFields:
    """The program of one schema."""

    def __init__(
        self,
        schema: Any,
        named: Mapping[str, Any],
        paths: Sequence[Path],
        tags: frozenset[str],
        targets: Targets,
    ) -> None:
        """Find the fields.

        Args:
            schema: as `fastavro.parse_schema` returns it: checked, with full names.
            named: likewise the named types that it refers to, by their full names.
            paths: those of the fields.
            tags: fields that have one of these.
            targets: what is made of them.
        Raises:
            SchemaError: it has too many types, or a field that cannot be replaced.
        """
        self.nodes: list[tuple[int, int, int, int]] = []
        self.children: list[tuple[int, bytes | None]] = []
        self.forms: list[Any] = []
        self._named, self._paths, self._tags, self._targets = named, paths, tags, targets
        self._known: dict[tuple[object, ...], int] = {}
        try:
            self.root = self.place(schema, frozenset((at, 0) for at in range(len(paths))))
        except (KeyError, RecursionError) as error:
            raise SchemaError(f"its fields cannot be found ({type(error).__name__})") from None

    def resolved(self, schema: Any) -> tuple[Any, bool]:
        """Return what a type is, the name of a primitive, a list of branches or a dictionary; and if it has a tag."""
        is_tagged = False
        while True:
            if isinstance(schema, str):
                if schema in PRIMITIVES:
                    return schema, is_tagged
                schema = self._named[schema]
            if isinstance(schema, list):
                return schema, is_tagged
            is_tagged = is_tagged or has_tag(schema, self._tags)
            inner = schema["type"]
            if isinstance(inner, str) and inner not in PRIMITIVES and inner not in self._named:
                return schema, is_tagged
            schema = inner

    def add(self, kind: int, count: int = 0, target: int = NO_TARGET) -> int:
        """Add a node, and return its place.

        Raises:
            SchemaError: there are too many.
        """
        if len(self.nodes) >= MAX_NODES:
            raise SchemaError(f"it has more than {MAX_NODES} types where fields are looked for")
        self.nodes.append((kind, 0, count, target))
        return len(self.nodes) - 1

    def give(self, place: int, children: Sequence[tuple[int, bytes | None]]) -> None:
        """Give a node its children."""
        kind, _, _, target = self.nodes[place]
        self.nodes[place] = (kind, len(self.children), len(children), target)
        self.children += children

    def target(self, schema: Any, form: object) -> int:
        """Return a node whose values are replaced whole."""
        kind, first, count, _ = self.nodes[self.place(schema, frozenset(), looks=False)]
        self.forms.append(form)
        place = self.add(kind, count, len(self.forms) - 1)
        self.nodes[place] = (kind, first, count, len(self.forms) - 1)
        return place

    def place(self, schema: Any, active: Active, *, looks: bool = True) -> int:
        """Return the node of a type.

        Args:
            schema: the type.
            active: the paths that are under way there.
            looks: whether fields are looked for.
        """
        found, is_tagged = self.resolved(schema)
        if looks and is_tagged:
            return self._targets.place(self, found, TAGGED)
        kind = found if isinstance(found, str) else "union" if isinstance(found, list) else found["type"]
        if active and kind in ("string", "bytes"):
            # It may have inside what the path means.
            return self._targets.place(self, found, min(active)[0])
        key = (identity(found), active, looks)
        if key in self._known:
            return self._known[key]
        if kind in PRIMITIVES:
            place = self._known[key] = self.add(PRIMITIVES[kind])
        elif kind == "fixed":
            place = self._known[key] = self.add(avro.FIXED, found["size"])
        elif kind == "enum":
            place = self._known[key] = self.add(avro.ENUM, len(found["symbols"]))
        elif kind == "union":
            place = self._known[key] = self.add(avro.UNION)
            self.give(place, [(self.place(one, active, looks=looks), None) for one in in_steps(found)])
        elif kind == "array":
            place = self._known[key] = self.add(avro.ARRAY)
            self.give(place, [(self.place(found["items"], active, looks=looks), None)])
        elif kind == "map":
            place = self._known[key] = self.add(avro.MAP)
            self.give(place, self._values(found, active, looks=looks))
        else:
            place = self._known[key] = self.add(avro.RECORD)
            self.give(place, [self._field(one, active, looks=looks) for one in in_steps(found["fields"])])
        return place

    def _field(self, field: dict[str, Any], active: Active, *, looks: bool) -> tuple[int, bytes]:
        name = field["name"].encode()
        is_tagged = looks and has_tag(field, self._tags)
        return self._named_child(name, field["type"], active, is_tagged=is_tagged, looks=looks), name

    def _values(
        self, schema: dict[str, Any], active: Active, *, looks: bool
    ) -> list[tuple[int, bytes | None]]:
        """Return the nodes of the values of a map: of keys that paths name, and of all others."""
        names = {self._paths[path].names[level] for path, level in active} - {None}
        return [
            (self._named_child(name, schema["values"], active, is_tagged=False, looks=looks), name)
            for name in [*sorted(name for name in names if name is not None), None]
        ]

    def _named_child(
        self, name: bytes | None, schema: Any, active: Active, *, is_tagged: bool, looks: bool
    ) -> int:
        """Return the node of what has a name; None: of what has one that no path names."""
        going = [
            (path, level + 1)
            for path, level in active
            if self._paths[path].names[level] is None or self._paths[path].names[level] == name
        ]
        ending = [path for path, level in going if level == len(self._paths[path].names)]
        if ending or is_tagged:
            return self._targets.place(self, schema, min(ending, default=TAGGED))
        return self.place(schema, frozenset(going), looks=looks)


def has_tag(schema: dict[str, Any], tags: frozenset[str]) -> bool:
    """Whether a part of a schema has one of these tags.

    Raises:
        SchemaError: it has tags that cannot be read.
    """
    if not tags:
        return False
    found = schema.get(TAGS, ())
    if not isinstance(found, list | tuple) or not all(isinstance(one, str) for one in found):
        raise SchemaError(f"{TAGS} is no list of texts")
    return not tags.isdisjoint(found)


def identity(schema: Any) -> object:
    """Return what tells a resolved type from others, as long as its schema lives."""
    if isinstance(schema, str):
        return schema
    return schema["name"] if isinstance(schema, dict) and "name" in schema else id(schema)
