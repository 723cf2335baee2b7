"""What is known of the physical partitions that one Fetch asks for: each is in one of these states.

    kept      an answer with its offset is here
    coming    the Fetch of another connection is at the broker, and is likely to bring it
    missing   neither: only the broker can tell

The state says nothing of where the log ends: that is known of a partition whenever a broker has answered of late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.tenancy.recent_records.recent_partition import LATE_NS
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.division import TopicKey
    from bifrost.tenancy.recent_records.recent_partition import Bounds, RecentAnswer, RecentPartition
    from bifrost.tenancy.recent_records.shared_poll import PollEnd
    from bifrost.wire.messages import FetchRequest

COMMITTED = 1
"""Isolation level of a consumer that gets no records of open transactions."""
Place = tuple["TopicKey", int]
"""A physical partition."""


class Wanted(NamedTuple):
    """A physical partition that is asked for."""

    place: Place
    one: Any
    """Of the request."""
    known: RecentPartition


class KnownPartitions:
    """Those of one Fetch."""

    __slots__ = ("_is_committed", "bounds", "coming", "kept", "missing")

    def __init__(self, request: FetchRequest, wanted: list[Wanted], now_ns: int, *, has_waited: bool) -> None:
        """Look at each once.

        Args:
            request: the Fetch.
            wanted: what it asks for.
            now_ns: the time.
            has_waited: whether it has waited for another one: one from a lower offset on is not waited for again.
        """
        self._is_committed = request.isolation_level == COMMITTED
        self.kept: dict[Place, RecentAnswer] = {}
        self.coming: list[tuple[Wanted, PollEnd]] = []
        self.missing: list[Wanted] = []
        self.bounds: dict[Place, Bounds] = {}
        """Where the logs begin and end, if a broker has said so of late."""
        for each in in_steps(wanted):
            place, one, known = each
            offset, epoch, most = one.fetch_offset, one.current_leader_epoch, one.partition_max_bytes
            bounds = known.bounds(epoch, now_ns)
            if bounds is not None:
                self.bounds[place] = bounds
            answer = known.find(offset, epoch, most, now_ns)
            if answer is not None:
                self.kept[place] = answer
                continue
            since_ns = now_ns - LATE_NS if self.has_more(each) else 0
            end = known.poll(
                offset, epoch, most, request.min_bytes, takes_earlier=not has_waited, since_ns=since_ns
            )
            if end is None:
                self.missing.append(each)
            else:
                self.coming.append((each, end))

    def given(self, most: int) -> dict[Place, RecentAnswer]:
        """Return what is kept, as far as so many bytes of records go, and one answer at least."""
        found: dict[Place, RecentAnswer] = {}
        size = 0
        for place, answer in in_steps(self.kept.items()):
            if not found or size + len(answer.records) <= most:
                found[place] = answer
                size += len(answer.records)
        return found

    def has_more(self, each: Wanted) -> bool:
        """Whether the broker has records for a partition at once, as far as is known."""
        bounds = self.bounds.get(each.place)
        if bounds is None:
            return True
        end = bounds.last_stable_offset if self._is_committed else bounds.high_watermark
        return bool(end > each.one.fetch_offset)

    def unknown(self, wanted: list[Wanted]) -> list[Wanted]:
        """Return what the broker has to be asked for: what is missing, or of which no end is known."""
        missing = {each.place for each in self.missing}
        return [each for each in wanted if each.place in missing or self.end_of(each.place) is None]

    def end_of(self, place: Place) -> Bounds | None:
        """Return where a log begins and ends; None: it is not known."""
        kept = self.kept.get(place)
        return self.bounds.get(place) if kept is None else kept.bounds
