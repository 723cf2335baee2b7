"""A client's record batch (format v2): its header, its records as columns, and the same batch with other records.

The layout is in `bifrost.records.record_batch`. A batch that nothing changes keeps its bytes: `ClientBatch.data`.

Source: Kafka's DefaultRecordBatch, ByteBufferLogInputStream, TimestampType; KIP-98, KIP-534 (delete horizon).
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from bifrost.records.codec.columns import Columns
from bifrost.records.codec.compression import NAMES, unpack
from bifrost.records.codec.errors import CorruptBatch, OldFormat
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.codec.section_reader import read_section
from bifrost.records.codec.section_writer import write_batch
from bifrost.records.crc32c import crc32c

_HEADER = Struct(">qiibIhiqqqhii")
_LENGTH = Struct(">i")
_CHECKSUM = Struct(">I")
_LENGTH_AT, _MAGIC_AT, _CRC_FROM = 8, 16, 21
_UNCOUNTED = 12
"""Bytes of a batch that its length field does not count."""
_MAGIC = 2
_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40


class ClientBatch(NamedTuple):
    """A batch as it is on the wire, with the fields of its header."""

    data: memoryview
    """The whole batch."""
    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    """What timestamp deltas are added to; with a delete horizon it is that horizon."""
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def codec(self) -> int:
        """The number of the codec: an index of `NAMES`, or above them."""
        return self.attributes & _CODEC

    @property
    def is_control(self) -> bool:
        """Whether it is a marker of the coordinator's, which no transform sees."""
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_log_append_time(self) -> bool:
        """Whether all records have the time at which the broker appended them: `max_timestamp_ms`."""
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether compaction noted from when on its tombstones may go."""
        return bool(self.attributes & _DELETE_HORIZON)


def split_batches(data: memoryview, *, is_whole: bool) -> Iterator[ClientBatch]:
    """Yield the batches of a partition's records, each with its checksum compared.

    Args:
        data: the records of a Produce request or a Fetch response.
        is_whole: whether the last batch must be complete, as in Produce; Fetch may cut it off, and it is left
            out then.
    Raises:
        CorruptBatch: a batch is cut off or has another checksum.
        OldFormat: a batch is older than v2. Batches before it were yielded.
    """
    at = 0
    while len(data) - at > _MAGIC_AT:
        size = _LENGTH.unpack_from(data, at + _LENGTH_AT)[0] + _UNCOUNTED
        magic = data[at + _MAGIC_AT]
        if magic < _MAGIC:
            raise OldFormat(f"the batch has format v{magic}")
        if magic > _MAGIC or size < _HEADER.size:
            raise CorruptBatch(f"a batch of format v{magic} and {size} bytes")
        if size > len(data) - at:
            break
        yield _read_header(data[at : at + size])
        at += size
    if is_whole and at < len(data):
        raise CorruptBatch("the last batch is cut off")


def as_batch(data: bytes | memoryview) -> ClientBatch:
    """Return a batch that was made in this process: its checksum is not compared."""
    return ClientBatch(memoryview(data), *_HEADER.unpack_from(data))


def without_records(batch: ClientBatch) -> bytes:
    """Return a batch without its records, as compaction leaves one: consumers go on behind it."""
    header = _HEADER.pack(
        batch.base_offset,
        _HEADER.size - _UNCOUNTED,
        batch.partition_leader_epoch,
        _MAGIC,
        0,
        batch.attributes & ~_CODEC,
        batch.last_offset_delta,
        batch.base_timestamp_ms,
        batch.max_timestamp_ms,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        0,
    )
    checksum = _CHECKSUM.pack(crc32c(header[_CRC_FROM:]))
    return header[: _CRC_FROM - _CHECKSUM.size] + checksum + header[_CRC_FROM:]


def _read_header(data: memoryview) -> ClientBatch:
    batch = as_batch(data)
    if crc32c(data[_CRC_FROM:]) != batch.crc:
        raise CorruptBatch(f"the batch at offset {batch.base_offset} has another checksum than it says")
    return batch


def read_columns(batch: ClientBatch, budget: MemoryBudget) -> Columns:
    """Return the records of a batch as columns.

    Args:
        batch: no marker.
        budget: what the unpacked records and the columns are taken from, as long as a column lives. Records that are
            not compressed stay where they are and cost nothing.
    Raises:
        CorruptBatch: its compression or a record is malformed.
        TooLarge, NoRoom: it comes to more than the budget has.
    """
    if batch.codec >= len(NAMES):
        raise CorruptBatch(f"no codec has the number {batch.codec}")
    section = batch.data[_HEADER.size :]
    # Compaction leaves batches without records, and nothing behind their header, whatever their codec.
    if batch.codec == 0 or not section:
        return read_section(section, batch.record_count, budget)
    return read_section(unpack(batch.codec, section, budget), batch.record_count, budget)


def build_batch(
    batch: ClientBatch, columns: Columns, budget: MemoryBudget, *, level: int | None = None
) -> bytes:
    """Return the batch with other records.

    Producer, sequence, transaction, timestamp type, leader epoch, delete horizon, codec and the range of offsets stay;
    lengths, checksum, count and the maximum timestamp are those of the new records. A compacted batch may end behind
    its last record, so the last offset delta only grows.

    Args:
        batch: what the records were read from; no marker.
        columns: the records.
        budget: what the memory is taken from that is needed meanwhile.
        level: of compression (KIP-390); a batch does not tell what its producer had. None is Kafka's default.
    Raises:
        ValueError: the columns do not fit together.
        TooLarge, NoRoom: the batch comes to more than the budget has.
    """
    assert not batch.is_control
    last_offset_delta = batch.last_offset_delta
    if len(columns):
        last_offset_delta = max(last_offset_delta, columns.offset_deltas[len(columns) - 1])
    header = _HEADER.pack(
        batch.base_offset,
        0,
        batch.partition_leader_epoch,
        _MAGIC,
        0,
        batch.attributes,
        last_offset_delta,
        batch.base_timestamp_ms,
        batch.max_timestamp_ms,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(columns),
    )
    return write_batch(
        header, batch.codec, columns, level, budget, is_create_time=not batch.is_log_append_time
    )
