"""Which virtual partition owns a stored batch: by the rules by which the gateway reads, but stricter.

    batches ──▶ owner_of ──▶ a virtual partition, none, or a claim or marker ──▶ Owners adds up what is alike ──▶ rows

What has an owner is added up by virtual partition: that is the index, which needs none that gateways store. A batch
without an owner is a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.pipeline.stored.sealing_facts import LATEST_MS, MAX_UNPACKED_BYTES
from bifrost.pipeline.stored.topic_log import NO_TIMESTAMP, StoredBatch
from bifrost.records.codec.client_batch import ClientBatch, read_columns, split_batches
from bifrost.records.codec.errors import RecordsError
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import unkeyed_batch
from bifrost.tenancy.virtual_partitions.partition_map import (
    FIRST_GROUP,
    PartitionGroup,
    PartitionMap,
    PhysicalPartition,
)
from bifrost.tenancy.virtual_partitions.tagged_batches import GROUPS, has_own_header, opened
from bifrost.tenancy.virtual_partitions.virtual_batches import MAX_PRODUCER_ID, UnfitBatch, last_offsets

if TYPE_CHECKING:
    import pyarrow as pa

OWNED, CLAIM, MARKER = "owned", "claim", "marker"
BEYOND, MALFORMED, UNREADABLE, SURPLUS = (
    "group beyond virtual",
    "malformed header",
    "unreadable",
    "partition beyond physical",
)
UNOWNED = (BEYOND, MALFORMED, UNREADABLE, SURPLUS)
"""Kinds of batches that no virtual partition has."""
NONE = -1
"""In place of a virtual partition or group."""
MAX_ROWS = 50_000
"""Rows of a task that are kept at a time, some 50 MB."""
_FAR = (1 << 63) - 1
SCHEMA = (
    "topic STRING, partition INT, kind STRING, virtual INT, partition_group LONG, producer_id LONG, "
    "producer_epoch INT, first_offset LONG, last_offset LONG, last_timestamp_ms LONG, batches LONG, records LONG, "
    "bytes LONG, reason STRING"
)
"""Columns of the rows, as Spark writes them. `virtual` is the partition whose consumers get the batch, -1: none."""
COLUMNS = tuple(one.split()[0] for one in SCHEMA.split(", "))


class Owner(NamedTuple):
    """Whose a batch is."""

    kind: str
    group: int = NONE
    """The one that the batch names; a malformed one is read as group 0."""
    reason: str = ""
    """Why it has no owner, without any content."""


def owner_of(batch: ClientBatch, partitions: PartitionMap, partition: int) -> Owner:
    """Return whose a batch of a physical partition is.

    Raises:
        RecordsError, UnfitBatch: it cannot be read.
    """
    if batch.is_control or not batch.record_count:
        # What compaction has left no record in is of no virtual partition.
        return Owner(MARKER)
    is_keyed = partitions.is_keyed
    owner = _by_records(batch, is_keyed=is_keyed) if batch.is_transactional else _by_producer(batch)
    if owner.kind in (CLAIM, MALFORMED):
        return owner
    if partition >= partitions.physical:
        return Owner(SURPLUS, owner.group, f"the configuration has {partitions.physical} physical partitions")
    virtual = _virtual_of(owner.group, partitions, partition)
    if owner.group >= GROUPS or not partitions.has(virtual):
        return Owner(BEYOND, owner.group, f"virtual partition {virtual} where there are {partitions.virtual}")
    if is_keyed:
        unkeyed_batch(batch.data, owner.group)
    return owner


def _virtual_of(group: int, partitions: PartitionMap, partition: int) -> int:
    return partitions.virtual_of(PartitionGroup(group), PhysicalPartition(partition))


def _by_records(batch: ClientBatch, *, is_keyed: bool) -> Owner:
    """Return the group of a batch of a transaction."""
    group, section = opened(batch.data, is_keyed=is_keyed)
    if group == GROUPS:
        return _claim(batch, is_keyed=is_keyed)
    if is_keyed:
        return Owner(OWNED, group)
    if group == FIRST_GROUP and has_own_header(section):
        return Owner(MALFORMED, FIRST_GROUP, "a header of the gateway's own name says no group")
    return Owner(OWNED, group)


def _claim(batch: ClientBatch, *, is_keyed: bool) -> Owner:
    """A claim is one record without value; anything else that is like it is data that no consumer gets.

    It has a key in a compacted topic, and only there.
    """
    columns = read_columns(batch, MemoryBudget("batch", MAX_UNPACKED_BYTES))
    if len(columns) == 1 and (columns.keys[0] is not None) is is_keyed and columns.values[0] is None:
        return Owner(CLAIM)
    return Owner(MALFORMED, NONE, "records of no group that are no claim")


def _by_producer(batch: ClientBatch) -> Owner:
    _, last = last_offsets(batch.data, _FAR)
    found = next(iter(last), None)
    # No group that there can be: the number shows what the batch says.
    return Owner(OWNED, batch.producer_id // MAX_PRODUCER_ID if found is None else found)


class Owners:
    """The owners of many batches."""

    def __init__(self, maps: Mapping[str, PartitionMap]) -> None:
        """Take the partitions of each topic that batches are of."""
        self._maps = maps
        self._sums: dict[tuple[str, int, str, int, int], list[int]] = {}
        self._unowned: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._sums) + len(self._unowned)

    def add(self, stored: StoredBatch) -> None:
        """Add a batch."""
        partitions, batch = self._maps[stored.topic], None
        try:
            batch = next(split_batches(stored.data, is_whole=True))
            owner = owner_of(batch, partitions, stored.partition)
        except (RecordsError, UnfitBatch) as error:
            owner = Owner(UNREADABLE, reason=str(error))
        is_read = (
            owner.kind in (OWNED, MALFORMED) and owner.group >= 0 and stored.partition < partitions.physical
        )
        virtual = _virtual_of(owner.group, partitions, stored.partition) if is_read else NONE
        place = (stored.topic, stored.partition, owner.kind, virtual, owner.group)
        at_ms = min(max(stored.timestamp_ms, NO_TIMESTAMP), LATEST_MS)
        count, size = 0 if batch is None else batch.record_count, len(stored.data)
        if owner.kind in UNOWNED:
            producer = (-1, -1) if batch is None else (batch.producer_id, batch.producer_epoch)
            offsets = (stored.base_offset, stored.last_offset)
            self._unowned.append((*place, *producer, *offsets, at_ms, 1, count, size, owner.reason))
            return
        found = self._sums.get(place)
        if found is None:
            found = self._sums[place] = [stored.base_offset, stored.last_offset, at_ms, 0, 0, 0]
        found[0] = min(found[0], stored.base_offset)
        found[1] = max(found[1], stored.last_offset)
        found[2] = max(found[2], at_ms)
        found[3] += 1
        found[4] += count
        found[5] += size

    def take(self) -> dict[str, list[Any]]:
        """Return the rows as columns, and begin anew."""
        rows = [*self._unowned, *((*place, -1, -1, *sums, "") for place, sums in self._sums.items())]
        self._sums.clear()
        self._unowned.clear()
        return {name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}


def owner_rows(maps: Mapping[str, PartitionMap], batches: Iterator[StoredBatch]) -> Iterator[pa.RecordBatch]:
    """Make rows of whose batches are, in an executor.

    Args:
        maps: the partitions by physical topic.
        batches: of topics that are in `maps`.
    """
    owners = Owners(maps)
    for stored in batches:
        owners.add(stored)
        if len(owners) >= MAX_ROWS:
            yield _record_batch(owners)
    if len(owners):
        yield _record_batch(owners)


def _record_batch(owners: Owners) -> pa.RecordBatch:
    import pyarrow as pa

    small, text = {"partition", "virtual", "producer_epoch"}, {"topic", "kind", "reason"}
    types = [pa.int32() if name in small else pa.string() if name in text else pa.int64() for name in COLUMNS]
    return pa.RecordBatch.from_pydict(owners.take(), schema=pa.schema(list(zip(COLUMNS, types, strict=True))))
