"""Finds a record of a batch by its time: brokers look into batches likewise, for ListOffsets (FileRecords)."""

from typing import NamedTuple

from bifrost.records.codec.client_batch import as_batch, read_columns
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.wire.steps import in_steps

MAX_UNPACKED = 16 * 1024 * 1024
"""Most bytes of a batch that is unpacked to find a record by its time; of a larger one the first record is answered."""


class TimedRecord(NamedTuple):
    """A record."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
    """That of the leader that took it."""


def first_record_of(data: bytes | memoryview, time_ms: int, from_offset: int = 0) -> TimedRecord:
    """Return a record with this time that stands where the batch begins, or at an offset in it."""
    epoch = int.from_bytes(data[12:16], "big", signed=True)
    return TimedRecord(max(int.from_bytes(data[:8], "big", signed=True), from_offset), time_ms, epoch)


def first_record_since(data: bytes | memoryview, from_offset: int, time_ms: int) -> TimedRecord | None:
    """Return the first record of a batch, from an offset on, that is not older than a time.

    Where the batch cannot be unpacked its first record stands for it, with the latest time that its header says.

    Args:
        data: the batch.
        from_offset: the first offset that counts.
        time_ms: in milliseconds; the batch has a record that is not older.
    Returns:
        The record; None: only records before the offset are so late.
    """
    batch = as_batch(data)
    first = first_record_of(data, batch.max_timestamp_ms, from_offset)
    if batch.is_log_append_time:
        return first
    try:
        columns = read_columns(batch, MemoryBudget("request", MAX_UNPACKED))
        least = time_ms - batch.base_timestamp_ms
        deltas, offsets = columns.timestamp_deltas, columns.offset_deltas
        for row in in_steps(range(len(columns))):
            offset = batch.base_offset + offsets[row]
            if deltas[row] >= least and offset >= from_offset:
                return TimedRecord(offset, batch.base_timestamp_ms + deltas[row], first.leader_epoch)
    except RecordsError:
        return first
    return None
