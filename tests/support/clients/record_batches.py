"""Record batches for the raw client, made by kafka-python."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct

TIMESTAMP_MS = (int(time.time()) - 60) * 1000
"""Create time of the first record of every batch of a session; each further one is a millisecond later.

Not a date of long ago: a broker looks for what is past its retention soon after its start.
"""


def build_batch(
    values: Sequence[bytes],
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    compression_type: int = 0,
) -> bytes:
    """Return one record batch (v2) with these values and no keys."""
    # Imported late: kafka-python warns when it is, and only tests know to ignore that.
    from kafka.record.default_records import DefaultRecordBatchBuilder

    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression_type,
        is_transactional=is_transactional,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=1 << 20,
    )
    for offset, value in enumerate(values):
        builder.append(offset, timestamp=TIMESTAMP_MS + offset, key=None, value=value, headers=[])
    return bytes(builder.build())


_HEADER = Struct(">qiibIhiqqqhii")
_CONTROL = 0x20


@dataclass(frozen=True)
class Batch:
    """One record batch (v2); what Kafka makes up is told apart from what the producer sent."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    payload: bytes

    @property
    def is_control(self) -> bool:
        """Whether it is a transaction's end, written by the broker."""
        return bool(self.attributes & _CONTROL)


def is_old_format(records: bytes | memoryview) -> bool:
    """Whether they are messages of format 0 or 1, to which brokers before 4.0 convert for Fetch before v4."""
    return len(records) > _MAGIC_AT and records[_MAGIC_AT] < 2


_MAGIC_AT = 16
"""In every format."""


def read_batches(records: bytes) -> Iterator[Batch]:
    """Yield the batches of a Fetch response, whose last one may be cut."""
    start = 0
    while start + _HEADER.size <= len(records):
        base_offset, length, epoch, magic, *rest = _HEADER.unpack_from(records, start)
        end = start + 12 + length
        if end > len(records):
            return
        assert magic == 2
        yield Batch(base_offset, length, epoch, *rest, records[start + _HEADER.size : end])
        start = end
