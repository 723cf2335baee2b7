"""What compressed record batches hold that a client was given: a search over the connection's bytes does not see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafka.codec import gzip_decode, lz4_decode, snappy_decode, zstd_decode

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.schema import FieldType
from support.clients.raw_client import decode_response
from support.clients.tap import Connection

GIVES_RECORDS = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH})
DECODERS: dict[int, tuple[str, Callable[[bytes], bytes]]] = {
    1: ("gzip", gzip_decode),
    2: ("snappy", snappy_decode),
    3: ("lz4", lz4_decode),
    4: ("zstd", zstd_decode),
}
"""By the codec's number in a batch's attributes."""
_LENGTH_END, _ATTRIBUTES, _RECORDS = 12, 21, 61
"""Places in a record batch (v2): behind its length, of its attributes, of its first record."""


def unpacked(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield the codec and the records of each compressed batch that a client was given whole."""
    for request, answer in connection.answers():
        if request.api_key in GIVES_RECORDS:
            response = decode_response(request.api_key, request.api_version, answer[4:])
            for records in _records_in(response):
                yield from unpacked_batches(records)


def unpacked_batches(records: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the codec and the records of each compressed batch; a last one that is cut off is left out."""
    start = 0
    while start + _RECORDS <= len(records):
        end = start + _LENGTH_END + int.from_bytes(records[start + 8 : start + _LENGTH_END], "big")
        codec = int.from_bytes(records[start + _ATTRIBUTES : start + _ATTRIBUTES + 2], "big") & 7
        # Batches of older formats (magic below 2) are answers to old versions only, and never compressed here.
        if codec and records[start + 16] == 2 and end <= len(records):
            name, decode = DECODERS[codec]
            yield name, decode(records[start + _RECORDS : end])
        start = end


def _records_in(struct: Any) -> Iterator[bytes]:
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.type is FieldType.RECORDS:
            if value:
                yield bytes(value)
        elif isinstance(value, list):
            for item in value:
                if hasattr(item, "FIELDS"):
                    yield from _records_in(item)
        elif hasattr(value, "FIELDS"):
            yield from _records_in(value)
