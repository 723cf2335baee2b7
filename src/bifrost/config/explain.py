"""Turns the model's errors into messages for the operator who wrote the file.

Pydantic finds the mistakes; this module names the place in the file's own terms, the value found and what to write
instead. It never repeats values under `credentials`, `sasl` and `upstream_sasl`.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bifrost.config.files.document import show_key
from bifrost.config.loc import Loc
from bifrost.config.secrets import READ_FROM_FILES

_EXPECTED = {
    "bool_type": "true or false, without quotes",
    "int_type": "a whole number, without quotes",
    "int_parsing": "a whole number, without quotes",
    "int_from_float": "a whole number",
    "float_type": "a number, without quotes",
    "finite_number": "a number",
    "string_type": "a text: put it in quotes",
    "tuple_type": "a list",
    "model_type": "a mapping of keys to values",
    "dict_type": "a mapping of keys to values",
    "string_pattern_mismatch": "a text without spaces, quotes, backslashes and characters beyond ASCII",
}

_SECRETIVE = frozenset({"credentials", "sasl", "upstream_sasl", "upstreamSasl"})
"""Keys below which the operator may have written a password by mistake."""


def explain(error: ValidationError, data: object, model: type[BaseModel]) -> Iterator[tuple[Loc, str]]:
    """Yield the place and a message for every error that the model finds in `data`.

    Errors of the whole file (loc ()) that are not about its type are left out: `clashes.py` reports those with their
    places.
    """
    for detail in error.errors(include_url=False, include_input=False):
        loc: Loc = tuple(detail["loc"])
        if not loc and detail["type"] != "model_type":
            continue
        # Pydantic also reports a list as too short when none of its entries is valid.
        if detail["type"] != "too_short" or not _value(loc, data):
            yield loc, _text(detail, loc, data, model)


def show_loc(loc: Loc) -> str:
    """Return a place as `tenants[0].auth`; the root is `the file`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{show_key(step)}" for step in loc)
    return text.removeprefix(".") or "the file"


def _text(detail: ErrorDetails, loc: Loc, data: object, model: type[BaseModel]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    where = show_loc(loc)
    if kind == "extra_forbidden":
        return _unknown_key(str(loc[-1]), loc[:-1], model)
    if kind == "missing":
        return f"{where} is missing: add it, e.g. {loc[-1]}: {_example(loc, model)}"
    if kind in _EXPECTED:
        return f"{where}: expected {_EXPECTED[kind]}, found {_found(loc, data)}"
    if kind == "value_error":
        return f"{where}: {detail['msg'].removeprefix('Value error, ')}"
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = "at least" if kind == "greater_than_equal" else "at most"
        limit = context["ge" if kind == "greater_than_equal" else "le"]
        return f"{where}: must be {bound} {limit}, found {_found(loc, data)}"
    if kind == "too_short":
        hint = _EMPTY_HINTS.get(loc[-1], "add one")
        return f"{where}: is empty: {hint}"
    if kind == "too_long":
        return f"{where}: has {context['actual_length']} entries, at most {context['max_length']} are allowed"
    if kind == "string_too_short":
        return f"{where}: is empty: write a text"
    if kind == "string_too_long":
        return f"{where}: longer than {context['max_length']} characters: shorten it"
    if kind == "invalid_key":
        return f"{show_loc(loc[:-1])}: has a key that is not a text: put it in quotes"
    if kind in ("literal_error", "enum"):
        # Pydantic names the values in quotes: 'a', 'b' or 'c'.
        return f"{where}: expected {context['expected'].replace(chr(39), '')}, found {_found(loc, data)}"
    # Pydantic's own words are for programmers.
    return f"{where}: this value is not possible here, found {_found(loc, data)}"


_EMPTY_HINTS: dict[str | int, str] = {
    "allowed_topics": "list the tenant's topics, or leave the key out so that any name is its own"
}
STRAY_HINT = "a password never stands in this file: write it to a file and name that with password_file"


def _unknown_key(key: str, parent: Loc, model: type[BaseModel]) -> str:
    where = show_loc((*parent, key))
    if key in READ_FROM_FILES:
        return f"{where}: {STRAY_HINT}"
    section = section_at(model, parent)
    fields = section.model_fields if section else {}
    known = {field.alias or name for name, field in fields.items() if name not in READ_FROM_FILES}
    return unknown_key_text((*parent, key), {name: name for name in known})


def unknown_key_text(loc: Loc, known: Mapping[str, str]) -> str:
    """Return the message for a key that does not exist.

    Args:
        loc: its place; the last step is the key.
        known: the keys that exist, by their names in snake_case.
    """
    where = show_loc(loc)
    plain = re.sub("([a-z0-9])([A-Z])", r"\1_\2", str(loc[-1])).replace("-", "_").lower()
    # Imported only when needed: a running gateway would keep its memory.
    from difflib import get_close_matches

    close = get_close_matches(plain, sorted(known), n=1)
    if close:
        return f"{where}: unknown key; did you mean {known[close[0]]}?"
    if not _SECRETIVE.isdisjoint(loc[:-1]):
        # In `{ username: acme, hunter2 }` the key is the password.
        where = show_loc(loc[:-1])
    return f"{where}: unknown key; known here: {', '.join(sorted(known.values()))}"


def section_at(model: type[BaseModel], loc: Loc) -> type[BaseModel] | None:
    """Return the section of the model at `loc`, None when there is none."""
    section: type[BaseModel] | None = model
    for step in loc:
        if isinstance(step, int):
            continue
        field = section.model_fields.get(step) if section else None
        section = _section_of(field.annotation) if field else None
    return section


def _section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section inside `Section`, `tuple[Section, ...]` or `Section | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_of(part))), None)


def _example(loc: Loc, model: type[BaseModel]) -> str:
    section = section_at(model, loc[:-1])
    field: FieldInfo | None = section.model_fields.get(str(loc[-1])) if section else None
    return str(field.examples[0]) if field and field.examples else "..."


def _value(loc: Loc, data: object) -> object:
    for step in loc:
        if isinstance(data, Mapping) and isinstance(step, str):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


def _found(loc: Loc, data: object) -> str:
    value = _value(loc, data)
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if not _SECRETIVE.isdisjoint(loc):
        return "a text" if isinstance(value, str) else "something else"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()} (YAML reads yes, no, on and off as one)"
    if isinstance(value, str):
        return f"the text {value[:60]!r}"
    if isinstance(value, datetime.date):
        return f"the date {value}: put a text in quotes"
    return f"the number {str(value)[:60]}"
