"""Finds in a JSON Schema the paths of the fields that have one of some tags (`confluent:tags`).

All subschemas that may apply to a value are followed, so a field counts that is tagged in one of them. What no list of
paths can say is refused: a tag below a schema that leads back to itself, or below a reference that depends on values.

Source: JSON Schema 2020-12, core, sections 8 and 10 to 11.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bifrost.schemas.json_weight import pointed
from bifrost.schemas.readers.reader import SchemaError
from bifrost.transforms.masking.avro_fields import TAGS, has_tag
from bifrost.transforms.masking.field_path import Path
from bifrost.wire.steps import in_steps

MAX_PARTS: Final = 10_000
"""Most subschemas that are followed: references may multiply what a short text says."""

_DYNAMIC = ("$dynamicRef", "$recursiveRef")
_OF_ANY_NAME = ("additionalProperties", "unevaluatedProperties")
_OF_ELEMENTS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_SAME_BY_NAME = ("dependentSchemas", "dependencies")


Names = tuple[bytes | None, ...]
"""That lead to a value, None for any."""


class _Tags:
    def __init__(self, documents: Mapping[str, Any], tags: frozenset[str]) -> None:
        self._documents, self._tags = documents, tags
        self.found: dict[Path, None] = {}
        self._parts = 0
        self._open: dict[tuple[str, str], bool] = {}
        """References that are followed now, and whether something below leads back to one."""

    def follow(self, schema: Any, document: str, names: Names, *, is_element: bool) -> None:
        """Note the fields of a subschema, or of several for the same value."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise SchemaError(f"it has more than {MAX_PARTS} parts where tags are looked for")
        if isinstance(schema, list):
            for one in in_steps(schema):
                self.follow(one, document, names, is_element=is_element)
        elif isinstance(schema, dict):
            self._note(schema, names, is_element=is_element)
            if isinstance(schema.get("$ref"), str):
                self._refer(schema["$ref"], document, names, is_element=is_element)
            for one, own, is_own_element in in_steps(list(_parts(schema, names, is_element=is_element))):
                self.follow(one, document, own, is_element=is_own_element)

    def _note(self, schema: dict[str, Any], names: Names, *, is_element: bool) -> None:
        if any(one in schema for one in _DYNAMIC):
            raise SchemaError("a reference depends on values, and tags may be below it")
        if has_tag(schema, self._tags):
            if not names:
                raise SchemaError(f"{TAGS} of the whole value: take mode: values")
            self.found[Path(names, is_element)] = None

    def _refer(self, reference: str, document: str, names: Names, *, is_element: bool) -> None:
        base, _, pointer = reference.partition("#")
        if base:
            known = [one for one in self._documents if one and (base == one or base.endswith("/" + one))]
            if not known:
                raise SchemaError("a reference leads to no schema that it has, and tags may be below it")
            document = known[0]
        place = (document, pointer)
        if place in self._open:
            self._open[place] = True
            return
        self._open[place] = False
        before = len(self.found)
        self.follow(pointed(self._documents[document], pointer), document, names, is_element=is_element)
        if self._open.pop(place) and len(self.found) > before:
            raise SchemaError(f"{TAGS} below a schema that leads back to itself")


def tagged_paths(schema: Any, references: Mapping[str, Any], tags: frozenset[str]) -> list[Path]:
    """Return the paths of the fields that have one of these tags.

    Args:
        schema: as its JSON reads.
        references: likewise the schemas that it refers to, by their names.
        tags: the tags.
    Raises:
        SchemaError: paths cannot say where they are.
    """
    found = _Tags({**references, "": schema}, tags)
    try:
        found.follow(schema, "", (), is_element=False)
    except (LookupError, ValueError, TypeError, RecursionError):
        raise SchemaError("a reference cannot be followed, and tags may be below it") from None
    return list(found.found)


def _parts(schema: dict[str, Any], names: Names, *, is_element: bool) -> Iterator[tuple[Any, Names, bool]]:
    """Yield the subschemas of a schema, each with the names that lead to its values, and if these are elements."""
    for key, one in schema.items():
        if key in _SAME_VALUE:
            yield one, names, is_element
        elif key in _SAME_BY_NAME and isinstance(one, dict):
            for part in one.values():
                # Before 2019 it might have lists of names as well.
                if isinstance(part, dict):
                    yield part, names, is_element
        elif key == "properties" and isinstance(one, dict):
            for name, part in one.items():
                yield part, (*names, name.encode("utf-8", "surrogatepass")), False
        elif key == "patternProperties" and isinstance(one, dict):
            for part in one.values():
                yield part, (*names, None), False
        elif key in _OF_ANY_NAME:
            yield one, (*names, None), False
        elif key in _OF_ELEMENTS:
            yield one, names, True
