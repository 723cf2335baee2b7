"""Keys of compacted topics, by the virtual partitions that have them, as hashes: no content leaves the executor.

Compaction keeps the last record of a key in a physical partition. Where two virtual partitions have the same key there,
it removes records of one for the sake of the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bifrost.pipeline.stored.sealing_facts import MAX_UNPACKED_BYTES
from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.pipeline.stored.virtual.virtual_owners import OWNED, owner_of
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap, PhysicalPartition
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch

if TYPE_CHECKING:
    import pyarrow as pa

MAX_KEYS = 200_000
"""Keys that a task keeps at a time, some 50 MB; one that comes again later is a second row, and Spark joins them."""
HASH_BYTES = 16
"""Of a key: among a billion keys two with the same hash are less likely than one in 10^20."""
SCHEMA = "topic STRING, partition INT, key BINARY, virtual INT, first_offset LONG"

Key = tuple[str, int, bytes, int]
"""Topic, physical partition, hash and virtual partition."""


def keys_of(stored: StoredBatch, partitions: PartitionMap) -> Iterator[tuple[Key, int]]:
    """Yield each key of a batch with its record's offset; nothing of one without an owner, or that cannot be read."""
    try:
        batch = next(split_batches(stored.data, is_whole=True))
        owner = owner_of(batch, partitions, stored.partition)
        if owner.kind != OWNED:
            return
        columns = read_columns(batch, MemoryBudget("batch", MAX_UNPACKED_BYTES))
    except (RecordsError, UnfitBatch):
        return
    virtual = partitions.virtual_of(PartitionGroup(owner.group), PhysicalPartition(stored.partition))
    for row, key in enumerate(columns.keys):
        if key is not None:
            digest = hashlib.blake2b(key, digest_size=HASH_BYTES).digest()
            place = (stored.topic, stored.partition, digest, virtual)
            yield place, batch.base_offset + columns.offset_deltas[row]


def key_rows(maps: Mapping[str, PartitionMap], batches: Iterator[StoredBatch]) -> Iterator[pa.RecordBatch]:
    """Make rows of the keys of batches, in an executor.

    Args:
        maps: the partitions by physical topic.
        batches: of topics that are in `maps`.
    """
    found: dict[Key, int] = {}
    for stored in batches:
        for key, offset in keys_of(stored, maps[stored.topic]):
            found.setdefault(key, offset)
        if len(found) >= MAX_KEYS:
            yield _record_batch(found)
            found = {}
    if found:
        yield _record_batch(found)


def _record_batch(found: Mapping[Key, int]) -> pa.RecordBatch:
    import pyarrow as pa

    types = (pa.string(), pa.int32(), pa.binary(), pa.int32(), pa.int64())
    names = [one.split()[0] for one in SCHEMA.split(", ")]
    columns = zip(*((*key, offset) for key, offset in found.items()), strict=True)
    return pa.RecordBatch.from_pydict(
        dict(zip(names, map(list, columns), strict=True)),
        schema=pa.schema(list(zip(names, types, strict=True))),
    )
