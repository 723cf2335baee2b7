"""What brokers have answered of late about one physical partition: see recent_partition.pyx."""

from collections.abc import Container, Hashable, Mapping

from bifrost.tenancy.recent_records.shared_poll import PollEnd

GONE_NS: int
"""How long a connection is known after its last Fetch, in nanoseconds."""
MAX_POLLS: int
"""Fetches that others may join: groups that are at other places read by others."""
LATE_NS: int
"""How long a Fetch that has records to bring counts as on its way, in nanoseconds: a broker may be stuck with it."""

class Bounds:
    """Where the log begins and ends, as a broker has said last."""

    leader_epoch: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    came_ns: int

    def __init__(
        self,
        leader_epoch: int,
        high_watermark: int,
        last_stable_offset: int,
        log_start_offset: int,
        came_ns: int,
    ) -> None:
        """Set all of it; `came_ns` is the time by a monotonic clock, in nanoseconds."""

class RecentAnswer:
    """Records of a physical partition, as a broker has sent them."""

    begin: int
    """The offset that the broker was asked for."""
    end: int
    """Behind the last whole batch."""
    max_bytes: int
    """How many bytes it was asked for."""
    bounds: Bounds
    aborted: tuple[tuple[int, int], ...] | None
    """Producer ID and first offset of the aborted transactions in it; None as the broker may have it."""
    records: bytes
    is_dropped: bool
    """Whether the store has dropped it, with its records."""

    def __init__(
        self,
        begin: int,
        end: int,
        max_bytes: int,
        bounds: Bounds,
        aborted: tuple[tuple[int, int], ...] | None,
        records: bytes,
    ) -> None:
        """Keep an answer."""

class RecentPartition:
    """The answers about one physical partition for clients of one account that ask alike."""

    place: Hashable
    """What it is called, however a request names its topic; None: no Fetch has asked for it."""
    answers: list[RecentAnswer]
    """Oldest first; the store drops them (recent_records.py)."""
    brought_ns: int
    """When a broker has last sent records; 0: never."""
    readers: Mapping[int, object]
    """Connections whose place is known, in the order in which they have asked last."""

    def __init__(self, open_connections: Container[int]) -> None:
        """Begin with nothing.

        Args:
            open_connections: those that have not ended. What has ended reads no more, though it has asked of late.
        """

    def note_reader(self, reader: int, offset: int, now_ns: int, is_part: bool) -> None:
        """Take note where a connection reads it, and whether it reads only a part of the virtual partitions."""

    @property
    def is_wanted(self) -> bool:
        """Whether other connections read it, or will as there are other virtual partitions."""

    def has_company(self, reader: int, offset: int, now_ns: int) -> bool:
        """Whether another connection that has asked of late is about where this one is: an answer serves both.

        It is within as many offsets as the last answer with records went on; before there was one, anywhere. A
        connection that has just begun to read a part of the virtual partitions is not alone: members of a group begin
        together, and others are about to come for the rest.
        """

    def lacks(self, reader: int) -> bool:
        """Whether a connection that is about to read it has not asked yet."""

    def is_needed(self, answer: RecentAnswer, now_ns: int) -> bool:
        """Whether a connection that has asked of late has still to read something of an answer.

        One that is before all that leads to it without a gap comes to it later than it is kept, or never.
        """

    def note_bounds(self, bounds: Bounds) -> None:
        """Take note of what a broker has said."""

    def bounds(self, leader_epoch: int, now_ns: int) -> Bounds | None:
        """Return what a broker has said of late under this leader; None: nothing."""

    def find(self, offset: int, leader_epoch: int, max_bytes: int, now_ns: int) -> RecentAnswer | None:
        """Return an answer that has this offset, and no more bytes than these; None: there is none.

        It came less than FRESH_NS ago, or less than KEPT_NS and the log has since been seen to have all of it.
        """

    def begin_poll(
        self, offset: int, leader_epoch: int, max_bytes: int, min_bytes: int, end: PollEnd, now_ns: int = 0
    ) -> None:
        """Take note of a Fetch that goes to the broker now, unless others can join one that is there."""

    def note_records(self, offset: int, behind: int, end: PollEnd, now_ns: int) -> None:
        """Take note that a Fetch has found records at an offset; another one for it that has not ended is slow.

        Args:
            offset: what was asked for.
            behind: the offset behind the last record.
            end: of this Fetch.
            now_ns: the time.
        """

    def poll(
        self,
        offset: int,
        leader_epoch: int,
        max_bytes: int,
        min_bytes: int,
        takes_earlier: bool = False,
        since_ns: int = 0,
    ) -> PollEnd | None:
        """Return when a Fetch for the same ends that waits for no more than this one would; None: there is none.

        Args:
            offset: where the log is to be read.
            leader_epoch: as the client knows it.
            max_bytes: most bytes of this partition.
            min_bytes: how many the Fetch waits for.
            takes_earlier: whether one from a lower offset on will do that is likely to come as far as `offset`.
            since_ns: one that was sent before does not do.
        """

    def forget(self) -> None:
        """Forget what is known; the answers are the store's to drop."""
