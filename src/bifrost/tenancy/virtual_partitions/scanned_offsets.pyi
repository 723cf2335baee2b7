"""What a connection has fetched without a record for the virtual partition: see scanned_offsets.pyx."""

from collections.abc import Hashable

MAX_PARTITIONS: int
"""Virtual partitions of which a connection remembers it: some 3 MiB. Beyond them a marker moves the consumer to the end
of what was fetched, so its committed offset can be behind the end that ListOffsets says. The metrics call it
`virtual_partitions_scanned`."""

MAX_OF_TENANT: int
"""The same of all connections of a tenant: some 10 MiB. It may have thousands of connections."""

Place = tuple[Hashable, int]
"""A virtual partition: its topic and its number."""

class ScannedRoom:
    """What all connections of a tenant remember."""

    used: int
    """Places that are taken: virtual partitions of connections."""
    most: int

    def __init__(self, most: int = ...) -> None:
        """Begin with all of it free."""

class ScannedOffsets:
    """Those of one connection, by virtual partition."""

    without_start: set[Place]
    """Partitions whose offset was out of range: they may only have been left behind by what is deleted."""

    def __init__(self, room: ScannedRoom | None = None) -> None:
        """Begin with nothing; `room` is shared with other connections, None: it is this one's."""

    def after(self, partition: Place, offset: int, leader_epoch: int) -> int:
        """Return from where on to fetch for a consumer that is at an offset."""

    def may_begin(self, partition: Place, offset: int) -> bool:
        """Whether the log may be read from its beginning for a consumer that is at an offset: once, or it would come no
        further than others have read."""

    def note_begun(self, partition: Place, offset: int) -> None:
        """Note that it was."""

    def has_room(self, partitions: int) -> bool:
        """Whether so many more can be remembered."""

    def note(self, partition: Place, offset: int, end: int, leader_epoch: int) -> None:
        """Remember that nothing is the partition's own from an offset to the end of what was fetched."""

    def forget(self, partition: Place) -> None:
        """Forget a partition."""

    def __len__(self) -> int:
        """Return of how many partitions something is remembered."""
