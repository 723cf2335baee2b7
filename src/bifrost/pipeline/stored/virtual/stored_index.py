"""The index that gateways keep of where virtual partitions end, held against what the log has.

    begin ........... to | what came later
    ends of groups       |
                         a range that is read ends here, so that what the entry says can be compared

Gateways prove an entry by the batch by which it ends before they use it, and drop one about another log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from bifrost.pipeline.stored.topic_client import EARLIEST, LATEST, DeletedOffset, TopicClient
from bifrost.pipeline.stored.topic_log import OffsetRange, read_range, split_raw
from bifrost.pipeline.stored.virtual.listed_offsets import Difference
from bifrost.records.batch_reader import UnreadableBatch, read_batches
from bifrost.tenancy.virtual_partitions.index.index_entry import (
    IndexEntry,
    UnreadableEntry,
    read_key,
    read_value,
)
from bifrost.tenancy.virtual_partitions.index.log_piece import mark_of
from bifrost.tenancy.virtual_partitions.partition_map import (
    FIRST_GROUP,
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
)

Place = tuple[str, int]
"""A physical topic and one of its partitions."""
INDEX = "index"
"""What differs."""


def read_index(client: TopicClient, index_topic: str, topics: Collection[str]) -> dict[Place, IndexEntry]:
    """Return the last entry of each physical partition; what is no entry is passed over, as gateways do.

    Args:
        client: asks the brokers.
        index_topic: where the entries are; there may be none yet.
        topics: whose entries are wanted.
    Raises:
        PipelineError: it cannot be read.
    """
    if all(one.name != index_topic for one in client.topics()):
        return {}
    found: dict[Place, IndexEntry] = {}
    start, end = (client.offset(index_topic, 0, time) for time in (EARLIEST, LATEST))
    for step in read_range(client, OffsetRange(index_topic, 0, start, end)):
        for stored in step.batches:
            _take(found, stored.data, topics)
    return found


def _take(found: dict[Place, IndexEntry], data: memoryview, topics: Collection[str]) -> None:
    try:
        records = [record for batch in read_batches(data) for record in batch.records]
    except UnreadableBatch:
        return
    for record in records:
        try:
            place = read_key(record.key)
            if place is None:
                continue
            named = place[0].decode(errors="replace"), place[1]
            if named[0] not in topics:
                continue
            if record.value is None:
                found.pop(named, None)
            else:
                found[named] = read_value(record.value)
        except UnreadableEntry:
            continue


def split_at(ranges: Sequence[OffsetRange], entries: Mapping[Place, IndexEntry]) -> list[OffsetRange]:
    """Return ranges none of which goes on beyond the end of an entry that it begins before."""
    found = []
    for one in ranges:
        entry = entries.get((one.topic, one.partition))
        if entry is not None and one.start < entry.end < one.end:
            found += [one._replace(end=entry.end), one._replace(start=entry.end)]
        else:
            found.append(one)
    return found


def is_about(client: TopicClient, place: Place, entry: IndexEntry) -> bool:
    """Whether the log still has the batch by which an entry ends.

    Raises:
        PipelineError: the log cannot be read.
    """
    try:
        answer = client.fetch(*place, entry.end - 1)
    except DeletedOffset:
        return False
    first = next(split_raw(answer.data), None)
    return first is not None and mark_of(first) == entry.last_batch


def index_differences(
    place: Place,
    partitions: PartitionMap,
    entry: IndexEntry,
    ends: Mapping[int, int],
    start: int,
    *,
    is_same_log: bool,
    is_compacted: bool,
) -> Iterator[Difference]:
    """Yield what is wrong with an entry.

    Args:
        place: the physical partition that it is about.
        partitions: of the topic.
        entry: what the index says.
        ends: behind the last record of each virtual partition that has one in the log before the entry's end.
        start: where the log begins by now.
        is_same_log: whether the log has the entry's last batch.
        is_compacted: whether records may be removed anywhere.
    """
    topic, number = place
    if entry.end <= start or (is_compacted and not is_same_log):
        return  # All of it is deleted, or its last batch was written anew: gateways do not use it.
    if not is_same_log:
        first = partitions.virtual_of(FIRST_GROUP, PhysicalPartition(number))
        yield Difference(topic, first, INDEX, "the entry of another log", entry.end)
        return
    for virtual in map(VirtualPartition, partitions.all_of(PhysicalPartition(number))):
        group, _ = partitions.place_of(virtual)
        said, own = entry.ends.get(group, 0), ends.get(virtual, 0)
        least = own if own > entry.begin else 0
        # The record behind which it says that the partition ends may have been deleted since.
        most = max(least, entry.end if is_compacted else start)
        if said != least and not (least < said <= most):
            yield Difference(
                topic, virtual, INDEX, str(least) if least == most else f"{least} to {most}", said
            )
