"""Record batches for the raw client, made by kafka-python."""

from __future__ import annotations

from collections.abc import Sequence

TIMESTAMP_MS = 1_700_000_000_000
"""Create time of the first record of a batch; each further one is a millisecond later."""


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
