"""Random records for the codec, batches of them, and their bytes taken apart without it."""

import random
from collections.abc import Sequence
from struct import Struct

from bifrost.records.codec.client_batch import ClientBatch, build_batch, split_batches
from bifrost.records.codec.columns import ColumnRecord, Columns, Header
from bifrost.records.codec.memory import MemoryBudget
from bifrost.records.crc32c import crc32c

MIB = 1 << 20
HEADER = Struct(">qiibIhiqqqhii")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SIZES = (0, 0, 1, 2, 30, 63, 64, 127, 128, 300, 1000)
"""Of keys and values: those around which a varint grows are among them."""


def plenty() -> MemoryBudget:
    """Return a budget that is enough for every test."""
    return MemoryBudget("batch", 256 * MIB)


def batch_of(
    records: Sequence[ColumnRecord],
    *,
    codec: int = 0,
    attributes: int = 0,
    base_offset: int = 0,
    base_timestamp_ms: int = 1_700_000_000_000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    last_offset_delta: int | None = None,
) -> bytes:
    """Return a batch of these records, built by the codec."""
    last = len(records) - 1 if last_offset_delta is None else last_offset_delta
    template = ClientBatch(
        memoryview(b""),
        base_offset,
        0,
        -1,
        2,
        0,
        attributes | codec,
        last,
        base_timestamp_ms,
        -1,
        *producer,
        len(records),
    )
    return build_batch(template, Columns.of(records), plenty())


def marker_of(batch: bytes) -> bytes:
    """Return a batch as a coordinator's marker: with the bits of a transaction and of control."""
    made = bytearray(batch)
    made[22] |= 0x30
    made[17:21] = crc32c(made[21:]).to_bytes(4, "big")
    return bytes(made)


def only_batch(data: bytes | memoryview) -> ClientBatch:
    """Return the one batch that is there."""
    (batch,) = split_batches(memoryview(data), is_whole=True)
    return batch


def random_bytes(chance: random.Random) -> bytes:
    """Return bytes that compress well, or do not."""
    size = chance.choice(SIZES)
    return chance.randbytes(size) if chance.random() < 0.5 else bytes([chance.randrange(256)]) * size


def random_headers(chance: random.Random) -> tuple[Header, ...]:
    """Return no headers, a few, or many."""
    count = chance.choice((0, 0, 0, 1, 2, 70)) if chance.random() < 0.3 else 0
    return tuple(
        (f"h{chance.randrange(9)}é"[: chance.randrange(4)].encode(), maybe(chance, random_bytes(chance)))
        for _ in range(count)
    )


def maybe(chance: random.Random, value: bytes) -> bytes | None:
    """Return the value, or null now and then."""
    return None if chance.random() < 0.2 else value


def random_records(chance: random.Random, count: int) -> list[ColumnRecord]:
    """Return records of every kind; some batches have gaps, as compaction leaves them."""
    has_gaps, offset, found = chance.random() < 0.3, 0, []
    for _ in range(count):
        found.append(
            ColumnRecord(
                offset,
                chance.choice((0, 1, -1, 63, 64, -64, -65, 10**6, -(10**6), 2**40)),
                maybe(chance, random_bytes(chance)),
                maybe(chance, random_bytes(chance)),
                random_headers(chance),
            )
        )
        offset += chance.randrange(1, 300) if has_gaps else 1
    return found
