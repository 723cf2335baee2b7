"""ListOffsets: an offset that is looked up by time is exact, though the broker cannot see the records' timestamps.

Of a sealed batch the broker knows the first and the latest timestamp, so it answers with the offset of its first
record. The batch is read and opened, and the record is looked for in it. Where the batch cannot be opened for good, the
answer stays as it is: a consumer misses nothing, and its Fetch has the error. What may pass by itself is an error with
which clients ask again.

Of a topic with virtual partitions the answers are those of virtual ones (filters/virtual/listed_offsets.py), each with
the offset of its own record or, if its batch is sealed, of the batch.

Source: Kafka's LogSegment.findOffsetByTimestamp; KIP-79, KIP-734 (the record with the latest timestamp).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.records.record_work import RecordWork, Refusal
from bifrost.filters.steps import (
    FORWARD,
    TURN,
    RequestStep,
    ResponseStep,
    StoredAt,
    StoredBatch,
    StoredBatches,
)
from bifrost.records.codec.client_batch import as_batch, split_batches
from bifrost.records.codec.errors import NoRoom, RecordsError
from bifrost.transforms.record_transform import Direction
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.filters.records.record_topics import RecordTopics, TopicChain
    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.wire.messages import ListOffsetsRequest, ListOffsetsResponse

MAX_TIMESTAMP = -3
"""ListOffsetsRequest.MAX_TIMESTAMP."""
_FIRST_WITH_OFFSET = 1
"""Version of ListOffsets that looks up records; before it, segments of the log."""

MAX_LOOK_UPS = 1_000
"""Most batches that are opened for one request: some seconds of work. The partitions beyond them have an error with
which clients ask for these again."""
AT_A_TIME = 100
"""Most batches that are read before some of them are opened."""
LIMIT = "offset_look_ups"
"""What the metrics call `MAX_LOOK_UPS`."""


class _Offset(NamedTuple):
    """The answer for a partition."""

    offset: int
    timestamp_ms: int
    error_code: int = 0


class _Place(NamedTuple):
    """Where the broker has the records of a partition."""

    partition: int
    """As the client calls it."""
    physical: int
    own: Callable[[bytes, int], bytes | memoryview]
    """Returns which of the batches there, from an offset on, are the partition's own."""


_AGAIN = _Offset(-1, -1, int(ErrorCode.KAFKA_STORAGE_ERROR))

_Partition = tuple[str, int]


class _LookUps:
    """The offsets that a request looks up by time, and those that are known."""

    __slots__ = ("found", "wanted")

    def __init__(self, wanted: dict[_Partition, int]) -> None:
        self.wanted = wanted
        """The time that each partition is asked for, or MAX_TIMESTAMP."""
        self.found: dict[_Partition, _Offset] = {}
        """A message that waits is decided anew; what was found in a batch is not looked for again."""


_LOOK_UPS: Note[_LookUps] = Note("offsets_by_time")


class OffsetsByTimeFilter:
    """Looks into the batches that answers name."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ListOffsetsRequest) -> RequestStep:
        """Note which offsets are looked up by time in topics whose timestamps are hidden."""
        topics = exchange.scope.records
        assert topics is not None, "only clients to whom filters apply have this filter"
        if exchange.api_version < _FIRST_WITH_OFFSET:
            return FORWARD
        wanted: dict[_Partition, int] = {}
        for topic in in_steps(request.topics):
            if topics.hidden_times(topic.name) is None:
                continue
            for partition in in_steps(topic.partitions):
                if partition.timestamp >= 0 or partition.timestamp == MAX_TIMESTAMP:
                    wanted[topic.name, partition.partition_index] = partition.timestamp
        if wanted:
            exchange.keep(_LOOK_UPS, _LookUps(wanted))
            exchange.wants_response = True
            exchange.read_batches = min(len(wanted), MAX_LOOK_UPS)
        return FORWARD

    def on_response(self, exchange: Exchange, response: ListOffsetsResponse) -> ResponseStep:
        """Put the offsets and timestamps of records in the place of those of their batches."""
        topics, look_ups = exchange.scope.records, exchange.find(_LOOK_UPS)
        if look_ups is None or topics is None:
            return FORWARD
        with RecordWork(topics, Direction.FETCH, exchange, keeps_results=True) as work:
            try:
                step = _refine(work, topics, look_ups, exchange, response)
            except NoRoom:
                return TURN
        return step


def _refine(
    work: RecordWork,
    topics: RecordTopics,
    look_ups: _LookUps,
    exchange: Exchange,
    response: ListOffsetsResponse,
) -> ResponseStep:
    met = exchange.met.get(StoredBatches)
    assert met is None or isinstance(met, StoredBatches)
    to_read: list[StoredAt] = []
    for topic in in_steps(response.topics):
        hidden = topics.hidden_times(topic.name)
        if hidden is None:
            continue
        for partition in in_steps(topic.partitions):
            key = topic.name, partition.partition_index
            wanted = look_ups.wanted.get(key)
            if wanted is None or partition.error_code or partition.offset < 0:
                continue
            found = look_ups.found.get(key)
            if found is None:
                place = _place_of(exchange, topic.name, partition.partition_index)
                at = StoredAt(hidden.physical, place.physical, partition.offset)
                batch = None if met is None else met.found.get(at)
                if batch is not None:
                    answered = _Offset(partition.offset, partition.timestamp)
                    found = _look_up(work, hidden.chain, place, batch, wanted, answered)
                elif len(look_ups.found) >= MAX_LOOK_UPS:
                    found = _AGAIN
                    topics.records.process.memory.hits[LIMIT, topics.records.tenant] += 1
                elif len(to_read) < AT_A_TIME:
                    to_read.append(at)
                if found is None:
                    continue
                look_ups.found[key] = found
            partition.offset, partition.timestamp = found.offset, found.timestamp_ms
            partition.error_code = found.error_code
    if work.need is not None:
        # Each batch may need a key of its own; what bounds them is `MAX_LOOK_UPS`.
        return replace(work.need, rounds=1)
    if not to_read:
        return FORWARD
    wanted_batches = tuple(dict.fromkeys(to_read))
    return StoredBatches(wanted_batches, waited_ns=0 if met is None else met.waited_ns)


def _place_of(exchange: Exchange, topic: str, partition: int) -> _Place:
    virtual = exchange.scope.virtual
    place = None if virtual is None else virtual.place_of(topic, partition)
    if virtual is None or place is None:
        return _Place(partition, partition, lambda records, _: records)
    group, physical = place
    return _Place(
        partition, physical, lambda records, offset: virtual.own_batches(topic, group, records, offset)
    )


def _look_up(
    work: RecordWork,
    chain: TopicChain,
    place: _Place,
    stored: StoredBatch,
    wanted: int,
    as_it_is: _Offset,
) -> _Offset | None:
    """Return the offset of a record in the batch that a broker has answered with; None: its key is needed first."""
    if stored.error_code:
        # Records that were deleted meanwhile, or another leader: clients ask again.
        return _AGAIN
    try:
        records = place.own(stored.records, as_it_is.offset)
        batch = next(split_batches(memoryview(records), is_whole=False), None)
        if batch is None or batch.is_control or batch.is_log_append_time:
            return as_it_is
        opened = work.new_records(batch.data, chain, place.partition)
        if isinstance(opened, Refusal):
            return _AGAIN if opened.error_code is ErrorCode.KAFKA_STORAGE_ERROR else as_it_is
        if work.need is not None:
            return None
        whole = opened if isinstance(opened, bytes | memoryview) else b"".join(opened)
        return _record_in(work, as_batch(whole), as_it_is.offset, wanted) or as_it_is
    except NoRoom:
        raise
    except RecordsError:
        return as_it_is


def _record_in(work: RecordWork, batch: ClientBatch, from_offset: int, wanted: int) -> _Offset | None:
    """Return the first record from an offset on that is not older than a time, or one of the latest."""
    if not batch.record_count:
        return None
    columns = work.columns(batch)
    deltas, offsets = columns.timestamp_deltas, columns.offset_deltas
    least = max(deltas) if wanted == MAX_TIMESTAMP else wanted - batch.base_timestamp_ms
    for row in in_steps(range(len(columns))):
        offset = batch.base_offset + offsets[row]
        if deltas[row] >= least and offset >= from_offset:
            return _Offset(offset, batch.base_timestamp_ms + deltas[row])
    return None
