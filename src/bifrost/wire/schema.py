"""Kafka's message schemas: the fields of every message of the protocol, in every version.

The table beside this file, `schemas.json`, is written by tools/compile_schemas.py from the definitions in
Kafka's own jars; nothing about a message is written by hand. This module reads the table and gives it types.
A message's schema is built when it is first asked for. How a schema becomes a program of the engine is
wire/programs.py; how it becomes a Python class is wire/message.py.

Source: README.md in `common/message/` of the kafka-clients jar; KIP-482 (flexible versions, tagged fields).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

MAX_VERSION = 32767
"""The high end of an open range (`9+`), as in Kafka's generator: the largest int16."""

Kind = Literal["request", "response", "header", "data"]

Default = bool | int | float | str | bytes | tuple[()] | None
"""A field's default. `()`: an empty list, or a struct of defaults, made fresh each time it is needed."""

_API_VERSIONS = 18
_CONTROLLED_SHUTDOWN = 7


class FieldType(Enum):
    """Kafka's field types, by their names in the definitions; for an array the type of one element."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"
    STRUCT = "struct"


_NON_NULL_DEFAULTS: Mapping[FieldType, Default] = {
    FieldType.BOOL: False,
    FieldType.FLOAT64: 0.0,
    FieldType.UUID: bytes(16),
    FieldType.STRING: "",
    FieldType.BYTES: b"",
    FieldType.RECORDS: None,  # as in Kafka's generator: records default to null, nullable or not
    FieldType.STRUCT: (),
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The versions `low` to `high`, both included; empty if `high` is below `low`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def __bool__(self) -> bool:
        return self.low <= self.high

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.high == MAX_VERSION:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


NO_VERSIONS = VersionRange(0, -1)


@cache
def read_version_range(text: str) -> VersionRange:
    """Read Kafka's notation of a version range: `3`, `0-4`, `9+` or `none`.

    Raises:
        ValueError: the text is not a range.
    """
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return VersionRange(int(text[:-1]), MAX_VERSION)
    low, dash, high = text.partition("-")
    versions = VersionRange(int(low), int(high if dash else low))
    if not versions:
        raise ValueError(f"version range {text!r} ends before it starts")
    return versions


def to_snake_case(kafka_name: str) -> str:
    """Turn Kafka's name of a field into ours, as Kafka's generator does: `TopicId` to `topic_id`.

    A run of capitals is one word; a digit does not start one (`Enable2Pc` is `enable2_pc`).
    Source: MessageGenerator.toSnakeCase.
    """
    letters = []
    was_capital = True
    for letter in kafka_name:
        if letter.isupper() and not was_capital:
            letters.append("_")
        was_capital = letter.isupper()
        letters.append(letter.lower())
    return "".join(letters)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message or of a struct in it, over all versions.

    A field is on the wire in the versions of `versions`; in those that are also in `tagged` it is a tagged
    field with the number `tag`. Versions are always those of the whole message.
    """

    kafka_name: str
    """Kafka's name, `TopicId`."""
    name: str
    """The attribute's name, `topic_id`."""
    type: FieldType
    """The type; of an array, that of its elements."""
    is_array: bool
    struct_name: str | None
    """Kafka's name of the struct, if the type is STRUCT."""
    versions: VersionRange
    nullable: VersionRange
    tagged: VersionRange
    tag: int | None
    flexible: VersionRange | None
    """The versions in which this field alone is written flexibly; None: as the message. Only the client ID of
    the request header differs: it never is."""
    default: Default
    """The attribute's value when the field is absent. None is null; records always start null."""
    entity_type: str | None
    """Kafka's own `entityType`, e.g. `topicName`. Most entities have none: wire/fields/entities.py has them all."""
    ignorable: bool
    """Whether a value other than the default may be dropped silently in a version without the field."""
    map_key: bool
    """Whether the field is in its struct's key in Kafka's collections; of no consequence on the wire."""
    fields: tuple["Field", ...]
    """The struct's fields, if the type is STRUCT."""

    def is_tagged(self, version: int) -> bool:
        """Say whether the field is a tagged field in this version."""
        return version in self.tagged and version in self.versions


def has_throttle(fields: Iterable[Field], version: int) -> bool:
    """Return whether a response with these fields can tell a client to wait (`throttle_time_ms`, KIP-219)."""
    return any(field.kafka_name == "ThrottleTimeMs" and version in field.versions for field in fields)


def begins_with_throttle(fields: Iterable[Field], version: int) -> bool:
    """Return whether that is the first field of the response's body."""
    present = (one for one in fields if version in one.versions and version not in one.tagged)
    first = next(present, None)
    return first is not None and first.kafka_name == "ThrottleTimeMs"


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """One message over all its versions."""

    name: str
    """Kafka's name, `FetchRequest`."""
    api_key: int | None
    """None for headers and data."""
    kind: Kind
    listeners: tuple[str, ...]
    """Where Kafka serves a request: `broker`, `controller`; empty for everything else."""
    versions: VersionRange
    flexible: VersionRange
    unstable: bool
    """Whether the last version is still being worked on (Kafka's latestVersionUnstable): don't offer it."""
    fields: tuple[Field, ...]

    def is_flexible(self, version: int) -> bool:
        """Say whether the message has compact lengths and tagged fields in this version (KIP-482)."""
        return version in self.flexible

    def request_header_version(self, version: int) -> int:
        """Give the version of the RequestHeader before this request.

        Source: ApiMessageType.requestHeaderVersion: v0 is ControlledShutdown v0's alone, v2 is flexible.
        """
        if self.api_key == _CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.is_flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """Give the version of the ResponseHeader before this response.

        Source: ApiMessageType.responseHeaderVersion. An ApiVersions response always has v0: a client reads it
        before it knows what the broker speaks (KIP-511).
        """
        if self.api_key == _API_VERSIONS:
            return 0
        return 1 if self.is_flexible(version) else 0


@cache
def message_schema(name: str) -> MessageSchema:
    """Give the schema of a message by Kafka's name.

    Raises:
        KeyError: there is no such message, or it is not one that goes to or from a broker.
    """
    return _build_message(json.loads(_lines()[name]))


@cache
def request_schema(api_key: int) -> MessageSchema:
    """Give the schema of the request of an API.

    Raises:
        KeyError: a broker does not serve this API key.
    """
    return message_schema(_by_api_key()[api_key, "request"])


@cache
def response_schema(api_key: int) -> MessageSchema:
    """Give the schema of the response of an API.

    Raises:
        KeyError: a broker does not serve this API key.
    """
    return message_schema(_by_api_key()[api_key, "response"])


@cache
def all_schemas() -> tuple[MessageSchema, ...]:
    """Give every schema: requests and responses by API key, then headers and data."""
    return tuple(message_schema(name) for name in _lines())


@cache
def message_names() -> tuple[str, ...]:
    """Give Kafka's names of all messages, in the order of `all_schemas`; builds no schema."""
    return tuple(_lines())


def read_schemas(table: Mapping[str, Any]) -> list[MessageSchema]:
    """Build the schemas of a whole table (the JSON object of `schemas.json`), in its order."""
    return [_build_message(entry) for entry in table["messages"]]


@cache
def _lines() -> dict[str, str]:
    """Give the line of every message in the table, by its name: decoded, the whole would take ten times the memory."""
    # Not importlib.resources: what it imports to read packages out of ZIP files is 0.7 MiB, and never used here.
    text = Path(__file__).with_name("schemas.json").read_text(encoding="utf-8")
    return {json.loads(line)["name"]: line for line in (one.rstrip(",") for one in text.splitlines()[1:-1])}


@cache
def _by_api_key() -> dict[tuple[int, str], str]:
    messages = map(json.loads, _lines().values())
    return {(m["key"], m["kind"]): m["name"] for m in messages if "key" in m}


def _build_message(entry: Mapping[str, Any]) -> MessageSchema:
    return MessageSchema(
        name=entry["name"],
        api_key=entry.get("key"),
        kind=cast(Kind, entry["kind"]),
        listeners=tuple(entry.get("listeners", ())),
        versions=read_version_range(entry["versions"]),
        flexible=read_version_range(entry["flexible"]),
        unstable=entry.get("unstable", False),
        fields=_build_fields(entry["fields"]),
    )


def _build_fields(entries: Sequence[Mapping[str, Any]]) -> tuple[Field, ...]:
    return tuple(_build_field(entry) for entry in entries)


def _build_field(entry: Mapping[str, Any]) -> Field:
    element = entry["type"].removeprefix("[]")
    is_array = element != entry["type"]
    field_type = FieldType.STRUCT if "fields" in entry else FieldType(element)
    nullable = read_version_range(entry.get("nullable", "none"))
    return Field(
        kafka_name=entry["name"],
        name=to_snake_case(entry["name"]),
        type=field_type,
        is_array=is_array,
        struct_name=element if field_type is FieldType.STRUCT else None,
        versions=read_version_range(entry["versions"]),
        nullable=nullable,
        tagged=read_version_range(entry.get("tagged", "none")),
        tag=entry.get("tag"),
        flexible=read_version_range(entry["flexible"]) if "flexible" in entry else None,
        default=_read_default(
            field_type, is_array=is_array, nullable=bool(nullable), text=entry.get("default", "")
        ),
        entity_type=entry.get("entity"),
        ignorable=entry.get("ignorable", False),
        map_key=entry.get("mapKey", False),
        fields=_build_fields(entry.get("fields", ())),
    )


def _read_default(field_type: FieldType, *, is_array: bool, nullable: bool, text: str) -> Default:
    """Read a default as Kafka's generator does (FieldSpec.fieldDefault).

    Raises:
        ValueError: the definition gives a default that its type cannot have.
    """
    if text == "null" and nullable:
        return None
    if is_array or not text:
        return () if is_array else _NON_NULL_DEFAULTS.get(field_type, 0)
    if field_type is FieldType.STRING and text != "null":
        return text
    if field_type is FieldType.BOOL and text in ("true", "false"):
        return text == "true"
    if field_type is FieldType.FLOAT64:
        return float(text)
    if field_type in _NON_NULL_DEFAULTS:
        raise ValueError(f"{text!r} cannot be the default of a {field_type.value} field")
    return int(text, 0)
