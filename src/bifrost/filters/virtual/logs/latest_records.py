"""The record with the latest timestamp of each virtual partition, for ListOffsets -3 (KIP-734).

The broker knows that of the physical partition alone. So its log is read from the end back, until the broker's index by
time says that nothing before is as late (tenancy/virtual_partitions/logs/latest_record.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.logs.log_searches import UNDECIDED, LogSearches, Place
from bifrost.filters.virtual.offset_scans import LIMIT
from bifrost.tenancy.virtual_partitions.logs.latest_record import LatestSearch
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.messages import ListOffsetsRequest

MAX_TIMESTAMP = -3
"""What ListOffsets takes for the record with the latest timestamp."""
_SINCE = 7
"""The first version that has it."""


class LatestRecord(NamedTuple):
    """The answer for a virtual partition."""

    offset: int
    """-1: it has no record, or there is an error."""
    timestamp_ms: int
    error_code: int
    leader_epoch: int


NOT_KNOWN = LatestRecord(-1, -1, int(ErrorCode.UNSUPPORTED_VERSION), -1)
"""As a broker answers a time that its version does not know (KafkaApis.handleListOffsetRequest)."""
_NONE = LatestRecord(-1, -1, 0, -1)

Answers = dict[tuple[str, int], LatestRecord]
"""By topic and virtual partition."""


def look_up(exchange: Exchange, request: ListOffsetsRequest) -> AtBroker | Answers:
    """Return the answers for the virtual partitions of a request that are asked for it, or what is needed first."""
    wanted = _wanted(exchange, request)
    if not wanted:
        return {}
    met = exchange.met.get(AtBroker)
    searches = met.plan if isinstance(met, AtBroker) else None
    if not isinstance(searches, LogSearches) or not isinstance(met, AtBroker):
        return LogSearches(wanted).first_need(exchange.api_version, request.isolation_level)
    virtual = virtual_topics(exchange)
    searches.take(met)
    if not searches.searches:
        for place, bounds in in_steps(searches.bounds.items()):
            partitions = virtual.map_of(place[0])
            if not bounds.error_code:
                is_keyed = partitions is not None and partitions.is_keyed
                searches.searches[place] = LatestSearch(
                    bounds.start, bounds.end, wanted[place], is_keyed=is_keyed
                )
    need = searches.next_need(exchange.api_version)
    if need is not None:
        return need
    virtual.count("parts", searches.questions)
    virtual.count("scanned_bytes", searches.read_bytes)
    exchange.read_batches += searches.reads
    found: Answers = {}
    for (name, physical), groups in in_steps(wanted.items()):
        partitions = virtual.map_of(name)
        assert partitions is not None, "the topic had virtual partitions when the broker was asked"
        for group in groups:
            record = _answer(searches, (name, physical), group)
            found[name, partitions.virtual_of(group, physical)] = record
    if NOT_KNOWN in found.values():
        virtual.hit(LIMIT)
    return found


def _wanted(exchange: Exchange, request: ListOffsetsRequest) -> dict[Place, set[PartitionGroup]]:
    """Return the groups of each physical partition that are asked for."""
    wanted: dict[Place, set[PartitionGroup]] = {}
    if exchange.api_version < _SINCE:
        return wanted
    virtual = virtual_topics(exchange)
    for topic in in_steps(request.topics):
        partitions = virtual.map_of(topic.name)
        for one in in_steps(topic.partitions if partitions is not None else ()):
            assert partitions is not None
            if one.timestamp == MAX_TIMESTAMP and partitions.has(one.partition_index):
                group, physical = partitions.place_of(VirtualPartition(one.partition_index))
                wanted.setdefault((topic.name, physical), set()).add(group)
    return wanted


def _answer(searches: LogSearches, place: Place, group: PartitionGroup) -> LatestRecord:
    error = searches.bounds[place].error_code or searches.errors.get(place, UNDECIDED)
    if error:
        return LatestRecord(-1, -1, error, -1)
    search = searches.searches[place]
    assert isinstance(search, LatestSearch)
    if not search.is_known(group):
        return NOT_KNOWN
    found = search.latest(group)
    return _NONE if found is None else LatestRecord(found.offset, found.timestamp_ms, 0, found.leader_epoch)
