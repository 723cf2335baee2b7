"""How a key or value says which schema it was written with: Confluent's wire format, or a header.

    in front of the payload    in the header __key_schema_id or __value_schema_id
    magic 0, ID (4 bytes)      magic 0, ID (4 bytes)
    magic 1, GUID (16 bytes)   magic 1, GUID (16 bytes)

Behind it, in both places, Protobuf has the indexes of the message: a zigzag varint that says how many, and as many; a
single 0 is the first message. `schema_ids.pyx` is the same for all records of a batch at once.

Source: Confluent's wire format; SchemaId, HeaderSchemaIdSerializer and DualSchemaIdDeserializer of its clients.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from bifrost.records.codec.columns import Header

KEY_HEADER: Final = b"__key_schema_id"
VALUE_HEADER: Final = b"__value_schema_id"

NO_ID: Final = -1
"""In place of a schema's ID: the bytes name none."""
TWO_IDS: Final = -2
"""Likewise: the record has the header twice, and clients differ in which one they read."""

SchemaId = int | bytes
"""A number, a GUID of 16 bytes, or one of the two above."""

_SIZES = {0: 4, 1: 16}
"""Bytes of an ID by the magic byte before it."""
MAX_INDEXES: Final = 64
"""Most indexes of a Protobuf message: so deep messages are within messages."""
_MAX_VARINT = 5


class Unreadable(Exception):
    """Bytes do not read under a schema. The text says why, without any of them."""


Buffer = bytes | memoryview


class Payload(NamedTuple):
    """A key or value as it names its schema."""

    schema_id: SchemaId
    data: Buffer
    """What the schema describes, with the indexes of a Protobuf message before it if these are there too."""
    indexes: Buffer = b""
    """What is behind the ID in the header."""


def read_payload(data: Buffer, headers: Sequence[Header], header_key: bytes) -> Payload:
    """Return which schema a key or value names, and what is to be read under it.

    Args:
        data: the key or value, not null.
        headers: of the record.
        header_key: KEY_HEADER or VALUE_HEADER.
    """
    own = [value for key, value in headers if key == header_key and value is not None]
    if len(own) > 1:
        return Payload(TWO_IDS, b"")
    if own:
        schema_id, at = _read_id(own[0])
        return Payload(schema_id, data, own[0][at:])
    schema_id, at = _read_id(data)
    return Payload(schema_id, data[at:])


def _read_id(data: Buffer) -> tuple[SchemaId, int]:
    size = _SIZES.get(data[0], 0) if data else 0
    if not size or len(data) <= size:
        return NO_ID, 0
    found = bytes(data[1 : 1 + size])
    return (int.from_bytes(found) if size == _SIZES[0] else found), 1 + size


def told(schema_id: SchemaId) -> str:
    """Return what an ID is called in a text: a number, or the form of a GUID."""
    if isinstance(schema_id, int):
        return str(schema_id)
    digits = schema_id.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def read_indexes(payload: Payload) -> tuple[tuple[int, ...], Buffer]:
    """Return the indexes of a Protobuf message, and the message.

    Raises:
        Unreadable: they are cut off, too many or negative.
    """
    source = payload.indexes or payload.data
    count, at = _read_varint(source, 0)
    if not 0 <= count <= MAX_INDEXES:
        raise Unreadable("the indexes of the message are not possible")
    found = []
    for _ in range(count):
        index, at = _read_varint(source, at)
        if index < 0:
            raise Unreadable("an index of the message is negative")
        found.append(index)
    if payload.indexes and at != len(source):
        raise Unreadable("bytes behind the indexes of the message")
    return tuple(found) or (0,), payload.data if payload.indexes else source[at:]


def _read_varint(data: Buffer, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MAX_VARINT):
        if at + place >= len(data):
            raise Unreadable("the indexes of the message are cut off")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + place + 1
    raise Unreadable("an index of the message is too long")
