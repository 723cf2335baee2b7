"""A partition's log as a broker stores it: batches at offsets, and the markers that end transactions."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from bifrost.records.crc32c import crc32c
from bifrost.records.record_batch import NO_PRODUCER, ProducerId, Record, build_batch, compress
from bifrost.records.record_writer import encode_records

_CONTROL_AND_TRANSACTIONAL = 0x30
_KEY, _VALUE = Struct(">hh"), Struct(">hi")


def records_at(offset: int, records: Sequence[Record], producer_id: int | None = None) -> bytes:
    """Return a batch that begins at an offset, in a transaction if it has a producer."""
    producer = NO_PRODUCER if producer_id is None else ProducerId(producer_id, 0)
    is_transactional = producer_id is not None
    batch = build_batch(records, compress(records), producer, 0, is_transactional=is_transactional)
    return offset.to_bytes(8, "big") + batch[8:]


def batch_at(offset: int, values: Sequence[bytes], producer_id: int | None = None) -> bytes:
    """Return a batch of values that begins at an offset, in a transaction if it has a producer."""
    return records_at(offset, [(1000, b"k", value) for value in values], producer_id)


def marker_at(offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    """Return the marker that commits or aborts a producer's transaction."""
    packed = encode_records([(1000, _KEY.pack(0, int(is_commit)), _VALUE.pack(0, 0))], 1000)
    batch = bytearray(build_batch([(1000, None, b"")], b"", ProducerId(producer_id, 0), -1) + packed)
    batch[:8] = offset.to_bytes(8, "big")
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[21:23] = _CONTROL_AND_TRANSACTIONAL.to_bytes(2, "big")
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)
