"""Large requests of any API and version, written from its schema alone: longest lists, deepest lists, longest strings,
most tagged fields.

An element of a list is written once, with markers in it, and then once for each number, so that all names, IDs and
partitions differ and a megabyte takes milliseconds. Nothing is created by them: what has a switch to only validate has
it on, and where there is none names are such as no topic can have.
"""

import struct
from collections.abc import Iterator, Sequence
from enum import Enum

from bench.frames import CLIENT_ID, record_batch
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.schema import Field, FieldType, MessageSchema, all_schemas

NAME = b"n%07d"
BAD_NAME = b"/%07d"
"""No topic can have it, so it is not created by asking for it (Topic.validate)."""
MARK = b"n9999999"
NUMBER_MARK = b"\x7f\x6e\x6d\x6c"
LONGEST_STRING = 32_767
"""Of a STRING, compact or not: an int16 is all that Kafka takes (MessageGenerator)."""
FIRST_TAG = 10_000
"""No field has such a tag."""

_CREATES = {"MetadataRequest": 4, "CreateTopicsRequest": 1}
"""Requests that make topics in versions below this one, whatever they say."""
_TRUE = {"ValidateOnly", "DryRun"}
_NUMBERS = {
    "Acks": 1,
    "TimeoutMs": 1000,
    "MaxBytes": 1 << 20,
    "PartitionMaxBytes": 1 << 20,
    "ReplicaId": -1,
    "SessionEpoch": -1,
    "SessionTimeoutMs": 10_000,
    "RebalanceTimeoutMs": 10_000,
    "TransactionTimeoutMs": 10_000,
    "ResponsePartitionLimit": 2000,
}
_SIZES = {
    FieldType.INT8: 1,
    FieldType.INT16: 2,
    FieldType.UINT16: 2,
    FieldType.INT32: 4,
    FieldType.UINT32: 4,
    FieldType.INT64: 8,
}


class Shape(Enum):
    """What is large about a request."""

    LISTS = "longest lists"
    DEEP = "longest lists within lists"
    STRINGS = "longest strings"
    TAGS = "most tagged fields"


def requests() -> Iterator[tuple[MessageSchema, int]]:
    """Yield every request that a broker or a controller may be sent, at each of its versions."""
    for schema in all_schemas():
        if schema.kind == "request" and schema.api_key is not None:
            for version in schema.versions:
                yield schema, version


def can_have(schema: MessageSchema, version: int, shape: Shape) -> bool:
    """Return whether a request can be large in this way."""
    fields = [one for one in schema.fields if version in one.versions and not one.is_tagged(version)]
    match shape:
        case Shape.LISTS:
            return any(one.is_array for one in fields)
        case Shape.DEEP:
            return any(_has_list(one.fields, version) for one in fields if one.is_array)
        case Shape.STRINGS:
            return any(_has_text(one, version) for one in fields)
        case Shape.TAGS:
            return schema.is_flexible(version)


def build(schema: MessageSchema, version: int, shape: Shape, size: int) -> bytes:
    """Return a whole request of about `size` bytes, its length included."""
    assert schema.api_key is not None
    writer = _Writer(schema, version, shape, size)
    head = REQUEST_PREFIX.pack(schema.api_key, version, 1, len(CLIENT_ID)) + CLIENT_ID
    if schema.request_header_version(version) >= 2:
        head += b"\0"
    body = writer.struct(schema.fields, 0)
    for mark, number in ((MARK, NAME % 0), (NUMBER_MARK, bytes(4))):
        body = body.replace(mark, number)
    if writer.names is BAD_NAME:
        body = body.replace(NAME % 0, BAD_NAME % 0)
    frame = head + body
    return struct.pack(">i", len(frame)) + frame


class _Writer:
    def __init__(self, schema: MessageSchema, version: int, shape: Shape, size: int) -> None:
        self._version, self._shape = version, shape
        self._flexible = schema.is_flexible(version)
        self.names = BAD_NAME if version < _CREATES.get(schema.name, 0) else NAME
        places = max(_count_places(schema.fields, version, shape, self._flexible, 0), 1)
        self._share = size // places
        self._is_in_tag = False
        """Whether a known tagged field is written: there lists and strings are long instead of tagged fields."""

    def struct(self, fields: tuple[Field, ...], depth: int) -> bytes:
        present = [one for one in fields if self._version in one.versions]
        parts = [self._field(one, depth) for one in present if not one.is_tagged(self._version)]
        if self._flexible:
            is_full = self._shape is Shape.TAGS and not self._is_in_tag
            parts.append(self.tags(present) if is_full else b"\0")
        return b"".join(parts)

    def tags(self, fields: list[Field]) -> bytes:
        """Return the known tagged fields, as large as can be, and as many others as find room, of a byte each."""
        known = [(one.tag or 0, self._tag(one)) for one in fields if one.is_tagged(self._version)]
        return tagged_fields(self._share, sorted(known))

    def _tag(self, field: Field) -> bytes:
        self._is_in_tag = True
        content = self._field(field, 0)
        self._is_in_tag = False
        return content

    def _field(self, field: Field, depth: int) -> bytes:
        if not field.is_array:
            if field.type is FieldType.STRUCT:
                present = b"\x01" if self._version in field.nullable else b""
                return present + self.struct(field.fields, depth)
            return self._scalar(field, is_long=self._is_in_tag and depth == 0)
        element = (
            self.struct(field.fields, depth + 1) if field.type is FieldType.STRUCT else self._scalar(field)
        )
        is_long = (self._shape is Shape.LISTS or self._is_in_tag) and depth == 0
        is_long |= self._shape is Shape.DEEP and depth == 1
        count = max(self._share // max(len(element), 1), 1) if is_long else 1
        head = varint(count + 1) if self._flexible else struct.pack(">i", count)
        if not is_long:
            return head + element
        return head + b"".join(
            element.replace(MARK, self.names % number).replace(NUMBER_MARK, struct.pack(">i", number))
            for number in range(count)
        )

    def _scalar(self, field: Field, *, is_long: bool = False) -> bytes:
        match field.type:
            case FieldType.BOOL:
                return bytes([field.kafka_name in _TRUE])
            case FieldType.UUID:
                return MARK * 2
            case FieldType.FLOAT64:
                return bytes(8)
            case FieldType.STRING | FieldType.BYTES | FieldType.RECORDS:
                return self._text(field, is_long=is_long or self._shape is Shape.STRINGS)
        size = _SIZES[field.type]
        if field.type is FieldType.INT32 and ("Partition" in field.kafka_name or field.kafka_name == "Index"):
            return NUMBER_MARK
        return (_NUMBERS.get(field.kafka_name, 0)).to_bytes(size, "big", signed=True)

    def _text(self, field: Field, *, is_long: bool) -> bytes:
        content = MARK
        if field.type is FieldType.RECORDS:
            content = _BATCH
        elif is_long:
            most = LONGEST_STRING if field.type is FieldType.STRING else self._share
            content = MARK + b"x" * (min(most, self._share) - len(MARK))
        if self._flexible:
            return varint(len(content) + 1) + content
        return struct.pack(">h" if field.type is FieldType.STRING else ">i", len(content)) + content


def _count_places(fields: tuple[Field, ...], version: int, shape: Shape, flexible: bool, depth: int) -> int:
    """Return at how many places of a request, one element to a list, it is large."""
    count = int(shape is Shape.TAGS and flexible)
    for one in fields:
        if version not in one.versions:
            continue
        if one.is_tagged(version):
            count += shape is Shape.TAGS
            continue
        below = depth + one.is_array
        is_list = one.is_array and (shape, depth) in ((Shape.LISTS, 0), (Shape.DEEP, 1))
        is_text = shape is Shape.STRINGS and one.type in (FieldType.STRING, FieldType.BYTES)
        count += is_list + is_text
        if one.type is FieldType.STRUCT and not is_list:
            count += _count_places(one.fields, version, shape, flexible, below)
    return count


def _has_list(fields: tuple[Field, ...], version: int) -> bool:
    return any(one.is_array for one in fields if version in one.versions and not one.is_tagged(version))


def _has_text(field: Field, version: int) -> bool:
    if version not in field.versions or field.is_tagged(version):
        return False
    if field.type is FieldType.STRUCT:
        return any(_has_text(one, version) for one in field.fields)
    return field.type in (FieldType.STRING, FieldType.BYTES)


def tagged_fields(size: int, known: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """Return about `size` bytes of unknown tagged fields, of a byte each, behind the known ones in order."""
    count = max(size // (len(varint(FIRST_TAG)) + 2), 1)
    head = b"".join(varint(tag) + varint(len(content)) + content for tag, content in known)
    unknown = b"".join(varint(FIRST_TAG + number) + b"\x01x" for number in range(count))
    return varint(len(known) + count) + head + unknown


def varint(number: int) -> bytes:
    """Return an unsigned varint."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


_BATCH, _ = record_batch(200, 100)
