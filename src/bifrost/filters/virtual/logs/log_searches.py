"""Asks the broker of the connection what searches in logs need, some at a time, until all are decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.offset_scans import MAX_SCAN_BYTES, MAX_SCANNED_BYTES
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition
from bifrost.tenancy.virtual_partitions.virtual_batches import UnfitBatch
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest, ListOffsetsRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bifrost.tenancy.virtual_partitions.logs.log_search import LogSearch
    from bifrost.wire.message import Message

EARLIEST, LATEST = -2, -1
"""What ListOffsets takes for the start and the end."""
AGAIN = int(ErrorCode.KAFKA_STORAGE_ERROR)
"""With this error clients ask again."""
UNDECIDED = 0
"""The search has met its limit, or a batch that does not say whose it is."""
_FETCH_VERSION = 4
"""The oldest version of Fetch whose batches have headers, which all brokers have."""
_AT_A_TIME = 8
"""Most questions that are on their way at a time."""
_CHUNK = 512 * 1024
"""Bytes that are read for a question, or one batch."""

Place = tuple[str, PhysicalPartition]
"""A topic, as the client calls it, and a physical partition."""


class Bounds(NamedTuple):
    """Where a log begins and ends."""

    start: int
    end: int
    error_code: int = 0
    """Not 0: the broker does not say."""


class LogSearches:
    """The searches of one request; the plan of the needs that it has."""

    def __init__(self, places: Collection[Place]) -> None:
        """Know nothing yet of the logs of these physical partitions."""
        self._places = sorted(places)
        self.bounds: dict[Place, Bounds] = {}
        """Where the logs begin and end, once the broker was asked."""
        self.searches: dict[Place, LogSearch] = {}
        """Those that were begun, by the caller."""
        self.errors: dict[Place, int] = {}
        """Why searches have ended without a decision: an error of the broker, or UNDECIDED."""
        self._asked: list[Place] = []
        self._taken: AtBroker | None = None
        self._read: dict[Place, int] = {}
        self.reads = self.questions = self.read_bytes = 0
        """How often the broker has read for them; how often it was asked at all; and how much they have read."""

    def first_need(self, version: int, isolation_level: int = 0) -> AtBroker:
        """Return the questions where the logs begin and end, by a version of ListOffsets."""
        return self._need(
            (self._offsets(dict.fromkeys(self._places, time), isolation_level), version)
            for time in (EARLIEST, LATEST)
        )

    def next_need(self, version: int) -> AtBroker | None:
        """Return the next questions; None: all is decided."""
        if self.read_bytes >= MAX_SCANNED_BYTES:
            self.errors |= dict.fromkeys(list(self._undecided()), UNDECIDED)
        open_ = list(self._undecided())[:_AT_A_TIME]
        if not open_:
            return None
        self._asked = open_
        return self._need(self._question(place, version) for place in in_steps(open_))

    def take(self, met: AtBroker) -> None:
        """Take the answers to a need; once, also if the message is decided again with the same ones."""
        if met is self._taken:
            return
        self._taken = met
        if not self.bounds:
            self._take_bounds(*met.answers)
            return
        for place, answer in zip(self._asked, met.answers, strict=True):
            found = _only(answer, place)
            search = self.searches[place]
            if search.time_ms is None:
                self.reads += 1
                self._take_records(place, search, found)
            elif found is None or found.error_code:
                self.errors[place] = AGAIN if found is None else int(found.error_code)
            else:
                search.take_first(found.offset)

    def _take_bounds(self, first: Any, last: Any) -> None:
        starts, ends = _by_place(first), _by_place(last)
        for place in in_steps(self._places):
            start, end = starts.get(place), ends.get(place)
            code = AGAIN if start is None or end is None else int(start.error_code or end.error_code)
            if start is None or end is None or code:
                self.bounds[place] = Bounds(-1, -1, code)
            else:
                # The log may have been cut between the two answers.
                self.bounds[place] = Bounds(start.offset, max(start.offset, end.offset))

    def _take_records(self, place: Place, search: LogSearch, found: Any) -> None:
        if found is None or found.error_code:
            self.errors[place] = _code_of(found)
            return
        records = bytes(found.records or b"")
        self.read_bytes += len(records)
        self._read[place] = self._read.get(place, 0) + len(records)
        try:
            if not search.take(records):
                self.errors[place] = (
                    AGAIN  # The end has gone: a broker that had not all has become the leader.
                )
        except UnfitBatch:
            self.errors[place] = UNDECIDED
        if place not in self.errors and self._read[place] >= MAX_SCAN_BYTES and _is_open(search):
            self.errors[place] = UNDECIDED

    def _undecided(self) -> Iterator[Place]:
        for place, search in self.searches.items():
            if place not in self.errors and _is_open(search):
                yield place

    def _question(self, place: Place, version: int) -> tuple[Message, int]:
        search = self.searches[place]
        if search.time_ms is not None:
            return self._offsets({place: search.time_ms}, 0), version
        assert search.offset is not None, "the search is decided"
        partition = FetchRequest.FetchPartition(
            partition=place[1], fetch_offset=search.offset, partition_max_bytes=_CHUNK
        )
        topics = [FetchRequest.FetchTopic(topic=place[0], partitions=[partition])]
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=_CHUNK, isolation_level=0, topics=topics
        )
        return request, _FETCH_VERSION

    def _offsets(self, times: dict[Place, int], isolation_level: int) -> ListOffsetsRequest:
        new, topics = ListOffsetsRequest, dict[str, list[Any]]()
        for (name, physical), time in times.items():
            one = new.ListOffsetsPartition(partition_index=physical, timestamp=time, current_leader_epoch=-1)
            topics.setdefault(name, []).append(one)
        return new(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[new.ListOffsetsTopic(name=name, partitions=some) for name, some in topics.items()],
        )

    def _need(self, requests: Iterator[tuple[Message, int]]) -> AtBroker:
        need = AtBroker(tuple(requests), plan=self)
        self.questions += len(need.requests)
        return need


def _is_open(search: LogSearch) -> bool:
    return search.offset is not None or search.time_ms is not None


def _code_of(found: Any) -> int:
    """Return the error of a partition that cannot be read; out of range is one whose log was cut meanwhile."""
    code = AGAIN if found is None else int(found.error_code)
    return AGAIN if code == ErrorCode.OFFSET_OUT_OF_RANGE else code


def _by_place(answer: Any) -> dict[Place, Any]:
    return {
        (topic.name, one.partition_index): one
        for topic in in_steps(answer.topics)
        for one in in_steps(topic.partitions)
    }


def _only(answer: Any, place: Place) -> Any:
    """Return what an answer to ListOffsets or Fetch says of a partition; None: nothing."""
    for topic in answer.responses if hasattr(answer, "responses") else answer.topics:
        for one in in_steps(topic.partitions):
            if one.partition_index == place[1]:
                return one
    return None
