"""Compiles shapes from the schema: for the APIs whose requests and responses list topics and their partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bifrost.routes.shape import Shape, What
from bifrost.routes.template import Template
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode_body
from bifrost.wire.message import message_class
from bifrost.wire.programs import FIXED_SIZES, compile_layout
from bifrost.wire.reader import Flag
from bifrost.wire.schema import Field, FieldType, MessageSchema, request_schema, response_schema

Ops = list[tuple[int, int, int]]

_TOPICS = frozenset({"TopicData", "Topics", "Responses"})
_PARTITIONS = frozenset({"PartitionData", "Partitions", "PartitionIndexes", "PartitionResponses"})
_FORGOTTEN = frozenset({"ForgottenTopicsData"})
_INDEXES = frozenset({"Index", "Partition", "PartitionIndex", "PartitionIndexes"})
_NAMES, _IDS, _TIMEOUT = frozenset({"Name", "Topic"}), "TopicId", "TimeoutMs"
_MARKS = ("high_watermark", "last_stable_offset", "log_start_offset")
_UNKNOWN = {"base_offset": -1, "high_watermark": -1, "low_watermark": -1, "records": b""}
"""What a partition's answer has where its default is no sign that the value is unknown."""

_NO_THROTTLE, _IN_FRONT, _BEHIND = -1, 0, 1


@dataclass(frozen=True, slots=True)
class Shapes:
    """How one API is taken apart at one version."""

    request: Shape
    template: Template
    request_header_is_flexible: bool
    response_header_is_flexible: bool
    is_by_id: bool
    """Whether topics are named by their IDs (KIP-516)."""
    offsets: dict[str, int]
    """Where the request's fields of fixed size before the topics stand, from the body's beginning, as far as none of
    another size is before them."""
    forgotten: Shape | None
    """Of Fetch from v7 on: the fields after the topics, as the list of those that leave a session (KIP-227)."""
    has_timeout_behind: bool
    """Whether the request's fields after the topics begin with a timeout."""


@cache
def shapes_of(api_key: ApiKey, version: int) -> Shapes:
    """Return the shapes of an API at a version.

    Raises:
        ValueError: its messages do not list topics and partitions.
    """
    request, response = request_schema(api_key), response_schema(api_key)
    return Shapes(
        _shape(request, version),
        _template(response, version),
        request.request_header_version(version) >= 2,
        response.response_header_version(version) >= 1,
        any(one.kafka_name == _IDS for one in _sections(request, version)[1]),
        _offsets(_sections(request, version)[0], version),
        _forgotten(request, version),
        any(one.kafka_name == _TIMEOUT for one in _sections(request, version)[4][:1]),
    )


def _present(fields: Sequence[Field], version: int) -> list[Field]:
    return [one for one in fields if version in one.versions and not one.is_tagged(version)]


def _divided(
    fields: Sequence[Field], version: int, names: frozenset[str]
) -> tuple[list[Field], Field, list[Field]]:
    present = _present(fields, version)
    at = next((place for place, one in enumerate(present) if one.kafka_name in names and one.is_array), None)
    if at is None:
        raise ValueError("the message does not list topics and partitions")
    return present[:at], present[at], present[at + 1 :]


def _sections(
    schema: MessageSchema, version: int
) -> tuple[list[Field], list[Field], Field, list[Field], list[Field]]:
    before, topics, after = _divided(schema.fields, version, _TOPICS)
    head, partitions, tail = _divided(topics.fields, version, _PARTITIONS)
    return before, head, partitions, tail, after


def _shape(schema: MessageSchema, version: int) -> Shape:
    before, head, partitions, tail, after = _sections(schema, version)
    writer = _Writer(version, schema.is_flexible(version))
    leader = next((one for one in partitions.fields if one.kafka_name == "CurrentLeader"), None)
    leader_tag = -1 if leader is None or leader.tag is None else leader.tag
    is_struct = partitions.type is FieldType.STRUCT
    sections = [
        writer.fields(before),
        writer.fields(head, has_key=True),
        writer.fields(_present(partitions.fields, version) if is_struct else [partitions], is_partition=True),
        writer.fields(tail) + writer.end(),
        writer.fields(after) + writer.end(),
    ]
    if is_struct:
        sections[2] += writer.end()
    return Shape(sections, writer.is_flexible, leader_tag)


def _forgotten(schema: MessageSchema, version: int) -> Shape | None:
    after = _sections(schema, version)[4]
    if not any(one.kafka_name in _FORGOTTEN for one in after):
        return None
    before, topics, rest = _divided(after, version, _FORGOTTEN)
    head, _, tail = _divided(topics.fields, version, _PARTITIONS)
    writer = _Writer(version, schema.is_flexible(version))
    sections: list[Ops] = [
        writer.fields(before),
        writer.fields(head, has_key=True),
        [(What.INDEX, 0, 0)],
        writer.fields(tail) + writer.end(),
        writer.fields(rest) + writer.end(),
    ]
    return Shape(sections, writer.is_flexible, -1)


class _Writer:
    """Writes the ops of one version."""

    def __init__(self, version: int, is_flexible: bool) -> None:
        self._version, self.is_flexible = version, is_flexible

    def end(self) -> Ops:
        """Return what ends a struct."""
        return [(What.TAGS, 0, 0)] if self.is_flexible else []

    def fields(self, fields: Sequence[Field], *, has_key: bool = False, is_partition: bool = False) -> Ops:
        """Return the ops of fields that are not tagged; some have a meaning."""
        ops: Ops = []
        for field in fields:
            if is_partition and field.kafka_name in _INDEXES:
                ops.append((What.INDEX, 0, 0))
            elif field.kafka_name == "ErrorCode":
                ops.append((What.ERROR, 0, 0))
            elif has_key and field.kafka_name in _NAMES:
                ops.append((What.NAME_KEY, self._flags(field), 0))
            elif has_key and field.kafka_name == _IDS:
                ops.append((What.ID_KEY, 0, 0))
            else:
                ops += self._field(field)
        return ops

    def _field(self, field: Field) -> Ops:
        if field.is_array:
            size = FIXED_SIZES.get(field.type)
            if size is not None:
                return [(What.FIXED_ARRAY, self._flags(field), size)]
            inside = self._single(field)
            return [(What.ARRAY, self._flags(field), len(inside)), *inside]
        if field.type is FieldType.STRUCT and self._version in field.nullable:
            inside = self._single(field)
            return [(What.NULLABLE_STRUCT, 0, len(inside)), *inside]
        return self._single(field)

    def _single(self, field: Field) -> Ops:
        if field.type is FieldType.STRUCT:
            return [
                one for inner in _present(field.fields, self._version) for one in self._field(inner)
            ] + self.end()
        if field.type in FIXED_SIZES:
            return [(What.SKIP, 0, FIXED_SIZES[field.type])]
        if field.type is FieldType.STRING:
            return [(What.STRING, self._flags(field), 0)]
        return [(What.DATA if field.type is FieldType.RECORDS else What.BYTES, self._flags(field), 0)]

    def _flags(self, field: Field) -> int:
        compact = self.is_flexible if field.flexible is None else self._version in field.flexible
        return (Flag.COMPACT if compact else 0) | Flag.NULLABLE


def _offsets(fields: Sequence[Field], version: int) -> dict[str, int]:
    found, at = {}, 0
    for field in _present(fields, version):
        if field.is_array or field.type not in FIXED_SIZES:
            break
        found[field.name] = at
        at += FIXED_SIZES[field.type]
    return found


def _template(schema: MessageSchema, version: int) -> Template:
    before, _, partitions, _, after = _sections(schema, version)
    message: Any = message_class(schema.name)()
    topics = next(one for one in schema.fields if one.kafka_name in _TOPICS)
    topic = getattr(message_class(schema.name), str(topics.struct_name))()
    partition = getattr(message_class(schema.name), str(partitions.struct_name))()
    for name, value in _UNKNOWN.items():
        if hasattr(partition, name):
            setattr(partition, name, value)
    setattr(topic, partitions.name, [partition])
    setattr(message, topics.name, [topic])
    throttle = _NO_THROTTLE
    if before and before[0].name == "throttle_time_ms":
        throttle = _IN_FRONT
    elif after and after[0].name == "throttle_time_ms":
        throttle = _BEHIND
    marks = _offsets(partitions.fields, version)
    known = [marks[name] for name in _MARKS if name in marks]
    body = encode_body(compile_layout(schema.name, version), message)
    is_fetch = bool(known) and schema.api_key == ApiKey.FETCH
    if not is_fetch:
        return Template(_shape(schema, version), body, throttle)
    return Template(_shape(schema, version), body, throttle, known[0], 8 * len(known))
