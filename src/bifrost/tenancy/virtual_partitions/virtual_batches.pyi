"""Batches of virtual partitions: see virtual_batches.pyx."""

from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

MAX_PRODUCER_ID: int
"""The producer IDs below this have room for a group; the brokers count them up from 0."""

Records = bytes | memoryview | tuple[bytes | memoryview, ...]

class Own(NamedTuple):
    """What the consumers of each group get of fetched records."""

    records: dict[PartitionGroup, Records]
    """In pieces where something is left out."""
    positions: dict[PartitionGroup, int]
    """Where each consumer goes on."""
    end: int
    """Behind the last whole batch of any group; 0: there is none."""
    own_bytes: int
    """Bytes of batches that consumers get."""
    aborts: list[tuple[int, int]]
    """The markers of aborted transactions, as producer ID and offset."""

class UnfitBatch(ValueError):
    """A batch that cannot be marked or told apart; its `fault` says why."""

    fault: int

CORRUPT: int
"""The batch is cut off, or its checksum is wrong."""
OLD_FORMAT: int
"""It is in a format from before Kafka 0.11, which has no producer ID."""
SEVERAL: int
"""There are several batches."""
TRANSACTIONAL: int
"""It is part of a transaction."""
FOREIGN_PRODUCER: int
"""Its producer ID is none that a broker gives."""

def has_producer(records: bytes | memoryview) -> bool:
    """Whether the first batch has a producer ID, so that the broker recognises a repetition. False if it is none."""

def marked_batch(
    records: bytes | memoryview, group: int, producer_id: int = -1, producer_epoch: int = -1
) -> bytes | memoryview | tuple[bytes, memoryview]:
    """Return a client's batch as one of a group: its new header, and what follows, which is not copied.

    A batch of group 0 stays as it is.

    Args:
        records: what a Produce has for a partition.
        group: of virtual partitions.
        producer_id: for a batch without one, the gateway's own. The batch is then the first of this epoch.
        producer_epoch: of this ID.
    Raises:
        UnfitBatch: the batch cannot be marked.
    """

def own_records(
    records: bytes | memoryview,
    from_offsets: dict[PartitionGroup, int],
    until: int = ...,
    is_keyed: bool = False,
) -> Own:
    """Return fetched records as consumers of each group get them.

    For each run of batches of other groups there is a marker, so that the consumer goes on behind them. Batches that
    end before the offset and an incomplete one at the end are left out. All groups together are read once.

    Args:
        records: of one physical partition, as a broker has sent them.
        from_offsets: the offset that the consumer of each group wants.
        until: a marker behind the last own batch ends before this offset; by default it stands for all that follows.
        is_keyed: whether the topic is compacted, so that groups stand before the keys: consumers get keys without them.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
    """

def last_offsets(
    records: bytes | memoryview, until: int, is_keyed: bool = False
) -> tuple[int, dict[int, int]]:
    """Return where the last whole batch ends, -1 if there is none, and the last offset of each group that has one.

    Args:
        records: of one physical partition, as a broker has sent them.
        until: batches that begin there or behind it are left out.
        is_keyed: whether the topic is compacted.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
    """

def first_batch(
    records: bytes | memoryview,
    wanted: int,
    from_offset: int,
    time_ms: int,
    groups: dict[bytes, int] | None = None,
    is_keyed: bool = False,
) -> tuple[int, memoryview | None]:
    """Return the first batch of a group that ends behind an offset and has a record that is not older than a time.

    Args:
        records: of one physical partition, as a broker has sent them.
        wanted: the group.
        from_offset: the first offset that counts.
        time_ms: the latest timestamp of the batch is not before it; -1: any is right.
        groups: by the first bytes of a batch, the groups that had to be looked for in compressed records; these are
            added, and found again when records are searched for another group. At most 4,096.
        is_keyed: whether the topic is compacted.
    Returns:
        Where the batch ends, and the batch. If there is none: where the last whole batch ends, -1 if there is none.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
    """

def around(
    records: bytes | memoryview, cuts: dict[PartitionGroup, int], is_keyed: bool = False
) -> tuple[int, dict[PartitionGroup, int], dict[PartitionGroup, int]]:
    """Return what each group has on both sides of an offset of its own.

    Args:
        records: of one physical partition, as a broker has sent them.
        cuts: the offset of each group that counts.
        is_keyed: whether the topic is compacted.
    Returns:
        Where the last whole batch ends, -1 if there is none; the last offset before its own one of each group that has
        one; and the first one that is not before it, likewise.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
        ValueError: there can be no such group or offset.
    """

def latest_batches(
    records: bytes | memoryview, until: int, is_keyed: bool = False
) -> tuple[int, dict[PartitionGroup, tuple[int, memoryview]]]:
    """Return where the last whole batch ends, -1 if there is none, and which batch of each group has its latest record.

    Args:
        records: of one physical partition, as a broker has sent them.
        until: batches that begin there or behind it are left out.
        is_keyed: whether the topic is compacted.
    Returns:
        With each batch the latest timestamp in it, in milliseconds; of several batches with the same one, the first.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
    """

def of_group(producer_id: int, group: int) -> int:
    """Return the producer ID of a batch as its client knows it; -1: it is of another group."""
