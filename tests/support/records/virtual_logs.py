"""Logs of physical partitions with batches of several groups of virtual ones."""

from __future__ import annotations

import struct

from bifrost.records.crc32c import crc32c
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from support.clients.record_batches import build_batch


def batch(group: int, base: int, *, attributes: int = 0, compression_type: int = 0) -> bytes:
    """Return a batch of two records, the second a millisecond after the first."""
    one = build_batch(
        [b"one", b"two"],
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        compression_type=compression_type,
    )
    made = marked_batch(one, group)
    whole = bytearray(b"".join(made) if isinstance(made, tuple) else made)
    whole[22] |= attributes
    struct.pack_into(">I", whole, 17, crc32c(bytes(whole[21:])))
    return base.to_bytes(8, "big") + bytes(whole[8:])


def log_of(*groups: int, base: int = 0) -> bytes:
    return b"".join(batch(group, base + 2 * at) for at, group in enumerate(groups))
