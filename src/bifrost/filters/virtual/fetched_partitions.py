"""Fetch of virtual partitions: one fetch of a physical partition serves all virtual ones that the client asks for.

The broker is asked from the lowest of their offsets on, and each gets what is its own from its own offset on. For
each run of batches of others there is a marker, so that the client's position moves on behind them.

A fetch session (KIP-227) would be one of physical partitions with one offset each, which the client's is not. So such a
request is always one without a session: a client that has begun one is told that it is not found, and sends all its
partitions again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, session_not_found
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, Shape, TopicKey, copied, key_of, virtual_topics
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, VirtualPartition
from bifrost.tenancy.virtual_partitions.virtual_batches import OLD_FORMAT, UnfitBatch, own_records
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import FetchRequest

_FIRST_WITH_HEADERS = 4
"""Version of Fetch from which a broker sends batches as they are; before, it makes messages without a producer ID."""

_REQUEST = Shape("topics", "topic", "partitions", "partition")
_RESPONSE = Shape("responses", "topic", "partitions", "partition_index")


class _Reader(NamedTuple):
    """A virtual partition that is fetched."""

    partition: int
    group: PartitionGroup
    offset: int


class _Fetched:
    """What was asked of the topics with virtual partitions, and what is answered here."""

    __slots__ = ("readers", "refused")

    def __init__(self) -> None:
        self.readers: dict[TopicKey, dict[int, dict[PartitionGroup, _Reader]]] = {}
        """By topic and physical partition. Of a virtual partition that is named twice the last one counts, as with a
        broker."""
        self.refused: dict[TopicKey, list[Any]] = {}


_FETCHED: Note[_Fetched] = Note("fetched_virtual_partitions")


class FetchedPartitionsFilter:
    """Gives each virtual partition its own records."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Ask for each physical partition once."""
        virtual, fetched = virtual_topics(exchange), _Fetched()
        for topic in in_steps(request.topics):
            key = key_of(topic, _REQUEST)
            partitions = virtual.map_of_either(*key)
            if partitions is not None:
                _ask(fetched, key, topic, partitions, exchange.api_version)
        if not fetched.readers:
            return FORWARD
        if request.session_id != NO_SESSION and request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
            return Answer(session_not_found())
        request.session_epoch = FINAL_EPOCH
        request.forgotten_topics_data = []
        request.topics = [topic for topic in in_steps(request.topics) if topic.partitions]
        exchange.keep(_FETCHED, fetched)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Divide what came of each physical partition."""
        fetched = exchange.find(_FETCHED)
        if fetched is None:
            return FORWARD
        virtual = virtual_topics(exchange)
        for topic in in_steps(response.responses):
            readers = fetched.readers.get(key_of(topic, _RESPONSE))
            if readers is None:
                continue
            shown: list[Any] = []
            for partition in in_steps(topic.partitions):
                shown += _parts(virtual, partition, readers.get(partition.partition_index, {}))
            topic.partitions = shown
        if not response.error_code:
            _add_refused(response, fetched)
        return FORWARD


def _ask(fetched: _Fetched, key: TopicKey, topic: Any, partitions: PartitionMap, version: int) -> None:
    """Put the physical partitions of a topic in the place of the virtual ones, each with the lowest offset."""
    readers = fetched.readers.setdefault(key, {})
    wanted: dict[int, Any] = {}
    for one in in_steps(topic.partitions):
        error = 0 if partitions.has(one.partition) else NO_PARTITION
        if not error and version < _FIRST_WITH_HEADERS:
            error = int(ErrorCode.UNSUPPORTED_VERSION)
        if error:
            fetched.refused.setdefault(key, []).append(_refused(one.partition, error))
            continue
        group, physical = partitions.place_of(VirtualPartition(one.partition))
        readers.setdefault(physical, {})[group] = _Reader(one.partition, group, one.fetch_offset)
        known = wanted.get(physical)
        if known is None or one.fetch_offset < known.fetch_offset:
            most, epoch = (
                (0, -1) if known is None else (known.partition_max_bytes, known.current_leader_epoch)
            )
            wanted[physical] = copied(
                one,
                partition=physical,
                partition_max_bytes=max(most, one.partition_max_bytes),
                current_leader_epoch=max(epoch, one.current_leader_epoch),
            )
        else:
            known.partition_max_bytes = max(known.partition_max_bytes, one.partition_max_bytes)
            known.current_leader_epoch = max(known.current_leader_epoch, one.current_leader_epoch)
    topic.partitions = list(wanted.values())


def _parts(virtual: VirtualTopics, partition: Any, readers: dict[PartitionGroup, _Reader]) -> list[Any]:
    """Return what the virtual partitions get of the answer for their physical one."""
    parts = [copied(partition, partition_index=reader.partition) for reader in in_steps(readers.values())]
    for part, group in zip(parts, readers, strict=True):
        if group != FIRST_GROUP and part.aborted_transactions:
            part.aborted_transactions = []
    if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        lowest = min((one.offset for one in readers.values()), default=0)
        for part, reader in zip(parts, readers.values(), strict=True):
            if reader.offset > lowest:
                # The broker was not asked about this offset: the client asks again when the others are elsewhere.
                part.error_code, part.records = int(ErrorCode.NONE), b""
    elif not partition.error_code and partition.records:
        _give_records(virtual, parts, partition.records, readers)
    return parts


def _give_records(
    virtual: VirtualTopics, parts: list[Any], records: Any, readers: dict[PartitionGroup, _Reader]
) -> None:
    try:
        own, own_bytes = own_records(records, {group: reader.offset for group, reader in readers.items()})
    except UnfitBatch as unfit:
        is_old = unfit.fault == OLD_FORMAT
        code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT if is_old else ErrorCode.CORRUPT_MESSAGE
        for part in in_steps(parts):
            part.records, part.error_code = b"", int(code)
        return
    for part, group in zip(parts, readers, strict=True):
        part.records = own[group]
    virtual.count("own_bytes", own_bytes)
    virtual.count("foreign_bytes", len(records) - own_bytes)


def _add_refused(response: FetchResponse, fetched: _Fetched) -> None:
    known = {key_of(topic, _RESPONSE): topic for topic in in_steps(response.responses)}
    for key, refused in in_steps(fetched.refused.items()):
        topic = known.get(key)
        if topic is None:
            topic = FetchResponse.FetchableTopicResponse(topic=key[0], topic_id=key[1])
            response.responses.append(topic)
        topic.partitions.extend(refused)


def _refused(partition: int, error: int) -> Any:
    return FetchResponse.PartitionData(
        partition_index=partition, error_code=error, high_watermark=-1, records=b""
    )
