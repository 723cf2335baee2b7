"""What members of share groups get of fetched records: see acquired_batches.pyx."""

from collections.abc import Iterable
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

Range = tuple[int, int, int]
"""The first and the last offset that are acquired, and how often they were delivered."""

class Acquired(NamedTuple):
    """What one virtual partition gets."""

    records: tuple[bytes | memoryview, ...]
    """Its own batches of which something is acquired, in pieces."""
    ranges: list[Range]
    """The offsets that it has to acknowledge, at least one."""
    own_bytes: int
    """Bytes of its batches."""

def acquired_batches(
    records: bytes | memoryview,
    ranges: Iterable[Range],
    groups: Iterable[PartitionGroup],
    is_keyed: bool = False,
) -> dict[PartitionGroup, Acquired]:
    """Divide what a member has acquired of a physical partition; return it for each group that gets some.

    Each acquired offset up to the end of the last whole batch goes to one group, or to none if it belongs to a group
    that is not among these. What is behind that batch goes to none.

    Args:
        records: of one physical partition, as a broker has sent them.
        ranges: what the broker has acquired for the member; they do not overlap.
        groups: of the virtual partitions that there are.
        is_keyed: whether the topic is compacted, so that groups stand before the keys: members get keys without them.
    Raises:
        UnfitBatch: a batch is broken, or is in a format that does not say whose it is.
    """
