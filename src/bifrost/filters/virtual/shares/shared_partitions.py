"""ShareFetch: what a member acquires of a physical partition is divided among its virtual ones.

    member's session: virtual partitions  ──▶  broker's session: physical ones of which it has all (ShareSession)
    its acknowledgements                  ──▶  those of one physical partition together, in the order of offsets
    records that the broker has acquired  ──▶  each virtual partition has its own (acquired_batches.pyx)

A broker acknowledges all that a request has for a partition, or nothing. So the result for a physical partition is that
of each of its virtual ones that were acknowledged.

A message may be decided anew, when something has to be asked for first. So what the broker's session has is noted when
it has answered, and what the member's has may be said twice.

Source: KafkaApis.handleShareFetchRequest, SharePartitionManager.newContext, ShareSessionHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.left_out.items import joined_topics
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, copied, in_one_piece, virtual_topics
from bifrost.filters.virtual.shares.acknowledgements import Acknowledgements
from bifrost.tenancy.virtual_partitions.partition_map import (
    PartitionGroup,
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
)
from bifrost.tenancy.virtual_partitions.shares.acquired_batches import acquired_batches
from bifrost.tenancy.virtual_partitions.shares.share_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    LIMIT,
    Place,
    ShareSession,
    ShareSessions,
)
from bifrost.tenancy.virtual_partitions.virtual_batches import OLD_FORMAT, UnfitBatch
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareFetchRequest, ShareFetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.virtual_partitions.shares.acquired_batches import Acquired
    from bifrost.wire.entity import Entity


class _Shared:
    """What a ShareFetch asked of topics with virtual partitions."""

    __slots__ = ("acknowledged", "change_count", "is_counted", "refused", "session", "topics")

    def __init__(self, session: ShareSession) -> None:
        self.session = session
        self.topics: dict[bytes, PartitionMap] = {}
        """The partitions of the topics that the answer may have."""
        self.acknowledged = Acknowledgements()
        self.refused: dict[bytes, list[int]] = {}
        """The numbers that no virtual partition has, by the ID of their topic."""
        self.change_count = 0
        """How many changes of the session the broker knows when it has taken the request."""
        self.is_counted = False
        """Whether the answer was divided and counted before: it waits for what filters of records need."""


_SHARED: Note[_Shared] = Note("shared_virtual_partitions")


def share_sessions(exchange: Exchange) -> ShareSessions:
    """Return the share sessions of the connection."""
    found = exchange.scope.shares
    assert found is not None, "connections of tenants with virtual partitions have them"
    return found


class SharedPartitionsFilter:
    """Gives each virtual partition of a member its own records."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ShareFetchRequest) -> RequestStep:
        """Ask for the physical partitions of which the session has all virtual ones."""
        sessions, key = share_sessions(exchange), (request.group_id or "", request.member_id or "")
        session = _session(exchange, sessions, key, request.share_session_epoch)
        if isinstance(session, ErrorCode):
            return Answer(ShareFetchResponse(error_code=session))
        shared = _Shared(session)
        if not _change(exchange, shared, request):
            virtual_topics(exchange).hit(LIMIT)
            sessions.end(key)
            return Answer(ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED))
        shared.topics |= session.topics
        if not shared.topics:
            return FORWARD
        _ask(shared, request)
        exchange.keep(_SHARED, shared)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: ShareFetchResponse) -> ResponseStep:
        """Divide what was acquired of each physical partition."""
        shared = exchange.find(_SHARED)
        if shared is None or response.error_code:
            return FORWARD
        shared.session.note_told(shared.change_count)
        for topic in in_steps(response.responses):
            partitions = shared.topics.get(topic.topic_id)
            if partitions is not None:
                topic.partitions = [
                    part
                    for one in in_steps(topic.partitions)
                    for part in _parts(exchange, shared, topic.topic_id, partitions, one)
                ]
        response.responses = [one for one in in_steps(response.responses) if one.partitions]
        _add_refused(response, shared)
        shared.is_counted = True
        return FORWARD


def _session(
    exchange: Exchange, sessions: ShareSessions, key: tuple[str, str], epoch: int
) -> ShareSession | ErrorCode:
    """Return the session that a request begins, goes on with or ends, or the error that its member gets."""
    if epoch == FINAL_EPOCH:
        return sessions.end(key)
    if epoch == INITIAL_EPOCH:
        begun = sessions.begin(key)
        if begun is None:
            virtual_topics(exchange).hit(LIMIT)
        return ErrorCode.SHARE_SESSION_LIMIT_REACHED if begun is None else begun
    session = sessions.find(key)
    if session is None:
        # The member begins anew, and names all that it has.
        return ErrorCode.SHARE_SESSION_NOT_FOUND
    virtual = virtual_topics(exchange)
    for topic_id, partitions in session.topics.items():
        known = virtual.map_of_either(None, topic_id)
        if known not in (None, partitions):
            session.divide_anew(topic_id, known)
    return session


def _change(exchange: Exchange, shared: _Shared, request: ShareFetchRequest) -> bool:
    """Take the topics with virtual partitions out of a request, and change the session as it says.

    Returns:
        False: there is no room for what it names.
    """
    virtual, session, kept = virtual_topics(exchange), shared.session, list[Any]()
    is_final = request.share_session_epoch == FINAL_EPOCH
    for topic in in_steps(request.topics):
        topic_id = topic.topic_id
        partitions = virtual.map_of_either(None, topic_id)
        if partitions is None:
            kept.append(topic)
            continue
        shared.topics[topic_id] = partitions
        for one in in_steps(topic.partitions):
            number = VirtualPartition(one.partition_index)
            if not partitions.has(number):
                shared.refused.setdefault(topic_id, []).append(number)
                continue
            if not is_final and not session.add(topic_id, partitions, number):
                return False
            if one.acknowledgement_batches:
                place = Place(topic_id, partitions.place_of(number)[1])
                shared.acknowledged.add(place, number, one.acknowledgement_batches)
    request.topics, forgotten = kept, []
    for gone in in_steps(request.forgotten_topics_data):
        if virtual.map_of_either(None, gone.topic_id) is None:
            forgotten.append(gone)
            continue
        for left in in_steps(gone.partitions):
            session.remove(gone.topic_id, VirtualPartition(left))
    request.forgotten_topics_data = forgotten
    return session.has_room()


def _ask(shared: _Shared, request: ShareFetchRequest) -> None:
    """Add to a request what the broker's session has to get and to forget, and the acknowledgements."""
    new, session, is_final = ShareFetchRequest, shared.session, request.share_session_epoch == FINAL_EPOCH
    added, removed = ([], []) if is_final else session.changes()
    shared.change_count = session.change_count
    topics: dict[bytes, Any] = {}
    forgotten: dict[bytes, list[int]] = {}
    for place in in_steps(dict.fromkeys([*added, *shared.acknowledged.places])):
        topic = topics.setdefault(place.topic_id, new.FetchTopic(topic_id=place.topic_id))
        topic.partitions.append(
            new.FetchPartition(
                partition_index=place.partition,
                acknowledgement_batches=shared.acknowledged.batches(place),
            )
        )
        if not is_final and not session.is_whole(place):
            # A broker adds what is acknowledged to its session, and then takes out what is to be forgotten.
            removed.append(place)
    for place in in_steps(dict.fromkeys(removed)):
        forgotten.setdefault(place.topic_id, []).append(place.partition)
    request.topics += topics.values()
    request.forgotten_topics_data += [
        new.ForgottenTopic(topic_id=topic_id, partitions=some) for topic_id, some in forgotten.items()
    ]


def _parts(
    exchange: Exchange, shared: _Shared, topic_id: bytes, partitions: PartitionMap, partition: Any
) -> list[Any]:
    """Return what the virtual partitions get of the answer for their physical one."""
    place = Place(topic_id, PhysicalPartition(partition.partition_index))
    acknowledged, error = shared.acknowledged.numbers(place), int(partition.error_code)
    given: dict[VirtualPartition, Acquired] = {}
    if not error:
        try:
            given = _divide(exchange, shared, place, partitions, partition)
        except UnfitBatch as unfit:
            is_old = unfit.fault == OLD_FORMAT
            error = int(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT if is_old else ErrorCode.CORRUPT_MESSAGE)
    numbers: list[VirtualPartition] = list(given)
    if error:
        numbers = [partitions.virtual_of(group, place.partition) for group in shared.session.named(place)]
    shown = []
    for number in in_steps(dict.fromkeys(sorted([*numbers, *acknowledged]))):
        own = given.get(number)
        part = copied(partition, partition_index=number, error_code=error, records=b"", acquired_records=[])
        if own is not None:
            part.records, part.acquired_records = own.records or b"", _ranges(own)
        if number not in acknowledged:
            part.acknowledge_error_code, part.acknowledge_error_message = int(ErrorCode.NONE), None
        shown.append(part)
    return shown


def _divide(
    exchange: Exchange, shared: _Shared, place: Place, partitions: PartitionMap, partition: Any
) -> dict[VirtualPartition, Acquired]:
    """Return what each virtual partition has acquired.

    Raises:
        UnfitBatch: it cannot be told whose it is.
    """
    if not partition.acquired_records:
        return {}
    records = in_one_piece(partition.records)
    ranges = [
        (one.first_offset, one.last_offset, one.delivery_count)
        for one in in_steps(partition.acquired_records)
    ]
    groups: list[PartitionGroup] = [
        partitions.place_of(VirtualPartition(number))[0] for number in partitions.all_of(place.partition)
    ]
    found = acquired_batches(records, ranges, groups, partitions.is_keyed)
    if not shared.is_counted:
        virtual, own_bytes = virtual_topics(exchange), sum(one.own_bytes for one in found.values())
        virtual.count("remapped", len(found))
        virtual.count("own_bytes", own_bytes)
        virtual.count("foreign_bytes", len(records) - own_bytes)
    return {partitions.virtual_of(group, place.partition): one for group, one in found.items()}


def _ranges(own: Acquired) -> list[Any]:
    new = ShareFetchResponse.AcquiredRecords
    return [
        new(first_offset=first, last_offset=last, delivery_count=count)
        for first, last, count in in_steps(own.ranges)
    ]


def _add_refused(response: ShareFetchResponse, shared: _Shared) -> None:
    new = ShareFetchResponse
    refused = [
        new.ShareFetchableTopicResponse(
            topic_id=topic_id,
            partitions=[
                new.PartitionData(partition_index=number, error_code=NO_PARTITION, records=b"")
                for number in in_steps(numbers)
            ],
        )
        for topic_id, numbers in in_steps(shared.refused.items())
    ]
    if refused:
        response.responses = joined_topics([*response.responses, *refused], "partitions")
