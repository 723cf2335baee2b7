"""Reads record batches (format v2) of the gateway's own topics; clients' batches pass unread.

It reads what `record_batch.py` writes: records that are not compressed or in gzip. A batch with another codec, an older
format or a wrong checksum is an error. The layout of a batch is in `record_batch.py`, of a record in
`record_writer.pyx`; `record_reader.pyx` reads those.

Source: Kafka's DefaultRecordBatch, DefaultRecord and ControlRecordType.
"""

import zlib
from collections.abc import Iterator
from struct import Struct, error
from typing import NamedTuple

from bifrost.records.crc32c import crc32c
from bifrost.records.record_reader import read_records

_HEADER = Struct(">qiibIhiqqqhii")
_CONTROL_KEY = Struct(">hh")
_LENGTH_AT, _MAGIC_AT, _CRC_FROM = 8, 16, 21
_UNCOUNTED = 12
"""Bytes of a batch that its length field does not count."""

_MAGIC = 2
_CODEC, _TRANSACTIONAL, _CONTROL = 0x07, 0x10, 0x20
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_NONE, _GZIP = 0, 1
_ABORT, _COMMIT = 0, 1

MAX_RECORDS_BYTES = 64 * 1024 * 1024
"""Most bytes that the records of a batch may have when they are decompressed: far more than the gateway writes into
one, so that a broken batch cannot take all memory."""


class UnreadableBatch(ValueError):
    """A batch is none that the gateway can read; the text says at which offset and why."""


class LogRecord(NamedTuple):
    """A record as it is in the log."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class LogBatch(NamedTuple):
    """A batch as it is in the log."""

    base_offset: int
    last_offset: int
    producer_id: int
    is_transactional: bool
    is_commit: bool
    """Whether it is the marker that commits its producer's transaction."""
    is_abort: bool
    """Whether it is the marker that aborts its producer's transaction."""
    records: list[LogRecord]
    """Its records; none in a marker."""


def read_batches(data: bytes | memoryview) -> Iterator[LogBatch]:
    """Yield the batches of a Fetch response; the last one may be incomplete, and is left out then.

    Raises:
        UnreadableBatch: see there.
    """
    view, at = memoryview(data), 0
    while len(view) - at >= _UNCOUNTED:
        size = int.from_bytes(view[at + _LENGTH_AT : at + _UNCOUNTED], "big", signed=True) + _UNCOUNTED
        if size < _MAGIC_AT:
            raise UnreadableBatch(f"a batch of {size} bytes")
        if len(view) - at < size:
            return
        yield _read_batch(view[at : at + size])
        at += size


def _read_batch(batch: memoryview) -> LogBatch:
    base_offset = int.from_bytes(batch[:8], "big", signed=True)
    if len(batch) < _HEADER.size or batch[_MAGIC_AT] != _MAGIC:
        raise UnreadableBatch(
            f"offset {base_offset}: the batch is not of format v2, which Kafka 0.11 brought"
        )
    _, _, _, _, crc, attributes, last_delta, base_timestamp, _, producer_id, _, _, count = (
        _HEADER.unpack_from(batch)
    )
    if crc != crc32c(batch[_CRC_FROM:]):
        raise UnreadableBatch(f"offset {base_offset}: the batch's checksum is wrong")
    packed = batch[_HEADER.size :]
    try:
        data = _unpacked(packed, attributes & _CODEC)
        records = read_records(data, LogRecord, base_offset, base_timestamp, count)
    except (IndexError, ValueError, zlib.error, error) as reason:
        raise UnreadableBatch(f"offset {base_offset}: {reason}") from None
    is_commit = is_abort = False
    if attributes & _CONTROL:
        kind = _CONTROL_KEY.unpack_from(records[0].key or b"")[1] if records else -1
        is_commit, is_abort, records = kind == _COMMIT, kind == _ABORT, []
    is_transactional = bool(attributes & _TRANSACTIONAL)
    return LogBatch(
        base_offset, base_offset + last_delta, producer_id, is_transactional, is_commit, is_abort, records
    )


def _unpacked(packed: memoryview, codec: int) -> bytes:
    if codec == _NONE:
        return bytes(packed)
    if codec != _GZIP:
        name = _CODECS[codec] if codec < len(_CODECS) else str(codec)
        raise ValueError(f"the batch is compressed by {name}: set compression.type=producer for the topic")
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    records = unpacker.decompress(packed, MAX_RECORDS_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"its records have more than {MAX_RECORDS_BYTES} bytes")
    return records
