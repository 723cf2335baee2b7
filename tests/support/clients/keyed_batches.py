"""Batches of records with keys, as producers send them."""

from __future__ import annotations

from collections.abc import Sequence

from bifrost.records.codec.client_batch import as_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord
from support.clients.record_batches import TIMESTAMP_MS
from support.records.record_columns import batch_of, plenty

_TRANSACTIONAL = 0x10


def plain_batch(
    keys: Sequence[bytes | None],
    codec: int = 0,
    *,
    producer: tuple[int, int, int] = (-1, -1, -1),
    is_transactional: bool = False,
) -> bytes:
    """Return a batch with these keys, and values that say their places, by a producer's ID, epoch and sequence."""
    records = [ColumnRecord(row, row, key, b"value %d" % row) for row, key in enumerate(keys)]
    return batch_of(
        records,
        codec=codec,
        attributes=_TRANSACTIONAL * is_transactional,
        base_timestamp_ms=TIMESTAMP_MS,
        producer=producer,
    )


def records_of(batch: bytes | memoryview) -> list[ColumnRecord]:
    """Return the records of a batch."""
    return read_columns(as_batch(batch), plenty()).records()
