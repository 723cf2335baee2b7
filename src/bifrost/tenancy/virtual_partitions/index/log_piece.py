"""A piece of a physical partition's log, as it was read: its first and last batch, and the groups between.

A batch is known again by its place, the epoch of its leader and its checksum, which covers its producer, its times and
all records. A log in which another batch stands at the same place is another log, or one that was cut there.

Source: Kafka's DefaultRecordBatch for the header.
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.virtual_batches import last_offsets
from bifrost.wire.steps import in_steps

_HEADER = Struct(">qiibIhi")
"""Base offset, length, leader epoch, magic, checksum, attributes and the last offset delta."""
_UNCOUNTED = 12
"""Bytes of a batch that its length does not count."""
_TO_THE_END = 2**63 - 1


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
    marks = list(_marks(records, end))
    if not marks:
        return None
    return LogPiece(marks[0], marks[-1], end, {group: offset + 1 for group, offset in last.items()})


def _marks(records: bytes | memoryview, end: int) -> Iterator[BatchMark]:
    """Yield the marks of the first and the last whole batch, if there is one; they end at an offset at the latest."""
    found: BatchMark | None = None
    for offset, _, epoch, _, crc, _, delta in in_steps(_headers(records), 1):
        if offset + delta >= end:
            break
        is_first, found = found is None, BatchMark(offset, epoch, crc)
        if is_first:
            yield found
    if found is not None:
        yield found


def _headers(records: bytes | memoryview) -> Iterator[tuple[int, ...]]:
    at = 0
    while len(records) - at >= _HEADER.size:
        header = _HEADER.unpack_from(records, at)
        yield header
        at += _UNCOUNTED + header[1]
