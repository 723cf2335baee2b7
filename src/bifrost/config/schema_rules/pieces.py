"""The parts that rules consist of: conditions on the keys of a section."""

from typing import Any

Schema = dict[str, Any]


def when(condition: Schema, then: Schema, otherwise: Schema | None = None) -> Schema:
    """A section that is as `then` says where the condition is true, and else as `otherwise` says."""
    return {"if": condition, "then": then} | ({} if otherwise is None else {"else": otherwise})


def has(key: str, *wanted: object) -> Schema:
    """A section in which a key is given, with one of some values."""
    return {"properties": {key: {"enum": list(wanted)}} if wanted else {}, "required": [key]}


def without(*keys: str) -> Schema:
    """A section in which none of these keys is given."""
    return {"properties": dict.fromkeys(keys, False)}


def needs(*keys: str) -> Schema:
    """A section in which all of these keys are given."""
    return {"required": list(keys)}


def some(key: str) -> Schema:
    """A section in which a list is given and has something."""
    return {"properties": {key: {"minItems": 1}}, "required": [key]}


def empty(*keys: str) -> Schema:
    """A section in which lists have nothing."""
    return {"properties": {key: {"maxItems": 0} for key in keys}}


def protocol(*wanted: str, default: str) -> Schema:
    """A section with one of some protocols, also by default."""
    return {"properties": {"security_protocol": {"enum": list(wanted)}}} | (
        {} if default in wanted else needs("security_protocol")
    )


def within(key: str, content: Schema) -> Schema:
    """A section in which a key, where it is given, is so."""
    return {"properties": {key: content}}


def given(key: str, content: Schema) -> Schema:
    """A section in which a key is given, and is so."""
    return within(key, content) | needs(key)


def each(key: str, item: Schema) -> Schema:
    """A section in which all items of a list are so."""
    return within(key, {"items": item})


def any_of(key: str, item: Schema) -> Schema:
    """A section in which a list is given, and one of its items at least is so."""
    return given(key, {"contains": item})


def at_most_one(item: Schema) -> Schema:
    """A list of which one item at most is so."""
    return {"contains": item, "minContains": 0, "maxContains": 1}


def same(key: str, value: object) -> Schema:
    """A section in which a key has one value, which is also its default."""
    return within(key, {"const": value})
