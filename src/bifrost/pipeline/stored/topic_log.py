"""The batches of a range of offsets as they are stored: of every format, compressed or not, sealed or not.

A batch belongs to the range that has its last offset, so that ranges beside each other have each batch once, and the
first one has a batch of which retention deleted the beginning.

Source: Kafka's DefaultRecordBatch and LegacyRecord (offset and length stand first in every format).
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.topic_client import (
    READ_UNCOMMITTED,
    DeletedOffset,
    TopicClient,
)

_START = Struct(">qi")
_DELTA = Struct(">i")
_TIMESTAMP = Struct(">q")
_MAGIC_AT, _DELTA_AT, _MAX_TIMESTAMP_AT, _OLD_TIMESTAMP_AT = 16, 23, 35, 18
_UNCOUNTED = 12
"""Bytes of a batch that its length does not count."""
_LEAST = {0: 26, 1: 34, 2: 61}
"""Bytes that a batch has at the least, by its format."""
NO_TIMESTAMP = -1
MAX_EMPTY_ANSWERS = 20
"""Answers without a batch, each after a wait of half a second, before the end of a range: then it cannot be read."""


class OffsetRange(NamedTuple):
    """What one task reads."""

    topic: str
    partition: int
    start: int
    end: int
    """The offset behind the last one."""


class StoredBatch(NamedTuple):
    """A batch as a broker has it."""

    topic: str
    partition: int
    base_offset: int
    """In formats before v2 the last offset: they do not say the first."""
    last_offset: int
    timestamp_ms: int
    """The latest of its records; -1 where the format has none."""
    data: memoryview
    """The whole batch."""


class ReadRange(NamedTuple):
    """A step of reading a range: batches of one answer."""

    batches: list[StoredBatch]
    aborted: tuple[tuple[int, int], ...]
    """See `Fetched`."""


def read_range(
    client: TopicClient, wanted: OffsetRange, *, isolation: int = READ_UNCOMMITTED, skips_deleted: bool = True
) -> Iterator[ReadRange]:
    """Yield the batches of a range, some at a time.

    Args:
        client: asks the brokers.
        wanted: the range.
        isolation: READ_COMMITTED also gives the aborted transactions.
        skips_deleted: whether offsets that retention deletes meanwhile are passed over; else they are an error.
    Raises:
        PipelineError: the range cannot be read to its end.
    """
    topic, partition, offset, end = wanted
    empty = 0
    while offset < end:
        try:
            answer = client.fetch(topic, partition, offset, isolation)
        except DeletedOffset:
            start = client.offset(topic, partition, -2)
            if not skips_deleted or start <= offset:
                raise PipelineError(
                    f"{topic}-{partition} has no offset {offset} any more: raise its retention while it is read"
                ) from None
            offset = start
            continue
        found = []
        for data in split_raw(answer.data):
            batch = _stored(topic, partition, data)
            if batch.last_offset < offset:
                continue
            offset = batch.last_offset + 1
            if batch.last_offset >= end:
                break
            found.append(batch)
        empty = 0 if found else empty + 1
        if empty > MAX_EMPTY_ANSWERS:
            raise PipelineError(f"{topic}-{partition}: the broker has nothing at offset {offset}")
        if found:
            yield ReadRange(found, answer.aborted)


def split_raw(data: memoryview) -> Iterator[memoryview]:
    """Yield the whole batches of an answer, whatever is in them; one that is cut off at the end is left out.

    Raises:
        PipelineError: a length is impossible, so that the next batch cannot be found.
    """
    at = 0
    while len(data) - at > _MAGIC_AT:
        offset, length = _START.unpack_from(data, at)
        size, magic = length + _UNCOUNTED, data[at + _MAGIC_AT]
        if size < _LEAST.get(magic, _MAGIC_AT + 1):
            raise PipelineError(f"the batch at offset {offset} says that it has {size} bytes")
        if size > len(data) - at:
            return
        yield data[at : at + size]
        at += size


def _stored(topic: str, partition: int, data: memoryview) -> StoredBatch:
    base_offset = last_offset = int(_START.unpack_from(data)[0])
    magic, timestamp_ms = data[_MAGIC_AT], NO_TIMESTAMP
    if magic >= 2:
        last_offset += _DELTA.unpack_from(data, _DELTA_AT)[0]
        timestamp_ms = _TIMESTAMP.unpack_from(data, _MAX_TIMESTAMP_AT)[0]
    elif magic == 1:
        timestamp_ms = _TIMESTAMP.unpack_from(data, _OLD_TIMESTAMP_AT)[0]
    return StoredBatch(topic, partition, base_offset, last_offset, timestamp_ms, data)
