"""The tag of a transactional batch: a header of its first record that says the group of its virtual partition.

    headers of the first record:  __virtual_partition_group (the group)  then those of the producer

The producer ID of a transaction is the one that the coordinator knows, so it has no room for a mark
(virtual_batches.pyx). A record's header is kept by a broker that recompresses a batch or puts its own time in. A batch
of group 0 has no tag; a group up to 255 stands in one byte, a higher one in two. The gateway alone writes tags: a batch
of a client that begins with one is refused, and what consumers get has none. A batch is unpacked for it, and packed
again if it has a tag.

A claim is a batch of the gateway's own (transaction_claims.py), of one record without key and value, whose header is
`__virtual_partition_claim` with the claim's mark. It is of no group.

Compaction may remove the first record. In a compacted topic the key of each record says the group instead
(compacted/), so there is no tag, and a claim has a key that begins with 255. What has no record left is of no group.

Source: Kafka's DefaultRecord, DefaultRecordBatch.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import NamedTuple

from bifrost.records.codec.client_batch import ClientBatch, as_batch
from bifrost.records.codec.compression import NAMES, compress_pieces, unpack
from bifrost.records.codec.errors import CorruptBatch, OldFormat, RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.compacted.key_groups import (
    KEYED_GROUPS,
    MOST_GROWTH,
    first_group,
    with_group,
)
from bifrost.tenancy.virtual_partitions.first_headers import has_header
from bifrost.wire.error_codes import ErrorCode

TAG = b"__virtual_partition_group"
"""The header's key."""
CLAIM = b"__virtual_partition_claim"
"""That of a claim."""
MAX_UNPACKED = 16 * 1024 * 1024
"""Most bytes of the records of a transactional batch, unpacked; producers have batches of 16 KiB to 1 MiB. Likewise of
any batch of a compacted topic."""
MAX_KEYED = int(MAX_UNPACKED * MOST_GROWTH) + 1
"""Most bytes of such records with groups before their keys."""
GROUPS = 512
"""As in virtual_batches.pxd."""

_HEADER, _CRC_FROM, _MAGIC = 61, 21, 2
_LENGTH, _CHECKSUM, _SEQUENCE = Struct(">i"), Struct(">I"), Struct(">i")
_LENGTH_AT, _MAGIC_AT, _CHECKSUM_AT, _SEQUENCE_AT, _UNCOUNTED = 8, 16, 17, 53, 12
_ATTRIBUTES_AT, _MAX_TIME_AT, _PRODUCER_ID_AT, _COUNT_AT = 21, 35, 43, 57
_TRANSACTIONAL = b"\0\x10"
"""Attributes: not compressed, with the producer's times."""
_NONE = b"\x01"
"""A varint: -1, the length of a key or value that is null."""
_LONGEST_VARINT = 10
_ROOM_FOR_TAG = 1024
"""Bytes by which a tag makes the records longer, at the most."""
_ABORT = b"\0\0"
_CLAIMS_KEY = b"\xff"
"""The key of a claim in a compacted topic begins with it: no group has this number. The producer ID follows, so that
compaction keeps the last claim of each."""

Records = bytes | memoryview


class ForeignTag(RecordsError):
    """A client has sent a tag."""

    error_code = ErrorCode.INVALID_RECORD


class NotTransactional(RecordsError):
    """A batch that is no part of a transaction."""

    error_code = ErrorCode.INVALID_TXN_STATE


class NullKeys(RecordsError):
    """Records of a compacted topic have no key; Kafka's LogValidator answers likewise."""

    error_code = ErrorCode.INVALID_RECORD

    def __init__(self, rows: list[int]) -> None:
        """Take the first hundred of them, counted from 0."""
        super().__init__("a compacted topic takes no record without a key")
        self.rows = rows


class _First(NamedTuple):
    """Where the first record has what."""

    body: int
    end: int
    count_at: int
    """The count of headers."""
    headers_at: int
    header_count: int


class Numbered(NamedTuple):
    """What identifies a batch for its producer."""

    producer_id: int
    producer_epoch: int
    sequence: int
    record_count: int
    """How many: the sequence of the next batch is so much higher."""


class TransactionalBatch:
    """A transactional batch of a client, before it gets its tag and its sequence."""

    __slots__ = ("_batch", "_is_keyed", "_section", "number")

    def __init__(
        self, records: Records, budget: MemoryBudget | None = None, key_group: int | None = None
    ) -> None:
        """Look at what a Produce has for a partition.

        Args:
            records: the batch.
            budget: what the request may unpack, of which the batch has MAX_UNPACKED at the most; None: so much.
            key_group: in a compacted topic the group, which `tagged` gets as well; None: it is none.
        Raises:
            RecordsError: a broker would not take it, or it cannot be tagged.
        """
        data = memoryview(records)
        if len(data) > _MAGIC_AT and data[_MAGIC_AT] != _MAGIC:
            raise OldFormat(f"a batch of format {data[_MAGIC_AT]}")
        if len(data) < _HEADER:
            raise CorruptBatch(f"a batch of {len(data)} bytes")
        batch = as_batch(data)
        if batch.length + _UNCOUNTED != len(data):
            raise CorruptBatch("not one whole batch")
        if crc32c(data[_CRC_FROM:]) != batch.crc:
            raise CorruptBatch("a batch with a wrong checksum")
        if not batch.is_transactional or batch.is_control:
            raise NotTransactional("a batch that is no part of a transaction")
        if batch.producer_id < 0 or batch.producer_id >> 40 or batch.base_sequence < 0:
            raise NotTransactional("a batch without a producer ID that a broker gives, or without a sequence")
        if batch.record_count < 1 or batch.last_offset_delta != batch.record_count - 1:
            raise CorruptBatch("a batch whose last offset is not that of its last record")
        self._batch, self._section = batch, unpacked(batch, MAX_UNPACKED, budget)
        first = _first(self._section)
        if _headers_have_tag(self._section, first):
            raise ForeignTag(f"the headers {TAG.decode()} and {CLAIM.decode()} are the gateway's own")
        self._is_keyed = key_group is not None
        if key_group is not None:
            self._section = keyed_section(self._section, batch.record_count, key_group)
        self.number = Numbered(
            batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.record_count
        )

    def tagged(self, group: int, sequence: int) -> tuple[Records, ...]:
        """Return the batch of a group with another sequence, in pieces."""
        header = bytearray(self._batch.data[:_HEADER])
        _SEQUENCE.pack_into(header, _SEQUENCE_AT, sequence)
        if self._is_keyed:
            return sealed(header, packed(self._batch.codec, self._section))
        if not group:
            return sealed(header, (self._batch.data[_HEADER:],))
        section = self._section
        first, size = _first(section), 1 + (group > 0xFF)
        tag = _varint(len(TAG)) + TAG + _varint(size) + group.to_bytes(size, "big")
        headers = _varint(first.header_count + 1) + tag, section[first.headers_at : first.end]
        return _with_headers(header, self._batch.codec, section, first, *headers)

    def claim(self, sequence: int, mark: bytes) -> bytes:
        """Return the claim of a transaction that goes on with this batch, with its time."""
        header = bytearray(self._batch.data[:_HEADER])
        times = header[_MAX_TIME_AT : _MAX_TIME_AT + 8]
        header[_ATTRIBUTES_AT:_PRODUCER_ID_AT] = _TRANSACTIONAL + bytes(4) + times + times
        _SEQUENCE.pack_into(header, _SEQUENCE_AT, sequence)
        header[_COUNT_AT:_HEADER] = _LENGTH.pack(1)
        producer_id = bytes(header[_PRODUCER_ID_AT : _PRODUCER_ID_AT + 8])
        key = _varint(1 + len(producer_id)) + _CLAIMS_KEY + producer_id if self._is_keyed else _NONE
        body = bytes(3) + key + _NONE + _varint(1) + _varint(len(CLAIM)) + CLAIM + _varint(len(mark)) + mark
        return b"".join(sealed(header, (_varint(len(body)) + body,)))


def mark_of(records: Records | None) -> bytes | None:
    """Return the mark of a stored claim, which is the first of fetched batches; None: another batch is there."""
    data = memoryview(records or b"")
    try:
        batch = as_batch(data[: _LENGTH.unpack_from(data, _LENGTH_AT)[0] + _UNCOUNTED])
        section = unpacked(batch, MAX_UNPACKED)
        first = _first(section)
        key, at = _field(section, first.headers_at, first.end)
        value, _ = _field(section, at, first.end)
    except (RecordsError, struct.error):
        return None
    return None if key is None or bytes(key) != CLAIM or value is None else bytes(value)


def opened(data: memoryview, *, is_keyed: bool = False) -> tuple[int, memoryview]:
    """Return the group of a stored transactional batch, and its records, unpacked.

    Args:
        data: the batch.
        is_keyed: whether it is of a compacted topic.
    Returns:
        As the group GROUPS for a claim, and where compaction has left no record.
    Raises:
        RecordsError: it is broken.
    """
    batch = as_batch(data)
    if not batch.record_count:
        return GROUPS, memoryview(b"")
    if is_keyed:
        section = unpacked(batch, MAX_KEYED)
        group = first_group(section)
        return (group if group < KEYED_GROUPS else GROUPS), section
    try:
        section = unpacked(batch, MAX_UNPACKED + _ROOM_FOR_TAG)
    except TooLarge:
        return 0, memoryview(b"")  # The gateway has tagged none that is so large.
    return _group(section, _first(section)), section


def has_own_header(section: memoryview) -> bool:
    """Whether the first of the records of `opened` has a header that only the gateway writes, whatever it says.

    One of a batch of group 0 is malformed: the gateway gives such a batch none, and takes none from a client.

    Raises:
        RecordsError: the record is broken.
    """
    return bool(section) and _headers_have_tag(section, _first(section))


def without_tag(data: memoryview, section: memoryview) -> bytes:
    """Return a stored batch as its producer has sent it, but for its sequence.

    Args:
        data: the batch, which has a tag.
        section: its records, by `opened`.
    """
    first = _first(section)
    _, at = _field(section, first.headers_at, first.end)
    _, at = _field(section, at, first.end)
    headers = _varint(first.header_count - 1), section[at : first.end]
    codec = as_batch(data).codec
    return b"".join(_with_headers(bytearray(data[:_HEADER]), codec, section, first, *headers))


def is_abort(data: memoryview) -> bool:
    """Whether a control batch is the marker of an aborted transaction.

    Source: ControlRecordType, whose key is a version and a type, 16 bits each.
    """
    try:
        section = unpacked(as_batch(data), MAX_UNPACKED)
        first = _first(section)
        key, _ = _field(section, _varint_end(section, first.body + 1, 2), first.end)
    except RecordsError:
        return False
    return key is not None and len(key) >= 4 and key[2:4] == _ABORT


def unpacked(batch: ClientBatch, most: int, budget: MemoryBudget | None = None) -> memoryview:
    """Return the records of a batch, unpacked.

    Args:
        batch: the batch.
        most: bytes that they may have.
        budget: what else bounds them, unless they are not compressed; None: nothing does.
    Raises:
        CorruptBatch: they cannot be unpacked.
        TooLarge: they have more; its `bound` is `batch`, or that of the budget.
    """
    section = batch.data[_HEADER:]
    if batch.codec == 0:
        if len(section) > most:
            raise TooLarge("batch", most)
        return section
    if batch.codec >= len(NAMES):
        raise CorruptBatch(f"no codec has the number {batch.codec}")
    return memoryview(unpack(batch.codec, section, MemoryBudget("batch", most, budget)))


def _with_headers(
    header: bytearray, codec: int, section: memoryview, first: _First, *headers: Records
) -> tuple[Records, ...]:
    """Return a batch whose first record has other headers, in pieces: it is not copied, for it may have 16 MiB."""
    body = section[first.body : first.count_at], *headers
    pieces = _varint(sum(map(len, body))), *body, section[first.end :]
    return sealed(header, pieces if codec == 0 else (compress_pieces(codec, pieces),))


def keyed_section(section: memoryview, count: int, group: int) -> memoryview:
    """Return so many records with a group before their keys.

    Raises:
        NullKeys: some have none.
        RecordsError: they are broken.
    """
    made, without = with_group(section, count, group, MemoryBudget("batch", MAX_KEYED))
    if without:
        raise NullKeys(without)
    return memoryview(made)


def packed(codec: int, section: memoryview) -> tuple[Records, ...]:
    """Return records as a batch with this codec has them."""
    return (section if codec == 0 else compress_pieces(codec, (section,)),)


def sealed(header: bytearray, pieces: tuple[Records, ...]) -> tuple[Records, ...]:
    """Return a header with the right length and checksum, and what follows."""
    _LENGTH.pack_into(header, _LENGTH_AT, len(header) - _UNCOUNTED + sum(map(len, pieces)))
    checksum = crc32c(header[_CRC_FROM:])
    for piece in pieces:
        checksum = crc32c(piece, checksum)
    _CHECKSUM.pack_into(header, _CHECKSUM_AT, checksum)
    return (bytes(header), *pieces)


def _first(section: memoryview) -> _First:
    """Find the parts of the first record."""
    size, body = _read_varint(section, 0, len(section))
    end = body + size
    if size < 1 or end > len(section):
        raise CorruptBatch("a record is longer than its batch")
    at = body + 1
    for _ in range(2):
        _, at = _read_varint(section, at, end)
    for _ in range(2):
        _, at = _field(section, at, end)
    count, headers_at = _read_varint(section, at, end)
    if count < 0:
        raise CorruptBatch("a record has less than no headers")
    return _First(body, end, at, headers_at, count)


def _group(section: memoryview, first: _First) -> int:
    """Return the group that the first header says; 0: it is no tag, GROUPS: it is that of a claim."""
    if not first.header_count:
        return 0
    key, at = _field(section, first.headers_at, first.end)
    value, _ = _field(section, at, first.end)
    if key is not None and bytes(key) == CLAIM:
        return GROUPS
    if key is None or bytes(key) != TAG or value is None or not 1 <= len(value) <= 2:
        return 0
    group = int.from_bytes(value, "big")
    return group if group < GROUPS and len(value) == 1 + (group > 0xFF) else 0


def _headers_have_tag(section: memoryview, first: _First) -> bool:
    return has_header(section, first.headers_at, first.end, first.header_count, (TAG, CLAIM))


def _field(section: memoryview, at: int, end: int) -> tuple[memoryview | None, int]:
    size, at = _read_varint(section, at, end)
    if size < 0:
        return None, at
    if size > end - at:
        raise CorruptBatch("a field is longer than its record")
    return section[at : at + size], at + size


def _varint_end(section: memoryview, at: int, count: int) -> int:
    for _ in range(count):
        _, at = _read_varint(section, at, len(section))
    return at


def _read_varint(section: memoryview, at: int, end: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        if at >= end:
            raise CorruptBatch("the records end in the middle of a number")
        byte = section[at]
        at += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise CorruptBatch("a number is too long")


def _varint(value: int) -> bytes:
    """Return what is not negative as a signed varint."""
    left, made = value << 1, bytearray()
    while left >= 0x80:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)
