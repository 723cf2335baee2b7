"""Reads JSON under a JSON Schema, of the drafts 4 to 2020-12.

jsonschema-rs: all drafts, compiled, and regular expressions whose time grows with the text alone (`RegexOptions`), so
that no record makes a pattern of a schema run for ever. It is released often, and has the MIT licence. Nothing is
fetched: a schema has its references from the registry.
"""

import json
from typing import Any, NoReturn

import jsonschema_rs

from bifrost.schemas.readers.reader import MAX_RULE_VALUES, SchemaError
from bifrost.schemas.registered_schema import RegisteredSchema
from bifrost.schemas.wire_format import Payload, Unreadable


class JsonReader:
    """Reads payloads of one schema; see `Reader`."""

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
        title = text.get("title") if isinstance(text, dict) else None
        self.names = frozenset([title] if isinstance(title, str) else ())

    def check(self, payload: Payload) -> None:
        """See `Reader`."""
        self._read(payload)

    def value(self, payload: Payload) -> object:
        """See `Reader`."""
        # Each value but the first stands behind one of these bytes.
        marks = sum(payload.data.count(mark) for mark in (b",", b":", b"[", b"{"))
        if marks >= MAX_RULE_VALUES:
            raise Unreadable("more values than rules may have")
        return self._read(payload)

    def _read(self, payload: Payload) -> object:
        try:
            value: object = json.loads(payload.data.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise Unreadable(f"no JSON{place}") from None
        try:
            fault = next(self._validator.iter_errors(value), None)
        except (ValueError, RecursionError, OverflowError):
            raise Unreadable("a number or a depth that cannot be checked") from None
        if fault is not None:
            raise Unreadable(f"it breaks the schema at {_pointer(fault.schema_path)}")
        return value


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
