"""Fetch of virtual partitions: one fetch of a physical partition serves all virtual ones that the client asks for.

The broker is asked from the lowest of their offsets on, unless what it would say is known (sharing/shared_fetches.py),
and each gets what is its own from its own offset on. For each run of batches of others there is a marker, so that the
client's position moves on behind them. A run at the end of the log has one only as far as virtual partitions end at the
least (tenancy/virtual_partitions/partition_end.py): the consumer stays at the end of its own partition, which is its
high watermark, and the connection remembers what was fetched behind it (`ScannedOffsets`).

So records behind which a consumer stays may be deleted though it has read all of its own. When its offset is out of
range, the broker is asked where the log begins, and an offset a little before it goes on there.

A fetch session (KIP-227) would be one of physical partitions with one offset each, which the client's is not. So such a
request is always one without a session: a client that has begun one is told that it is not found, and sends all its
partitions again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, session_not_found
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.left_out.items import joined_topics
from bifrost.filters.steps import FORWARD, Answer, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, Shape, TopicKey, key_of, virtual_topics
from bifrost.filters.virtual.sharing import shared_fetches as sharing
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.virtual_partitions.fetch_readers import FetchDivision, FetchReader, FetchReaders, ask
from bifrost.tenancy.virtual_partitions.partition_end import STEP
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
from bifrost.tenancy.virtual_partitions.scanned_offsets import ScannedOffsets
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchResponse, ListOffsetsRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import FetchRequest

_FIRST_WITH_HEADERS = 4
"""Version of Fetch from which a broker sends batches as they are; before, it makes messages without a producer ID."""

_EARLIEST, _BY_NAME_AND_OFFSET = -2, 1
"""ListOffsetsRequest.EARLIEST_TIMESTAMP, and the first version that answers with one offset."""
_LIMIT = "virtual_partitions_scanned"
"""What the metrics call `MAX_PARTITIONS` of scanned_offsets.pyx."""
_COMMITTED = 1
"""Isolation level of a consumer that gets no records of open transactions."""

_REQUEST = Shape("topics", "topic", "partitions", "partition")
_RESPONSE = Shape("responses", "topic", "partitions", "partition_index")


_Place = tuple[TopicKey, int]
"""A virtual partition."""


class _Fetched:
    """What was asked of the topics with virtual partitions, and what is answered here."""

    __slots__ = (
        "foreign_bytes",
        "has_start",
        "is_committed",
        "is_counted",
        "own_bytes",
        "readers",
        "refused",
        "remapped",
    )

    def __init__(self, request: FetchRequest, has_start: set[_Place]) -> None:
        self.is_committed = request.isolation_level == _COMMITTED
        self.is_counted = False
        """Whether the answer was divided and counted before: it waits for what filters of records need."""
        self.remapped = 0
        """How many virtual partitions there are that the client has named."""
        self.own_bytes = self.foreign_bytes = 0
        """Of the batches in the answer, those of the client's virtual partitions and all others."""
        self.has_start = has_start
        """Virtual partitions for which the broker was asked where the log begins."""
        self.readers: dict[TopicKey, dict[int, FetchReaders]] = {}
        """By topic and physical partition."""
        self.refused: dict[TopicKey, list[Any]] = {}


_FETCHED: Note[_Fetched] = Note("fetched_virtual_partitions")


class FetchedPartitionsFilter:
    """Gives each virtual partition its own records."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Ask for each physical partition once."""
        starts = exchange.met.get(AtBroker)
        has_start: set[_Place] = set()
        if isinstance(starts, AtBroker):
            has_start = _take_starts(exchange, request, starts)
        elif need := _starts_needed(exchange, request):
            return need
        virtual, fetched = virtual_topics(exchange), _Fetched(request, has_start)
        wanted: dict[TopicKey, tuple[Any, PartitionMap]] = {}
        for topic in in_steps(request.topics):
            key = key_of(topic, _REQUEST)
            partitions = virtual.map_of_either(*key)
            if partitions is not None:
                _name_once(topic, wanted.setdefault(key, (topic, partitions))[0])
        for key, (topic, partitions) in in_steps(wanted.items()):
            _ask(fetched, key, topic, partitions, exchange)
        if not fetched.readers:
            return FORWARD
        if request.session_id != NO_SESSION and request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
            return Answer(session_not_found())
        request.session_epoch = FINAL_EPOCH
        request.forgotten_topics_data = []
        request.topics = [topic for topic in in_steps(request.topics) if topic.partitions]
        if not has_start and (poll := sharing.share(exchange, request, fetched.readers)):
            return poll
        if exchange.stand_in is not None:
            _divide(exchange, fetched, exchange.stand_in)
            sharing.take_room(exchange, fetched.own_bytes)
        virtual.count("remapped", fetched.remapped)
        exchange.keep(_FETCHED, fetched)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Divide what came of each physical partition."""
        fetched = exchange.find(_FETCHED)
        if fetched is None:
            return FORWARD
        is_shared = exchange.stand_in is not None
        if not is_shared:
            sharing.add_left_out(exchange, response)
            _divide(exchange, fetched, response)
            exchange.left_out_bytes = fetched.foreign_bytes
        if not response.error_code:
            _add_refused(response, fetched)
        if not fetched.is_counted:
            _count(exchange, fetched, is_shared=is_shared)
        sharing.end(exchange)
        return FORWARD


def _divide(exchange: Exchange, fetched: _Fetched, response: Any) -> None:
    """Put what the virtual partitions get in the place of what came of each physical one.

    What stands in for a broker's answer is divided before it is sent: it has only the client's own records then, which
    may be a tenth of what was kept.
    """
    virtual, keep = virtual_topics(exchange), None
    if exchange.stand_in is None and not fetched.is_counted:
        keep = partial(sharing.keep, exchange)
    scanned, refuse = _scanned(exchange), partial(_take_refused, exchange, fetched)
    division = FetchDivision(scanned, is_committed=fetched.is_committed, keep=keep, refuse=refuse)
    for topic in in_steps(response.responses):
        key = key_of(topic, _RESPONSE)
        readers = fetched.readers.get(key)
        if readers is None:
            continue
        partitions = virtual.map_of_either(*key)
        is_keyed = partitions is not None and partitions.is_keyed
        topic.partitions = division.divided(topic.partitions, key, readers, is_keyed)
    if division.has_no_room:
        virtual.hit(_LIMIT)
    fetched.own_bytes, fetched.foreign_bytes = division.own_bytes, division.foreign_bytes


def _count(exchange: Exchange, fetched: _Fetched, *, is_shared: bool) -> None:
    virtual, kind = virtual_topics(exchange), "shared_" if is_shared else ""
    if is_shared:
        virtual.count("shared_answers", 1)
    virtual.count(f"{kind}own_bytes", fetched.own_bytes)
    virtual.count(f"{kind}foreign_bytes", fetched.foreign_bytes)
    fetched.is_counted = True


def _scanned(exchange: Exchange) -> ScannedOffsets:
    found = exchange.scope.scanned
    assert found is not None, "connections of tenants with virtual partitions have them"
    return found


def _name_once(topic: Any, first: Any) -> None:
    """Join a topic to what the request has named of it before: two questions about one physical partition, from virtual
    ones of both, would be answered from the last offset alone.

    Java's consumer takes its partitions in turn, and joins only those of a topic that follow each other.
    Source: FetchRequest.Builder.build.
    """
    if first is not topic:
        first.partitions = [*first.partitions, *topic.partitions]
        topic.partitions = []


def _ask(fetched: _Fetched, key: TopicKey, topic: Any, partitions: PartitionMap, exchange: Exchange) -> None:
    """Put the physical partitions of a topic in the place of the virtual ones, each with the lowest offset."""
    virtual = virtual_topics(exchange)
    has_headers, starts = exchange.api_version >= _FIRST_WITH_HEADERS, virtual.starts
    name = virtual.name_of(*key).encode()
    at_brokers = bytes(virtual.namespace.names.physical_topic(VirtualTopic(name)))

    def begin_of(physical: int, group: int, offset: int) -> int:
        return starts.begin_of((at_brokers, physical), group, offset)

    def refuse(number: int, error: int = NO_PARTITION) -> None:
        fetched.remapped -= 1
        fetched.refused.setdefault(key, []).append(_refused(number, error))

    readers = fetched.readers.setdefault(key, {})
    fetched.remapped += len(topic.partitions)
    if has_headers:
        some, begins = topic.partitions, begin_of if starts.has_any else None
        scanned, has_start = _scanned(exchange), fetched.has_start
        topic.partitions = ask(readers, some, key, partitions, scanned, has_start, begins, refuse)
        return
    for one in in_steps(topic.partitions):
        known = partitions.has(one.partition)
        refuse(one.partition, int(ErrorCode.UNSUPPORTED_VERSION) if known else NO_PARTITION)
    topic.partitions = []


def _take_refused(
    exchange: Exchange, fetched: _Fetched, key: TopicKey, parts: list[tuple[Any, FetchReader]]
) -> None:
    """Let a consumer ask again that may be out of the range of the log only with others, or a little."""
    if parts[0][0].error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
        return
    scanned = _scanned(exchange)
    lowest = min(reader.asked for _, reader in parts)
    for part, reader in parts:
        place = key, reader.partition
        if reader.asked == lowest and place in fetched.has_start and reader.asked == reader.offset:
            continue  # It is out of the range of the log.
        # The client asks again: when the others are elsewhere, or when it is known where the log begins.
        part.error_code, part.records = int(ErrorCode.NONE), b""
        if reader.asked == lowest:
            scanned.forget(place)
            scanned.without_start.add(place)


def _starts_needed(exchange: Exchange, request: FetchRequest) -> AtBroker | None:
    """Ask where the logs begin of partitions whose offset was out of range; None: there is none in the request."""
    scanned, virtual = _scanned(exchange), virtual_topics(exchange)
    if not scanned.without_start:
        return None
    new, topics = ListOffsetsRequest, []
    for topic in in_steps(request.topics):
        key = key_of(topic, _REQUEST)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            continue
        wanted = {
            partitions.place_of(VirtualPartition(one.partition))[1]
            for one in in_steps(topic.partitions)
            if (key, one.partition) in scanned.without_start
        }
        if wanted:
            some = [
                new.ListOffsetsPartition(partition_index=one, timestamp=_EARLIEST) for one in sorted(wanted)
            ]
            name = virtual.name_of(*key)
            topics.append(new.ListOffsetsTopic(name=name, partitions=some))
    if not topics:
        return None
    virtual.count("parts", 1)
    return AtBroker(((new(replica_id=-1, topics=topics), _BY_NAME_AND_OFFSET),))


def _take_starts(exchange: Exchange, request: FetchRequest, met: AtBroker) -> set[_Place]:
    """Let consumers go on at the start of a log if their offset is a little before it; return all that were asked."""
    scanned, virtual, asked = _scanned(exchange), virtual_topics(exchange), set[_Place]()
    starts = {
        (topic.name, one.partition_index): one.offset
        for topic in in_steps(met.answers[0].topics)
        for one in in_steps(topic.partitions)
        if not one.error_code
    }
    for topic in in_steps(request.topics):
        key = key_of(topic, _REQUEST)
        partitions = virtual.map_of_either(*key)
        name = virtual.name_of(*key)
        for one in in_steps(topic.partitions if partitions is not None else ()):
            place = key, one.partition
            if place not in scanned.without_start:
                continue
            assert partitions is not None
            scanned.without_start.remove(place)
            asked.add(place)
            start = starts.get((name, partitions.place_of(VirtualPartition(one.partition))[1]), -1)
            if 0 < start - one.fetch_offset <= 2 * STEP and one.fetch_offset >= 0:
                scanned.note(place, one.fetch_offset, start, one.current_leader_epoch)
    return asked


def _add_refused(response: FetchResponse, fetched: _Fetched) -> None:
    new = FetchResponse.FetchableTopicResponse
    refused = [
        new(topic=key[0], topic_id=key[1], partitions=some) for key, some in in_steps(fetched.refused.items())
    ]
    if refused:
        response.responses = joined_topics([*response.responses, *refused], "partitions")


def _refused(partition: int, error: int) -> Any:
    return FetchResponse.PartitionData(
        partition_index=partition, error_code=error, high_watermark=-1, records=b""
    )
