"""Reads records of the state as they are in the topic (state_record.py). Only processes with a state need it."""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from operator import itemgetter
from typing import Any

from pydantic_core import from_json

from bifrost.records.batch_reader import LogRecord
from bifrost.state.record_layout import decode_records, split_fields
from bifrost.state.state_key import MAX_NAME_BYTES, StateKey
from bifrost.state.state_record import SCHEMA, Body, FutureSchema, StateRecord, UnreadableState

_FIELDS: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "version": (int,),
    "at": (int,),
    "change": (str,),
    "writer": (str,),
    "on_behalf_of": (str, type(None)),
    "body": (dict, type(None)),
}
_USUAL = frozenset(product(*_FIELDS.values()))
"""The types of a record's fields, in their order."""
_in_order: Callable[[dict[str, Any]], tuple[Any, ...]] = itemgetter(*_FIELDS)
_new = tuple.__new__


def decode(key: bytes | None, value: bytes, offset: int) -> StateRecord:
    """Read a record.

    Args:
        key: its key in the topic.
        value: its value; a record without one is no record of the state, but deletes one.
        offset: where it is, for the error.
    Raises:
        FutureSchema: see there.
        UnreadableState: it is not a record of the state.
    """
    found = _decoded(key or b"", value)
    return _decoded_slowly(key, value, offset) if found is None else found


def decode_usual(
    records: list[LogRecord], kinds: dict[bytes, str], record_bytes: int
) -> list[StateRecord | None]:
    """Read records that are written as `encode` writes them; None for each that is not, or is none: `decode` reads it.

    Args:
        records: as they are in the log.
        kinds: known kinds by their bytes; a record of another one is left out.
        record_bytes: the most bytes of a record with its key; a larger one is left out.
    """
    return decode_records(
        records, kinds, StateRecord, StateKey, _author, _json_body, MAX_NAME_BYTES, record_bytes
    )


def _decoded(key: bytes, value: bytes) -> StateRecord | None:
    """Read a record that is written as `encode` writes it; None: it is not, or is none."""
    split = split_fields(value)
    if split is None:
        return None
    version, at_ms, change, author, body = split
    try:
        writer, on_behalf_of = _author(author)
        stored = {} if body == b"{}" else _body(body)
        return _new(
            StateRecord, (StateKey.from_bytes(key), version, at_ms, change, writer, on_behalf_of, stored)
        )
    except ValueError:
        return None


@lru_cache(maxsize=1_024)  # writers and those whom they write for: the same in very many records
def _author(fields: bytes) -> tuple[str, str | None]:
    found = json.loads(b"{%b}" % fields)
    return found["writer"], found["on_behalf_of"]


_json_body = partial(from_json, allow_inf_nan=False, cache_strings="keys")


def _body(text: bytes) -> Body | None:
    found = _json_body(text)
    if found is not None and type(found) is not dict:
        raise ValueError("its body is no JSON object")
    return found


def _decoded_slowly(key: bytes | None, value: bytes, offset: int) -> StateRecord:
    """Read a record in any layout, or say what is wrong with it."""
    try:
        named = StateKey.from_bytes(key or b"")
        fields = json.loads(value.decode())
        if not isinstance(fields, dict):
            raise ValueError("its value is no JSON object")
    except (ValueError, RecursionError) as error:
        raise _unreadable(offset, key, str(error)) from None
    try:
        schema, version, at_ms, change, writer, on_behalf_of, body = found = _in_order(fields)
    except KeyError:
        found = ()
    if len(fields) == len(found) and tuple(map(type, found)) in _USUAL and schema == SCHEMA and version >= 1:
        return StateRecord(named, version, at_ms, change, writer, on_behalf_of, body)
    raise _misfit(named, key, fields, offset)


def _misfit(named: StateKey, key: bytes | None, fields: dict[str, Any], offset: int) -> UnreadableState:
    """Return why these fields are not those of a record."""
    schema = fields.get("schema")
    if type(schema) is int and schema > SCHEMA:
        return FutureSchema(
            f"record {named} at offset {offset} of the state has schema version {schema}, and this gateway knows up to "
            f"{SCHEMA}: run the version of the gateway that wrote it (writer {str(fields.get('writer'))[:100]}), or a "
            "newer one"
        )
    for name, types in _FIELDS.items():
        if type(fields.get(name, ...)) not in types:
            return _unreadable(offset, key, f"its field {name} is missing or of another type")
    return _unreadable(offset, key, "its fields are not those of its schema version")


def _unreadable(offset: int, key: bytes | None, why: str) -> UnreadableState:
    shown = (key or b"")[:100].decode(errors="replace")
    return UnreadableState(
        f"record {shown!r} at offset {offset} of the state cannot be read: {why}; something other than the gateway has "
        "written it: take the right to write away from it, and restore the topic from an export"
    )
