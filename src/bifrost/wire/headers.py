"""Request and response headers, read without decoding (KIP-482 gave them tagged fields).

    request  v1  api_key int16, api_version int16, correlation_id int32, client_id nullable string (int16 length)
             v2  the same, then tagged fields
    response v0  correlation_id int32
             v1  the same, then tagged fields

The gateway skips tagged fields of a header and does not forward them: Kafka defines none. The broker may see a prefix
before the client ID. It treats a null client ID as an empty one (RequestHeader.parse), so a null one becomes the bare
prefix.
"""

from struct import Struct
from typing import NamedTuple

from bifrost.wire.errors import MalformedFrame

REQUEST_PREFIX = Struct(">hhih")
"""API key, API version, correlation ID, length of the client ID."""

MAX_TAGGED_FIELDS = 64
"""Most tagged fields of one header that are skipped. Kafka defines none so far, and each costs time."""

MAX_CLIENT_ID_BYTES = 0x7FFF
"""The longest string of the protocol."""

_NO_TAGS = b"\0"


class RequestHeader(NamedTuple):
    """The fields of the fixed part of a request header."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id_length: int


def read_request_header(frame: bytes | memoryview) -> RequestHeader:
    """Read the fixed part of a request header.

    Raises:
        MalformedFrame: the frame is too short for one, or the client ID's length is below -1.
    """
    if len(frame) < REQUEST_PREFIX.size:
        raise MalformedFrame("a request header is at least 10 bytes", len(frame))
    header = RequestHeader(*REQUEST_PREFIX.unpack_from(frame))
    if header.client_id_length < -1:
        raise MalformedFrame("negative length of client_id", 8)
    return header


def request_body_offset(
    frame: bytes | memoryview,
    client_id_length: int,
    is_flexible: bool,
    client_id_prefix: bytes | None = None,
    other_client_id: bytes | None = None,
) -> tuple[int, bytes | None]:
    """Return where the body starts, and the header to forward instead of this one.

    That is None when this one can stay: it has no tagged fields, and its client ID is to stay.

    Args:
        frame: the request, without its length.
        client_id_length: of its client ID, as `read_request_header` says.
        is_flexible: whether the header ends in tagged fields.
        client_id_prefix: what to put before the client ID; None: nothing.
        other_client_id: what to forward, behind the prefix, in place of the client ID; None: that one.
    Raises:
        MalformedFrame: the header ends beyond the frame, or the client ID has no room for its prefix.
    """
    start = REQUEST_PREFIX.size
    end = start + max(client_id_length, 0)
    offset, head = _body_offset(frame, end, is_flexible)
    if client_id_prefix is None and other_client_id is None:
        return offset, head
    own = bytes(frame[start:end]) if other_client_id is None else other_client_id
    client_id = (client_id_prefix or b"") + own
    if len(client_id) > MAX_CLIENT_ID_BYTES:
        raise MalformedFrame("the client ID has no room for the tenant's prefix", 8)
    head = bytes(frame[: start - 2]) + len(client_id).to_bytes(2, "big") + client_id
    return offset, head + _NO_TAGS if is_flexible else head


def response_body_offset(frame: bytes | memoryview, is_flexible: bool) -> tuple[int, bytes | None]:
    """Return where the body starts, and the header to forward instead when this one has tagged fields.

    Raises:
        MalformedFrame: the header ends beyond the frame.
    """
    return _body_offset(frame, 4, is_flexible)


def response_header(correlation_id: int, is_flexible: bool) -> bytes:
    """Return the header of a response."""
    header = correlation_id.to_bytes(4, "big", signed=True)
    return header + _NO_TAGS if is_flexible else header


def _body_offset(frame: bytes | memoryview, end: int, is_flexible: bool) -> tuple[int, bytes | None]:
    if end + is_flexible > len(frame):
        raise MalformedFrame("the header ends beyond the frame", len(frame))
    if not is_flexible:
        return end, None
    if frame[end] == 0:
        return end + 1, None
    return _skip_tagged_fields(frame, end), bytes(frame[:end]) + _NO_TAGS


def _skip_tagged_fields(frame: bytes | memoryview, offset: int) -> int:
    count, offset = _read_unsigned_varint(frame, offset)
    if count > MAX_TAGGED_FIELDS:
        raise MalformedFrame(f"a header has {count} tagged fields, more than {MAX_TAGGED_FIELDS}", offset)
    for _ in range(count):
        _tag, offset = _read_unsigned_varint(frame, offset)
        size, offset = _read_unsigned_varint(frame, offset)
        offset += size
        if offset > len(frame):
            raise MalformedFrame("a tagged field of the header ends beyond the frame", len(frame))
    return offset


def _read_unsigned_varint(frame: bytes | memoryview, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if offset >= len(frame):
            raise MalformedFrame("the header ends within a varint", offset)
        byte = frame[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
    raise MalformedFrame("a varint of the header has more than 5 bytes", offset)
