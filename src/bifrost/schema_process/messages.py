"""What the gateway tells the process that reads records: messages of `confined/frames.py`.

gateway ── rules, memory ──────────────▶ child        ◀── ready
        ── a schema and its number ────▶              ◀── ok
        ── records, by these numbers ──▶              ◀── why each of them is not valid, or null
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bifrost.confined.frames import Frame, views_of
from bifrost.schemas.readers.reader import Reader
from bifrost.schemas.record_check import ReadPart
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.wire_format import Payload

PROGRAM = "bifrost.schema_process.child"

MAX_SCHEMAS = 64
"""Schemas that a process has at a time: producers of large records use a few."""

MAX_GROUP = 64
"""Records that are read at a time; the reasons of so many fit into one head."""

MAX_REASON = 300
"""Characters of a reason: most say a place in a schema."""

Message = tuple[dict[str, Any], list[memoryview | None]]
"""A head, and the parts behind it."""


class FirstMessage(NamedTuple):
    """What a process is made for."""

    max_memory_bytes: int
    checks: tuple[tuple[str, str], ...]
    """The rules: name and expression."""


def first_message(first: FirstMessage) -> Message:
    """Return the message that a process gets first."""
    return {"max_memory_bytes": first.max_memory_bytes}, [_packed(first.checks)]


def read_first(frame: Frame) -> FirstMessage:
    """Return what it says."""
    checks = tuple((name, text) for name, text in _unpacked(views_of(frame)[0]))
    return FirstMessage(frame.head["max_memory_bytes"], checks)


def schema_message(number: int, schema: RegisteredSchema, *, forgets: bool) -> Message:
    """Return the message with a schema; with `forgets` the process keeps none of those before it."""
    texts = [schema.text, [[one.name, one.text] for one in schema.references]]
    head = {"what": "schema", "number": number, "kind": schema.kind.value, "forgets": forgets}
    return head, [_packed(texts), memoryview(schema.descriptors)]


def read_schema(frame: Frame) -> RegisteredSchema:
    """Return its schema."""
    texts, descriptors = views_of(frame)
    text, references = _unpacked(texts)
    kind = SchemaType(frame.head["kind"])
    named = tuple(Reference(name, one) for name, one in references)
    return RegisteredSchema(kind, text, named, b"" if descriptors is None else bytes(descriptors))


def records_message(
    records: Sequence[Sequence[ReadPart]], number_of: Callable[[Reader], int], times_s: Sequence[float]
) -> Message:
    """Return the message with records.

    Args:
        records: at most MAX_GROUP.
        number_of: the number of the schema that a reader is for.
        times_s: how much time of a processor each of them may take.
    """
    parts: list[memoryview | None] = []
    told = []
    for one in records:
        told.append([[part.name, number_of(part.reader)] for part in one])
        for part in one:
            parts += [memoryview(part.payload.data), memoryview(part.payload.indexes)]
    return {"what": "records", "records": told, "times_s": list(times_s)}, parts


def read_records(frame: Frame, reader_of: Callable[[int], Reader]) -> list[tuple[float, list[ReadPart]]]:
    """Return its records, each with its time."""
    views = iter(views_of(frame))
    found = []
    for time_s, parts in zip(frame.head["times_s"], frame.head["records"], strict=True):
        one = []
        for name, number in parts:
            data, indexes = next(views), next(views)
            assert data is not None
            assert indexes is not None
            one.append(ReadPart(name, reader_of(number), Payload(number, data, indexes)))
        found.append((time_s, one))
    return found


def _packed(value: object) -> memoryview:
    return memoryview(json.dumps(value).encode())


def _unpacked(view: memoryview | None) -> Any:
    assert view is not None
    return json.loads(bytes(view))
