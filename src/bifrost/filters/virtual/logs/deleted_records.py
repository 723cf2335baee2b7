"""DeleteRecords of virtual partitions: the log of the physical one is cut where that is exactly what is asked for.

    client ──▶ where do the logs begin and end ──▶ what lies where they might be cut ──▶ the cut, or a refusal

A broker deletes all records before an offset. Where virtual partitions that the request does not name, or records that
one of them keeps, lie before that offset, the answer is POLICY_VIOLATION and nothing is deleted (log_cut.py). To
remember a low watermark in place of that would need a memory that all gateways ask before each Fetch, or records that
were deleted would be read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, copied, virtual_topics
from bifrost.filters.virtual.logs.log_searches import LogSearches
from bifrost.filters.virtual.offset_scans import LIMIT
from bifrost.tenancy.virtual_partitions.logs.log_cut import LogCut
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
    from bifrost.wire.entity import Entity

HIGH_WATERMARK = -1
"""What stands for the end of the log in DeleteRecords."""
_WITH_OFFSETS = 1
"""The first version of ListOffsets that answers with one offset."""
_NO_WATERMARK = -1


class _Named:
    """What a request names of a topic with virtual partitions."""

    def __init__(self, partitions: PartitionMap) -> None:
        self.partitions = partitions
        self.losing: dict[PhysicalPartition, dict[PartitionGroup, int]] = {}
        """The offset of each group, by physical partition; of one that is named twice the last, as at a broker."""
        self.errors: dict[int, int] = {}
        """Virtual partitions that are not deleted from, and why."""

    def add(self, number: int, offset: int) -> None:
        """Add a virtual partition of the request."""
        if self.partitions.has(number):
            group, physical = self.partitions.place_of(VirtualPartition(number))
            self.losing.setdefault(physical, {})[group] = offset
        else:
            self.errors[number] = NO_PARTITION

    def refuse(self, group: PartitionGroup, physical: PhysicalPartition, error: int) -> None:
        """Note that nothing is deleted from a virtual partition."""
        del self.losing[physical][group]
        self.errors[self.partitions.virtual_of(group, physical)] = error


_NAMED: Note[dict[str, _Named]] = Note("virtual_partitions_to_delete_from")


class DeletedRecordsFilter:
    """Deletes records of virtual partitions where others keep theirs."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DeleteRecordsRequest) -> RequestStep:
        """Look where the logs can be cut, and ask for that."""
        named = _named(exchange, request)
        if not named:
            return FORWARD
        met = exchange.met.get(AtBroker)
        searches = met.plan if isinstance(met, AtBroker) else None
        places = [(name, physical) for name, topic in named.items() for physical in in_steps(topic.losing)]
        if not isinstance(searches, LogSearches):
            if places:
                return LogSearches(places).first_need(_WITH_OFFSETS)
            searches = LogSearches(())
        elif isinstance(met, AtBroker):
            searches.take(met)
        _begin(named, searches)
        need = searches.next_need(_WITH_OFFSETS)
        if need is not None:
            return need
        virtual = virtual_topics(exchange)
        virtual.count("parts", searches.questions)
        virtual.count("scanned_bytes", searches.read_bytes)
        if any(not code for code in searches.errors.values()):
            virtual.hit(LIMIT)
        exchange.read_batches += searches.reads
        request.topics = _cuts(request, named, searches)
        exchange.keep(_NAMED, named)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: DeleteRecordsResponse) -> ResponseStep:
        """Answer for each virtual partition that was named."""
        named = exchange.find(_NAMED)
        if named is None:
            return FORWARD
        told = {topic.name: topic for topic in in_steps(response.topics)}
        for name, topic in in_steps(named.items()):
            found = told.get(name)
            shown = [_refused(number, error) for number, error in in_steps(topic.errors.items())]
            for cut in in_steps(found.partitions if found is not None else ()):
                physical = PhysicalPartition(cut.partition_index)
                groups = topic.losing.get(physical, {})
                shown += [
                    copied(cut, partition_index=topic.partitions.virtual_of(group, physical))
                    for group in groups
                ]
            if found is None:
                found = DeleteRecordsResponse.DeleteRecordsTopicResult(name=name)
                response.topics.append(found)
            found.partitions = shown
        return FORWARD


def _refused(number: int, error: int) -> Any:
    return DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=number, low_watermark=_NO_WATERMARK, error_code=error
    )


def _named(exchange: Exchange, request: DeleteRecordsRequest) -> dict[str, _Named]:
    """Return the topics with virtual partitions that a request names."""
    virtual, found = virtual_topics(exchange), dict[str, _Named]()
    for topic in in_steps(request.topics):
        partitions = virtual.map_of(topic.name)
        if partitions is None:
            continue
        named = found.setdefault(topic.name, _Named(partitions))
        for one in in_steps(topic.partitions):
            named.add(one.partition_index, one.offset)
    return found


def _begin(named: dict[str, _Named], searches: LogSearches) -> None:
    """Refuse what the ends of the logs say cannot be, and begin a search for what is left of each."""
    for (name, physical), bounds in in_steps(searches.bounds.items()):
        topic = named[name]
        losing = topic.losing[physical]
        for group, offset in list(losing.items()):
            if offset == HIGH_WATERMARK:
                losing[group] = bounds.end
            elif not bounds.error_code and not 0 <= offset <= bounds.end:
                topic.refuse(group, physical, int(ErrorCode.OFFSET_OUT_OF_RANGE))
            if bounds.error_code:
                topic.refuse(group, physical, bounds.error_code)
        if losing and (name, physical) not in searches.searches:
            all_ = (VirtualPartition(number) for number in topic.partitions.all_of(physical))
            keeping = frozenset(topic.partitions.place_of(number)[0] for number in all_) - losing.keys()
            searches.searches[name, physical] = LogCut(
                bounds.start, losing, keeping, is_keyed=topic.partitions.is_keyed
            )


def _cuts(request: DeleteRecordsRequest, named: dict[str, _Named], searches: LogSearches) -> list[Any]:
    """Return the topics of the request to the broker, with the physical partitions that can be cut."""
    cuts: dict[str, dict[int, int]] = {}
    for (name, physical), search in in_steps(searches.searches.items()):
        assert isinstance(search, LogCut)
        error = searches.errors.get((name, physical), 0)
        cut = None if (name, physical) in searches.errors else search.cut
        if cut is None:
            for group in list(named[name].losing[physical]):
                named[name].refuse(group, physical, error or int(ErrorCode.POLICY_VIOLATION))
        else:
            cuts.setdefault(name, {})[physical] = cut
    topics = [topic for topic in in_steps(request.topics) if topic.name not in named]
    new = DeleteRecordsRequest
    for name, offsets in cuts.items():
        partitions = [
            new.DeleteRecordsPartition(partition_index=one, offset=at)
            for one, at in in_steps(offsets.items())
        ]
        topics.append(new.DeleteRecordsTopic(name=name, partitions=partitions))
    return topics
