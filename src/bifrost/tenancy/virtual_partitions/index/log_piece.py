"""A piece of a physical partition's log, as it was read: its first and last batch, and the groups between.

A batch is known again by its place, the epoch of its leader and its checksum, which covers its producer, its times and
all records. A log in which another batch stands at the same place is another log, or one that was cut there.

Source: Kafka's DefaultRecordBatch for the header.
"""

from collections.abc import Mapping
from itertools import repeat
from struct import Struct
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.virtual_batches import last_offsets
from bifrost.wire.steps import in_steps

_HEADER, _LENGTH = Struct(">qiibI"), Struct(">i")
"""Base offset, length, leader epoch, magic and checksum."""
_LENGTH_AT = 8
_LEAST, _UNCOUNTED = 61, 12
"""Bytes of a batch without records, and those that its length does not count."""
_TO_THE_END = 2**63 - 1
_AT_A_TIME = 64
"""Batches that are passed over between two looks whether others have to be served."""


class BatchMark(NamedTuple):
    """What a batch is known by."""

    offset: int
    """Of its first record."""
    leader_epoch: int
    """Of the leader that has stored it."""
    crc: int


class LogPiece(NamedTuple):
    """Some batches that follow each other."""

    first: BatchMark
    last: BatchMark
    end: int
    """Behind the last batch."""
    ends: Mapping[int, int]
    """Behind the last record of each group that has one in it."""


def read_piece(records: bytes | memoryview, *, is_keyed: bool) -> LogPiece | None:
    """Return what a broker has sent of a log; None: there is no whole batch in it.

    Args:
        records: of one physical partition.
        is_keyed: whether the topic is compacted.
    Raises:
        UnfitBatch: a batch does not say whose it is.
    """
    end, last = last_offsets(records, _TO_THE_END, is_keyed)
    if end < 0:
        return None
    ends = {group: offset + 1 for group, offset in last.items()}
    return LogPiece(mark_of(records), mark_of(records, _last_batch(records)), end, ends)


def mark_of(records: bytes | memoryview, at: int = 0) -> BatchMark:
    """Return what a batch is known by that begins there."""
    offset, _, epoch, _, crc = _HEADER.unpack_from(records, at)
    return BatchMark(offset, epoch, crc)


def _last_batch(records: bytes | memoryview) -> int:
    """Return where the last whole batch begins; the first one is whole."""
    begin, at, left = 0, 0, len(records)
    for _ in in_steps(repeat(None), _AT_A_TIME // 4):
        for _ in range(_AT_A_TIME):
            size = (
                _UNCOUNTED + _LENGTH.unpack_from(records, at + _LENGTH_AT)[0] if left >= _LEAST else left + 1
            )
            if not _LEAST <= size <= left:
                return begin
            begin, at, left = at, at + size, left - size
    raise AssertionError("the records end")
