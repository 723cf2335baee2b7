"""The virtual partitions that one Fetch reads: see fetch_readers.pyx."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets

TopicKey = tuple[str, bytes]
"""The name and the ID of a topic, as a message has them; versions have the one or the other."""

class FetchReader:
    """A virtual partition that is fetched."""

    partition: int
    group: int
    leader_epoch: int
    offset: int
    """Where the consumer is."""
    asked: int
    """Where the broker is asked for it: behind what was fetched before and is not its own."""

class FetchReaders:
    """Those of one physical partition."""

    by_group: Mapping[int, FetchReader]
    """Of a virtual partition that is named twice the last one counts, as with a broker."""

    def __len__(self) -> int:
        """Return how many they are."""

def ask(
    readers: dict[int, FetchReaders],
    partitions: list[Any],
    key: TopicKey,
    partition_map: PartitionMap,
    scanned: ScannedOffsets,
    has_start: AbstractSet[tuple[TopicKey, int]],
    begin_of: Callable[[int, int, int], int] | None,
    refuse: Callable[[int], object],
) -> list[Any]:
    """Return the physical partitions of a topic in place of the virtual ones, each with the lowest offset.

    Args:
        readers: gets those that are asked for, by physical partition.
        partitions: of the request; they are changed.
        key: the topic.
        partition_map: of the topic.
        scanned: what the connection has fetched.
        has_start: virtual partitions for which the broker was asked where the log begins.
        begin_of: returns where to read from, given a physical partition, a group and the consumer's offset; None: from
            that offset.
        refuse: is told of each virtual partition that there is not.
    """

class FetchDivision:
    """Divides one answer."""

    own_bytes: int
    """Of the batches of these virtual partitions."""
    foreign_bytes: int
    """Of all others, with what is incomplete at the end."""
    has_no_room: bool
    """Whether the connection can remember no more of what it has scanned: then a marker moves the consumer on."""

    def __init__(
        self,
        scanned: ScannedOffsets,
        *,
        is_committed: bool,
        keep: Callable[[tuple[TopicKey, int], Any, bytes | memoryview, int], object] | None,
        refuse: Callable[[TopicKey, list[tuple[Any, FetchReader]]], object],
    ) -> None:
        """Begin to divide an answer.

        Args:
            scanned: what the connection has fetched.
            is_committed: whether the consumer gets no records of open transactions.
            keep: is given each physical partition without an error as it came, with its records and the offset behind
                the last whole batch.
            refuse: is told of partitions with an error, each with its reader, and may change them.
        """

    def divided(
        self, partitions: list[Any], key: TopicKey, readers: Mapping[int, FetchReaders], is_keyed: bool
    ) -> list[Any]:
        """Return what the virtual partitions of a topic get of the answer for the physical ones, which is changed.

        For each run of batches of others there is a marker, so that a consumer moves on behind them. A run at the end
        of the log has one only as far as virtual partitions end at the least.

        Args:
            partitions: of the answer.
            key: the topic.
            readers: that were asked for, by physical partition.
            is_keyed: whether the topic may be compacted.
        """
