"""The way of requests to topics with virtual partitions, and of their answers: see partition_way.pyx."""

from collections.abc import Callable

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.rewriting import RecordTrip, RecordWay

class PartitionWay(RecordWay):
    """The way of the partitions of one topic.

    Args:
        name: what the topic is called on the other side, or its ID.
        key: what the client calls it.
        partitions: its virtual and physical ones; those of a compacted topic have no way, for their records change.
        count: counts what it costs: "parts", the requests that were sent beside those of clients, and "remapped", the
            partitions that got the number of their physical one.
    """

    def __init__(
        self,
        name: bytes,
        key: bytes,
        partitions: PartitionMap,
        count: Callable[[str, int], None] | None = None,
    ) -> None: ...

class PartitionTrip(RecordTrip):
    """Which virtual partitions a request that was sent on has named."""

    def has(self, key: bytes) -> bool:
        """Whether the request names a topic with virtual partitions that the client calls so."""

    @property
    def answers(self) -> list[bytes]:
        """The answers to its parts but the last, as they came, if it was divided."""

    def virtual_of(self, key: bytes, physical: int, part: int = 0) -> int:
        """Return the virtual partition that a part of the request names for a physical one; -1: none."""
