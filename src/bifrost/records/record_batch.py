"""Builds a record batch (format v2) for the gateway's own records; clients' batches pass unchanged.

    base_offset int64, length int32 (of what follows), partition_leader_epoch int32, magic int8 = 2,
    crc uint32 (of what follows), attributes int16 (codec in bits 0 to 2, transactional: bit 4),
    last_offset_delta int32, base_timestamp int64, max_timestamp int64, producer_id int64, producer_epoch int16,
    base_sequence int32, count int32, records (compressed as a whole)

Source: Kafka's DefaultRecordBatch.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

from bifrost.records.crc32c import crc32c
from bifrost.records.record_writer import encode_records

_BEHIND_CRC = Struct(">hiqqqhii")
_BEFORE_CRC = Struct(">qiibI")
_MAGIC, _GZIP, _TRANSACTIONAL = 2, 1, 0x10
_UNCOUNTED = 12
"""Bytes of a batch that its length field does not count."""

GZIP_LEVEL = 1
"""Every level compresses the names repeated in each record well; this one takes the least time."""

Record = tuple[int, bytes | None, bytes | None]
"""Timestamp in milliseconds since 1970, key, value; a record without a value deletes its key in a compacted topic."""


@dataclass(frozen=True, slots=True)
class ProducerId:
    """The producer's identity, by which the broker recognises a batch that comes twice (KIP-98)."""

    producer_id: int = -1
    producer_epoch: int = -1


NO_PRODUCER = ProducerId()
"""A producer without idempotence."""


def compress(records: Sequence[Record]) -> bytes:
    """Return the records encoded for a batch, in gzip. Most of the time goes into zlib, which releases the GIL."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(encode_records(list(records), records[0][0])) + packer.flush()


def build_batch(
    records: Sequence[Record],
    compressed: bytes,
    producer: ProducerId = NO_PRODUCER,
    base_sequence: int = -1,
    *,
    is_transactional: bool = False,
) -> bytes:
    """Return a whole batch.

    Args:
        records: at least one.
        compressed: the same records, by `compress`.
        producer: the producer that sends it.
        base_sequence: of its first record, -1 without idempotence.
        is_transactional: whether the batch is part of the producer's transaction.
    """
    behind = _BEHIND_CRC.pack(
        _GZIP | (_TRANSACTIONAL if is_transactional else 0),
        len(records) - 1,
        records[0][0],
        max(record[0] for record in records),
        producer.producer_id,
        producer.producer_epoch,
        base_sequence,
        len(records),
    )
    crc = crc32c(behind + compressed)
    length = _BEFORE_CRC.size - _UNCOUNTED + len(behind) + len(compressed)
    return _BEFORE_CRC.pack(0, length, -1, _MAGIC, crc) + behind + compressed
