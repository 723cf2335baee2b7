"""How much a JSON Schema may do with each value of a payload, so that a reader knows what a payload may cost.

A value is compared with the keywords of each subschema that applies to it. Several apply in place (`allOf`, `$ref`), so
their weights add up; of the properties of an object one applies to a value, so the heaviest counts. A schema that leads
back to itself has no such bound, as little as one whose references depend on the payload.

Source: JSON Schema 2020-12, core, sections 8 and 10 to 11.
"""

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

MAX_WEIGHT = 100_000
"""Heavier schemas count as unbounded: references may multiply what a short text says."""

_UNBOUNDED = frozenset({"$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"})
"""Keywords whose target depends on the payload, or that look at all of it once more."""
_DEFINITIONS = frozenset({"$defs", "definitions"})
"""Keywords below which nothing applies by itself."""
_ONE_OF_THEM = frozenset({"properties", "prefixItems"})
"""Keywords with several subschemas, of which one at most applies to a value."""
_BELOW = frozenset(
    {*_ONE_OF_THEM, "patternProperties", "additionalProperties", "propertyNames"}
    | {"items", "additionalItems", "contains"}
)
"""Keywords whose subschemas apply to values below."""
_COUNTS = re.compile(r"\{(\d*),?(\d*)\}")


class SchemaWeight(NamedTuple):
    """What one value of a payload may cost at most."""

    nodes: int
    """Keywords and subschemas that it is compared with."""
    states: int
    """States of regular expressions that each of its characters may touch."""


_NOTHING = SchemaWeight(0, 0)


class _Unbounded(Exception):
    """There is no bound."""


class _Scales:
    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        self._known: dict[tuple[str, str], SchemaWeight] = {}
        self._open: set[tuple[str, str]] = set()

    def at(self, document: str, pointer: str) -> SchemaWeight:
        """Return the weight of a place in a document."""
        place = (document, pointer)
        if place in self._open:
            raise _Unbounded
        found = self._known.get(place)
        if found is None:
            self._open.add(place)
            found = self._of(pointed(self._documents[document], pointer), document)
            if max(found) > MAX_WEIGHT:
                raise _Unbounded
            self._known[place] = found
            self._open.discard(place)
        return found

    def _of(self, schema: Any, document: str) -> SchemaWeight:
        """Return the weight of a subschema, or of several that apply together."""
        if isinstance(schema, list):
            return _sum(self._of(one, document) for one in schema)
        if not isinstance(schema, dict):
            return SchemaWeight(1, 0)
        if not _UNBOUNDED.isdisjoint(schema):
            raise _Unbounded
        nodes, states, below, in_place = 1, 0, _NOTHING, _NOTHING
        for key, value in schema.items():
            nodes += len(value) if isinstance(value, dict | list) else 1
            if key in _DEFINITIONS:
                continue
            if key == "pattern" and isinstance(value, str):
                states += _states(value)
            elif key == "$ref" and isinstance(value, str):
                in_place = _sum((in_place, self._referred(value, document)))
            elif key in _BELOW:
                below = _sum((below, self._below(key, value, document)))
            else:
                in_place = _sum((in_place, self._of(value, document)))
        heaviest = _greatest((SchemaWeight(nodes, states), below))
        return _sum((heaviest, in_place))

    def _below(self, key: str, value: Any, document: str) -> SchemaWeight:
        """Return the weight of what a keyword applies to one value below."""
        if isinstance(value, dict) and key in ("properties", "patternProperties"):
            weights = [self._of(one, document) for one in value.values()]
            if key == "properties":
                return _greatest(weights)
            # Each name of a property is compared with all patterns.
            return _sum([*weights, SchemaWeight(len(value), sum(_states(one) for one in value))])
        if isinstance(value, list):
            return _greatest(self._of(one, document) for one in value)
        return self._of(value, document)

    def _referred(self, reference: str, document: str) -> SchemaWeight:
        base, _, pointer = reference.partition("#")
        if not base:
            return self.at(document, pointer)
        for name in self._documents:
            if name and (base == name or base.endswith("/" + name)):
                return self.at(name, pointer)
        raise _Unbounded


def weight_of(schema: Any, references: Mapping[str, Any]) -> SchemaWeight | None:
    """Return the weight of a schema; None: nothing bounds what a value may cost.

    Args:
        schema: as its JSON reads.
        references: likewise the schemas that it refers to, by their names.
    """
    try:
        return _Scales({**references, "": schema}).at("", "")
    except (_Unbounded, LookupError, RecursionError):
        return None


def _sum(weights: Iterable[SchemaWeight]) -> SchemaWeight:
    both = list(weights)
    return SchemaWeight(sum(one.nodes for one in both), sum(one.states for one in both))


def _greatest(weights: Iterable[SchemaWeight]) -> SchemaWeight:
    both = [_NOTHING, *weights]
    return SchemaWeight(max(one.nodes for one in both), max(one.states for one in both))


def pointed(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer leads to; names of anchors, and characters that a URL encodes, are not looked for.

    Raises:
        LookupError: it leads nowhere.
    """
    if "%" in pointer or (pointer and not pointer.startswith("/")):
        raise LookupError
    found = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (ValueError, TypeError):
            raise LookupError from None
    return found


def _states(pattern: str) -> int:
    """Return the states of a regular expression at most: what a count in braces repeats is there as often."""
    counts = (int(high or low or 1) for low, high in _COUNTS.findall(pattern))
    return len(pattern) * prod(max(1, min(one, MAX_WEIGHT)) for one in counts)
