"""Reads JSON under a JSON Schema, of the drafts 4 to 2020-12.

jsonschema-rs: all drafts, compiled, and regular expressions whose time grows with the text alone (`RegexOptions`), so
that no record makes a pattern of a schema run for ever. It is released often, and has the MIT licence. Nothing is
fetched: a schema has its references from the registry.
"""

import json
from typing import Any, NoReturn

import jsonschema_rs

from bifrost.schemas.json_weight import weight_of
from bifrost.schemas.readers.reader import MAX_RULE_VALUES, NO_BOUND, SchemaError, TakesLong
from bifrost.schemas.reading_costs import JSON_BYTE, JSON_NODE, JSON_STATE, JSON_VALUE
from bifrost.schemas.registered_schema import RegisteredSchema
from bifrost.schemas.wire_format import Payload, Unreadable


class JsonReader:
    """Reads payloads of one schema; see `Reader`.

    Attributes:
        parsed: the schema, as its JSON reads.
        references: likewise those that it refers to, by their names.
    """

    def __init__(self, schema: RegisteredSchema) -> None:
        """Prepare.

        Raises:
            SchemaError: the schema is none, or it uses one that its references do not have.
        """
        try:
            text = json.loads(schema.text)
            references = {one.name: json.loads(one.text) for one in schema.references}
            self._validator = jsonschema_rs.validator_for(
                text,
                retriever=lambda uri: _referred(references, uri),
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except (ValueError, TypeError, RecursionError) as error:
            raise SchemaError(f"it is no JSON Schema ({type(error).__name__})") from None
        self.schema, self._weight = schema, weight_of(text, references)
        self.parsed, self.references = text, references
        title = text.get("title") if isinstance(text, dict) else None
        self.names = frozenset([title] if isinstance(title, str) else ())

    def check(self, payload: Payload, most_ns: int = NO_BOUND) -> None:
        """See `Reader`."""
        if most_ns < NO_BOUND:
            if JSON_BYTE * len(payload.data) > most_ns:
                raise TakesLong
            self._bound(payload, _count(payload), most_ns)
        self._read(payload)

    def value(self, payload: Payload, most_ns: int = NO_BOUND) -> object:
        """See `Reader`."""
        if most_ns < NO_BOUND and JSON_BYTE * len(payload.data) > most_ns:
            raise TakesLong
        count = _count(payload)
        if count > MAX_RULE_VALUES:
            raise Unreadable("more values than rules may have")
        if most_ns < NO_BOUND:
            self._bound(payload, count, most_ns)
        return self._read(payload)

    def _bound(self, payload: Payload, count: int, most_ns: int) -> None:
        """Raise TakesLong where a payload may take longer."""
        if self._weight is None:
            raise TakesLong
        of_byte = JSON_BYTE + JSON_STATE * self._weight.states
        of_value = JSON_VALUE + JSON_NODE * self._weight.nodes
        if of_byte * len(payload.data) + of_value * count > most_ns:
            raise TakesLong

    def _read(self, payload: Payload) -> object:
        try:
            value: object = json.loads(str(payload.data, "utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise Unreadable(f"no JSON{place}") from None
        try:
            # The first fault alone: to tell all of them may take a thousand times as long.
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as fault:
            raise Unreadable(f"it breaks the schema at {_pointer(fault.schema_path)}") from None
        except (ValueError, RecursionError, OverflowError):
            raise Unreadable("a number or a depth that cannot be checked") from None
        return value


def _count(payload: Payload) -> int:
    """Return how many values a payload has at most: each but the first stands behind one of these bytes."""
    data = bytes(payload.data)
    return 1 + sum(data.count(mark) for mark in (b",", b":", b"[", b"{"))


def _referred(references: dict[str, Any], uri: str) -> Any:
    """Return a schema by what another one calls it, which a library may have made absolute."""
    for name, text in references.items():
        if uri == name or uri.endswith("/" + name):
            return text
    raise LookupError("it is not among the references")


def _no_constant(_name: str) -> NoReturn:
    raise ValueError("not a number of JSON")


def _pointer(path: list[str | int]) -> str:
    """Return a place in the schema: it has no content of the record."""
    return "/" + "/".join(str(one) for one in path[:20])
