"""What a connection has fetched of physical partitions without a record for the virtual partition.

The consumer stays at the end of its partition, though records of others follow. So that the gateway need not fetch
these each time, it remembers how far there was none of the consumer's own, and goes on there.

    consumer's offset ──▶ | others others others | ──▶ the gateway fetches from here on

It is of one connection, under one leader: after another connection or leader the same is read once more.
"""

from collections.abc import Hashable
from typing import NamedTuple

MAX_PARTITIONS = 10_000
"""Virtual partitions of which a connection remembers it: some 3 MiB. Beyond them a marker moves the consumer to the end
of what was fetched, so its committed offset can be behind the end that ListOffsets says."""
LIMIT = "virtual_partitions_scanned"
"""What the metrics call `MAX_PARTITIONS`."""


class _Scanned(NamedTuple):
    begin: int
    end: int
    leader_epoch: int


class ScannedOffsets:
    """Those of one connection, by virtual partition."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: dict[Hashable, _Scanned] = {}
        self.without_start: set[Hashable] = set()
        """Partitions whose offset was out of range: they may only have been left behind by what is deleted."""
        self._begun: dict[Hashable, int] = {}
        """Partitions that were read from where the log begins, and the offset at which the consumer was."""

    def after(self, partition: Hashable, offset: int, leader_epoch: int) -> int:
        """Return from where on to fetch for a consumer that is at an offset."""
        known = self._known.get(partition)
        if known is None or known.leader_epoch != leader_epoch or not known.begin <= offset < known.end:
            return offset
        return known.end

    def may_begin(self, partition: Hashable, offset: int) -> bool:
        """Whether the log may be read from its beginning for a consumer that is at an offset: once, or it would come no
        further than others have read."""
        return self._begun.get(partition) != offset and len(self._begun) < MAX_PARTITIONS

    def note_begun(self, partition: Hashable, offset: int) -> None:
        """Note that it was."""
        self._begun[partition] = offset

    def has_room(self, partitions: int) -> bool:
        """Whether so many more can be remembered."""
        return len(self._known) + partitions <= MAX_PARTITIONS

    def note(self, partition: Hashable, offset: int, end: int, leader_epoch: int) -> None:
        """Remember that nothing is the partition's own from an offset to the end of what was fetched."""
        if end > offset:
            self._known[partition] = _Scanned(offset, end, leader_epoch)
        else:
            self._known.pop(partition, None)

    def forget(self, partition: Hashable) -> None:
        """Forget a partition."""
        self._known.pop(partition, None)

    def __len__(self) -> int:
        """Return of how many partitions something is remembered."""
        return len(self._known)
