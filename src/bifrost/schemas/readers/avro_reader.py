"""Reads Avro: compiled code checks that the bytes are a value of the schema; for rules fastavro makes it.

Logical types are left away, so that rules see what is written: a date is a number of days.

fastavro is the reader of Avro that most projects in Python use, is released often, and has the MIT licence.
"""

import io
import json
from typing import Any, cast

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from bifrost.schemas.avro_program import avro_program
from bifrost.schemas.readers.reader import MAX_RULE_VALUES, MAX_VALUES, NO_BOUND, SchemaError, TakesLong
from bifrost.schemas.reading_costs import AVRO_BYTE, AVRO_VALUE
from bifrost.schemas.registered_schema import RegisteredSchema
from bifrost.schemas.wire_format import Payload, Unreadable

_WHOLE = "BifrostPayload"
"""A record around a schema: its bytes are those of its only field, and fastavro knows named types in records alone."""


class AvroReader:
    """Reads payloads of one schema; see `Reader`.

    Attributes:
        parsed: the schema, with full names and without logical types.
        named: likewise the types that it refers to, by their full names.
        is_bytes: whether payloads are bytes without a length before them.
    """

    def __init__(self, schema: RegisteredSchema) -> None:
        """Prepare.

        Raises:
            SchemaError: the schema is none.
        """
        self.schema = schema
        named: dict[str, Any] = {}
        try:
            for one in schema.references:
                fastavro.parse_schema(_plain(json.loads(one.text)), named_schemas=named)
            field = {"name": "value", "type": _plain(json.loads(schema.text))}
            own = {"type": "record", "name": _WHOLE, "fields": [field]}
            self._whole = cast(Any, fastavro.parse_schema(own, named_schemas=named))
            parsed = self._whole["fields"][0]["type"]
            self._program = avro_program(parsed, named)
            self.parsed, self.named = parsed, named
        except (ValueError, KeyError, TypeError, SchemaParseException, UnknownType, RecursionError) as error:
            raise SchemaError(f"it is no Avro schema ({type(error).__name__})") from None
        # Confluent's Java clients write an array of bytes as it is, without the length that Avro has before it.
        self.is_bytes = parsed == "bytes" or (isinstance(parsed, dict) and parsed["type"] == "bytes")
        self.names = frozenset([str(parsed["name"])] if isinstance(parsed, dict) and "name" in parsed else ())

    def check(self, payload: Payload, most_ns: int = NO_BOUND) -> None:
        """See `Reader`; it pauses, so no payload takes long."""
        self._check(payload, MAX_VALUES)

    def value(self, payload: Payload, most_ns: int = NO_BOUND) -> object:
        """See `Reader`."""
        count = self._check(payload, MAX_RULE_VALUES)
        if AVRO_BYTE * len(payload.data) + AVRO_VALUE * count > most_ns:
            raise TakesLong
        if self.is_bytes:
            return bytes(payload.data)
        found: Any = fastavro.schemaless_reader(io.BytesIO(payload.data), self._whole, None)
        return found["value"]

    def _check(self, payload: Payload, most: int) -> int:
        """Return how many values a payload has that reads."""
        if self.is_bytes:
            return 1
        try:
            return self._program.check(payload.data, most)
        except ValueError as error:
            raise Unreadable(str(error)) from None


def _plain(schema: Any) -> Any:
    """Return a schema without logical types."""
    if isinstance(schema, dict):
        return {
            key: value if key in ("default", "symbols") else _plain(value)
            for key, value in schema.items()
            if key != "logicalType"
        }
    return [_plain(one) for one in schema] if isinstance(schema, list) else schema
