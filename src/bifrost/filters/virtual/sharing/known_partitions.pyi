"""What is known of the physical partitions that one Fetch asks for: see known_partitions.pyx."""

from collections.abc import Mapping, Sized
from typing import Any

from bifrost.filters.virtual.division import TopicKey
from bifrost.tenancy.recent_records.recent_partition import Bounds, RecentAnswer, RecentPartition
from bifrost.tenancy.recent_records.recent_records import RecentView
from bifrost.tenancy.recent_records.shared_poll import PollEnd
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.messages import FetchRequest

COMMITTED: int
"""Isolation level of a consumer that gets no records of open transactions."""
Place = tuple[TopicKey, int]
"""A physical partition."""

class Wanted:
    """A physical partition that is asked for."""

    place: Place
    one: Any
    """Of the request."""
    known: RecentPartition

def wanted_of(
    partitions: list[Any],
    readers: Mapping[int, Sized],
    partition_map: PartitionMap,
    view: RecentView,
    kind: tuple[int, int, str],
    key: TopicKey,
    name: str,
    now_ns: int,
) -> list[Wanted] | None:
    """Return the partitions of a topic that a Fetch asks for; None: it is not to be shared.

    Args:
        partitions: of the request.
        readers: by physical partition those virtual ones that are asked for.
        partition_map: of the topic.
        view: of the connection, which is noted as a reader of each.
        kind: what decides a broker's answer beside the topic: version, isolation level and rack.
        key: the topic as the request has it.
        name: its name.
        now_ns: the time.
    """

class KnownPartitions:
    """Those of one Fetch."""

    kept: list[Wanted]
    coming: list[Wanted]
    missing: list[Wanted]

    def __init__(self, request: FetchRequest, wanted: list[Wanted], now_ns: int, *, has_waited: bool) -> None:
        """Look at each once.

        Args:
            request: the Fetch.
            wanted: what it asks for.
            now_ns: the time.
            has_waited: whether it has waited for another one: one from a lower offset on is not waited for again.
        """

    def has_more(self, some: list[Wanted]) -> bool:
        """Whether the broker has records for one of these partitions at once, as far as is known."""

    def ends(self) -> frozenset[PollEnd]:
        """Return when that ends which is likely to bring what is coming."""

    def has_all_ends(self, some: list[Wanted]) -> bool:
        """Whether it is known of each of these partitions where its log ends."""

    def given(self, most: int) -> tuple[dict[Place, RecentAnswer], int]:
        """Return what is kept, as far as so many bytes of records go, and one answer at least; and their bytes."""

    def unknown(self) -> list[Wanted]:
        """Return what the broker has to be asked for: what is missing, or of which no end is known."""

    def left_out(self, sent: Mapping[Place, Wanted]) -> list[tuple[Place, Bounds]]:
        """Return where the logs begin and end of the other partitions, as far as is known."""

    def answer(self, given: Mapping[Place, RecentAnswer]) -> dict[TopicKey, list[Any]]:
        """Return the partitions of an answer by topic: these records, and of all others where the log ends.

        That must be known of all partitions.
        """

def told(index: int, bounds: Bounds, is_committed: bool) -> Any:
    """Return a partition of an answer that has no records."""
