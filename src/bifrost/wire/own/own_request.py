"""Encodes a request of Bifrost's own, and decodes its response; sends nothing itself.

The gateway's `broker_client.py` uses it to ask brokers, and the jobs of the pipeline do.
"""

from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import WireError
from bifrost.wire.headers import REQUEST_PREFIX, response_body_offset
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import response_schema

CLIENT_ID = b"bifrost"
_UNSUPPORTED_VERSION = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")


def encode_request(message: Message, version: int, correlation_id: int) -> bytes:
    """Return a request as it is sent over a socket, with its length."""
    assert message.SCHEMA.api_key is not None
    head = REQUEST_PREFIX.pack(message.SCHEMA.api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    if message.SCHEMA.request_header_version(version) >= 2:
        head += b"\0"
    return encode(compile_layout(message.SCHEMA.name, version), message, head)


def decode_response(api_key: int, version: int, correlation_id: int, frame: bytes) -> Any:
    """Return the response in a frame, which is given without its length.

    Raises:
        WireError: the frame is no response, or answers another request.
    """
    check_correlation(correlation_id, frame)
    schema = response_schema(api_key)
    if api_key == ApiKey.API_VERSIONS and frame[4:6] == _UNSUPPORTED_VERSION:
        version = 0  # KIP-511: whatever was asked
    offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
    return decode(compile_layout(schema.name, version), frame, offset)


def check_correlation(correlation_id: int, frame: bytes) -> None:
    """Check that a frame answers the request with this correlation ID.

    Raises:
        WireError: it answers another one.
    """
    if int.from_bytes(frame[:4], "big") != correlation_id:
        raise WireError("an answer to another request", 0)
