"""What brokers have answered of late about one physical partition, and the Fetch of it that is on its way.

An answer is given again as it came, from its first batch on, to a Fetch whose offset lies in it: so the aborted
transactions that the broker named with it are right, as they are for a consumer that asked from there on. It must be of
the same leader epoch, which the broker has compared with its own, and not larger than the Fetch allows.
"""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import dataclass
from typing import NamedTuple

from bifrost.tenancy.recent_records.shared_poll import PollEnd

FRESH_NS = 2_000_000_000
"""How long an answer stands, in nanoseconds: what was deleted, truncated or made anew meanwhile is noticed so late."""
GONE_NS = 10_000_000_000
"""How long a connection is known after its last Fetch, in nanoseconds."""
MAX_READERS = 16
"""Connections whose place is known, those that asked last: with `MAX_PARTITIONS` some MiB of a tenant at the most."""
MAX_POLLS = 4
"""Fetches that others may join: groups that are at other places read by others."""
LATE_NS = 1_000_000_000
"""How long a Fetch that has records to bring counts as on its way, in nanoseconds: a broker may be stuck with it."""
MAX_ANSWERS = 256
"""Most answers that are kept of a partition: at its end there may be one for each record."""


class Bounds(NamedTuple):
    """Where the log begins and ends, as a broker has said last."""

    leader_epoch: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    came_ns: int


@dataclass(slots=True, eq=False)
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
    is_dropped: bool = False
    """Whether the store has dropped it, with its records."""


class _Polled(NamedTuple):
    offset: int
    leader_epoch: int
    max_bytes: int
    min_bytes: int
    end: PollEnd
    begun_ns: int


class _Reader(NamedTuple):
    offset: int
    """Where the connection has asked last."""
    seen_ns: int
    """And when."""
    since_ns: int
    """When it has asked first."""


class RecentPartition:
    """The answers about one physical partition for clients of one account that ask alike."""

    __slots__ = (
        "_bounds",
        "_has_others",
        "_open",
        "_polled",
        "_readers",
        "answers",
        "brought_ns",
        "place",
        "span",
    )

    def __init__(self, open_connections: Container[int]) -> None:
        """Begin with nothing.

        Args:
            open_connections: those that have not ended. What has ended reads no more, though it has asked of late.
        """
        self._open = open_connections
        self.place: Hashable = None
        """What it is called, however a request names its topic; None: no Fetch has asked for it."""
        self.answers: list[RecentAnswer] = []
        """Oldest first; the store drops them (recent_records.py)."""
        self.brought_ns = 0
        """When a broker has last sent records; 0: never."""
        self.span: int | None = None
        """How many offsets its last answer with records went on; None: there was none."""
        self._bounds: Bounds | None = None
        self._polled: list[_Polled] = []
        self._readers: dict[int, _Reader] = {}
        """In the order in which they have asked last."""
        self._has_others = False

    def note_reader(self, reader: int, offset: int, now_ns: int, *, is_part: bool) -> None:
        """Take note where a connection reads it, and whether it reads only a part of the virtual partitions."""
        before = self._readers.pop(reader, None)
        while self._readers and (len(self._readers) >= MAX_READERS or self._is_gone(now_ns)):
            del self._readers[next(iter(self._readers))]
        self._has_others = is_part or any(one in self._open for one in self._readers)
        self._readers[reader] = _Reader(offset, now_ns, now_ns if before is None else before.since_ns)

    def _is_gone(self, now_ns: int) -> bool:
        """Whether the connection that has asked the longest time ago has ended, or may be gone."""
        reader, known = next(iter(self._readers.items()))
        return reader not in self._open or now_ns - known.seen_ns >= GONE_NS

    @property
    def is_wanted(self) -> bool:
        """Whether other connections read it, or will as there are other virtual partitions."""
        return self._has_others

    def has_company(self, reader: int, offset: int, now_ns: int) -> bool:
        """Whether another connection that has asked of late is about where this one is: an answer serves both.

        A connection that has just begun to read a part of the virtual partitions is not alone: members of a group begin
        together, and others are about to come for the rest.
        """
        own = self._readers.get(reader)
        if self._has_others and own is not None and now_ns - own.since_ns < FRESH_NS:
            return True
        return any(
            one != reader
            and one in self._open
            and now_ns - other.seen_ns < FRESH_NS
            and (self.span is None or abs(other.offset - offset) <= self.span)
            for one, other in self._readers.items()
        )

    def lacks(self, reader: int) -> bool:
        """Whether a connection that is about to read it has not asked yet."""
        return reader in self._open and reader not in self._readers and len(self._readers) < MAX_READERS

    def is_needed(self, answer: RecentAnswer, now_ns: int) -> bool:
        """Whether a connection that has asked of late has still to read something of an answer.

        One that is before all that leads to it without a gap comes to it later than it is kept, or never.
        """
        nearest = max(
            (
                one.offset
                for reader, one in self._readers.items()
                if one.offset < answer.end and now_ns - one.seen_ns < FRESH_NS and reader in self._open
            ),
            default=-1,
        )
        begin = answer.begin
        for one in reversed(self.answers):
            if not 0 <= nearest < begin:
                break
            if one.begin < begin <= one.end:
                begin = one.begin
        return nearest >= begin

    def note_bounds(self, bounds: Bounds) -> None:
        """Take note of what a broker has said."""
        self._bounds = bounds

    def bounds(self, leader_epoch: int, now_ns: int) -> Bounds | None:
        """Return what a broker has said of late under this leader; None: nothing."""
        found = self._bounds
        return found if found is not None and _is_valid(found, leader_epoch, now_ns) else None

    def find(self, offset: int, leader_epoch: int, max_bytes: int, now_ns: int) -> RecentAnswer | None:
        """Return an answer that has this offset, and no more bytes than these; None: there is none."""
        for one in reversed(self.answers):
            is_there = one.begin <= offset < one.end and one.max_bytes <= max_bytes
            if is_there and _is_valid(one.bounds, leader_epoch, now_ns):
                return one
        return None

    def begin_poll(
        self, offset: int, leader_epoch: int, max_bytes: int, min_bytes: int, end: PollEnd, now_ns: int = 0
    ) -> None:
        """Take note of a Fetch that goes to the broker now, unless others can join one that is there."""
        if self.poll(offset, leader_epoch, max_bytes, min_bytes, since_ns=now_ns - LATE_NS) is None:
            del self._polled[: 1 - MAX_POLLS]
            self._polled.append(_Polled(offset, leader_epoch, max_bytes, min_bytes, end, now_ns))

    def note_records(self, offset: int, behind: int, end: PollEnd, now_ns: int) -> None:
        """Take note that a Fetch has found records at an offset; another one for it that has not ended is slow.

        Args:
            offset: what was asked for.
            behind: the offset behind the last record.
            end: of this Fetch.
            now_ns: the time.
        """
        self.brought_ns, self.span = now_ns, behind - offset
        for polled in self._polled:
            if polled.offset == offset and polled.end is not end:
                polled.end.is_slow = True

    def poll(
        self,
        offset: int,
        leader_epoch: int,
        max_bytes: int,
        min_bytes: int,
        *,
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
        if any(one.end.has_come or one.end.is_slow for one in self._polled):
            self._polled = [one for one in self._polled if not (one.end.has_come or one.end.is_slow)]
        reach = 1 if not takes_earlier else offset + 1 if self.span is None else self.span
        for one in self._polled:
            is_same = one.offset <= offset < one.offset + reach and one.leader_epoch == leader_epoch
            is_new = one.begun_ns >= since_ns
            if is_new and is_same and one.max_bytes <= max_bytes and one.min_bytes <= min_bytes:
                return one.end
        return None

    def forget(self) -> None:
        """Forget what is known; the answers are the store's to drop."""
        self._bounds = None
        self._polled.clear()


def _is_valid(bounds: Bounds, leader_epoch: int, now_ns: int) -> bool:
    return bounds.leader_epoch == leader_epoch and now_ns - bounds.came_ns < FRESH_NS
