"""What a tenant has no room for any more in the brokers' memory: it is refused, and the rest goes on.

The engine lets pass what brokers keep already, and what there is room for (tenancy/broker_state); a request with
anything else comes here. What it names is entered in its order, and the items that have room are sent on.

    JoinGroup, heartbeats       the request is answered POLICY_VIOLATION; where there is room for the group, but not for
                                the member, GROUP_MAX_SIZE_REACHED
    SyncGroup                   the same, if the leader assigns too much
    OffsetCommit                each partition that has no room
    InitProducerId              the request
    Produce                     each partition; with acks=0 the connection is closed, as by a broker that refuses one
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.left_out.items import LeftOut, joined_topics
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep, ResponseStep
from bifrost.tenancy.broker_state.group_members import HALF_HOUR_MS
from bifrost.wire.entity import Entity
from bifrost.wire.message import Struct
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.tenancy.broker_state.kept_entries import KeptEntries
    from bifrost.wire import messages
    from bifrost.wire.message import Message

    # Classes of messages are made when they are first named, and take memory.
    _Join = (
        messages.JoinGroupRequest
        | messages.ConsumerGroupHeartbeatRequest
        | messages.ShareGroupHeartbeatRequest
        | messages.StreamsGroupHeartbeatRequest
    )
    _Commit = messages.OffsetCommitRequest | messages.TxnOffsetCommitRequest
    _Committed = messages.OffsetCommitResponse | messages.TxnOffsetCommitResponse

_LEFT_OUT = LeftOut()

_TOLD = ("protocols", "subscribed_topic_names", "subscribed_topic_regex", "topology")
"""What a broker keeps of that which a member tells."""
_NAMED_FIRST = 4
"""From this version of JoinGroup on (KIP-394) the broker gives a member a name before it takes what that tells."""
_CONSUMER = "consumer"
"""Members with this protocol type tell names of topics, which a coordinator reads, behind a version."""
_COUNT_AT = slice(2, 6)
_NUMBER_BYTES, _NAME_BYTES = 8, 400
"""What a broker keeps of a number, and of a name beside its letters: it stands in sets and maps of member and group.
Measured: 300 to 500 bytes of each name that a member of a newer group subscribes to."""

_Named = Callable[[bytes, Any], bool]
"""Enters a partition of a topic."""


class JoinedGroupsFilter(RequestFilter):
    """Joins of groups."""

    def on_request(self, exchange: Exchange, request: _Join) -> RequestStep:
        """Refuse a group, or a member, for which there is no room."""
        kept = exchange.scope.namespace.kept
        if kept is None or not request.group_id:
            return FORWARD
        if not kept.enter_group(request.group_id.encode()):
            return _refuse(exchange, kept, request, "max_groups")
        enter: Callable[..., bool] = _enter_newer if hasattr(request, "member_epoch") else _enter_classic
        if not enter(kept, request, exchange.api_version):
            return _refuse(exchange, kept, request, "max_group_members")
        return FORWARD


class AssignedMembersFilter(RequestFilter):
    """SyncGroup of a leader, which assigns something to each member."""

    def on_request(self, exchange: Exchange, request: messages.SyncGroupRequest) -> RequestStep:
        """Refuse assignments for which there is no room."""
        kept = exchange.scope.namespace.kept
        if kept is None or not request.group_id:
            return FORWARD
        size = _told_bytes(request.assignments)
        if kept.enter_assignments(request.group_id.encode(), _name_of(request), size):
            return FORWARD
        return _refuse(exchange, kept, request, "max_group_members")


class LivingMembersFilter(RequestFilter):
    """Heartbeats of classic groups that the engine has not sent on."""

    def on_request(self, exchange: Exchange, request: messages.HeartbeatRequest) -> RequestStep:
        """Remember that the member lives."""
        kept = exchange.scope.namespace.kept
        if kept is not None:
            kept.keep_member(request.group_id.encode(), _name_of(request))
        return FORWARD


class TransactionalIdsFilter(RequestFilter):
    """InitProducerId with a transactional ID."""

    def on_request(self, exchange: Exchange, request: messages.InitProducerIdRequest) -> RequestStep:
        """Refuse a transactional ID for which there is no room."""
        kept, name = exchange.scope.namespace.kept, request.transactional_id
        if kept is None or name is None or kept.enter_transactional_id(name.encode()):
            return FORWARD
        return _refuse(exchange, kept, request, "max_transactional_ids")


class CommittedOffsetsFilter:
    """Commits: the group, and its offset of each partition."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: _Commit) -> RequestStep:
        """Refuse a group, or partitions, for which there is no room."""
        kept = exchange.scope.namespace.kept
        if kept is None:
            return FORWARD
        group = request.group_id.encode()
        if not kept.enter_group(group):
            return _refuse(exchange, kept, request, "max_groups")
        if member := _name_of(request):
            kept.keep_member(group, member)

        def enter(topic: bytes, partition: Any) -> bool:
            metadata = len((partition.committed_metadata or "").encode())
            return kept.enter_offset(group, topic, partition.partition_index, metadata)

        return _leave_out(exchange, kept, request, "topics", "partitions", enter, "max_committed_offsets")

    def on_response(self, exchange: Exchange, response: _Committed) -> ResponseStep:
        """Add the answers for the others."""
        if _LEFT_OUT.put_back(exchange, response):
            response.topics = joined_topics(response.topics, "partitions")
        return FORWARD


class ProducersFilter:
    """Produce: the producer of each batch, in its partition."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: messages.ProduceRequest) -> RequestStep:
        """Refuse partitions for which there is no room."""
        kept = exchange.scope.namespace.kept
        if kept is None:
            return FORWARD

        def enter(topic: bytes, partition: Any) -> bool:
            return not partition.records or kept.enter_records(topic, partition.index, partition.records)

        return _leave_out(exchange, kept, request, "topic_data", "partition_data", enter, "max_producers")

    def on_response(self, exchange: Exchange, response: messages.ProduceResponse) -> ResponseStep:
        """Add the answers for the others."""
        if _LEFT_OUT.put_back(exchange, response):
            response.responses = joined_topics(response.responses, "partition_responses")
        return FORWARD


def _enter_classic(kept: KeptEntries, request: messages.JoinGroupRequest, version: int) -> bool:
    """Enter a member that joins by JoinGroup."""
    member = _name_of(request)
    told = _told(request) + _named_topics(request) * _NAME_BYTES if member or version < _NAMED_FIRST else 0
    lasts = request.rebalance_timeout_ms > HALF_HOUR_MS
    return kept.enter_member(request.group_id.encode(), member, told, lasts)


def _enter_newer(kept: KeptEntries, request: Any, _version: int) -> bool:
    """Enter a member of a newer group that joins, or that tells much."""
    group, member = request.group_id.encode(), request.member_id.encode()
    return kept.enter_beat(group, member, request.member_epoch, _told(request))


def _name_of(request: Any) -> bytes:
    """Return what a broker finds a member of a classic group by: its static name, else its ID."""
    name: str = request.group_instance_id or request.member_id
    return name.encode()


def _named_topics(request: messages.JoinGroupRequest) -> int:
    """Return how many topics a consumer's subscription names: a coordinator reads that for the assignor it chooses.

    What is no subscription is refused later.
    """
    if request.protocol_type != _CONSUMER:
        return 0
    told = [one.metadata for one in in_steps(request.protocols)]
    return max((min(int.from_bytes(one[_COUNT_AT], "big"), len(one)) for one in told), default=0)


def _told(request: Any) -> int:
    return sum(_told_bytes(getattr(request, name)) for name in _TOLD if hasattr(request, name))


def _told_bytes(value: Any) -> int:
    """Return about how many bytes a broker keeps of a part of a message."""
    if isinstance(value, str):
        return len(value) + _NAME_BYTES
    if isinstance(value, bytes | memoryview):
        return len(value)
    if isinstance(value, list):
        return sum(map(_told_bytes, in_steps(value)))
    if isinstance(value, Struct):
        return sum(_told_bytes(getattr(value, field.name)) for field in value.FIELDS)
    return 0 if value is None else _NUMBER_BYTES


def _refuse(exchange: Exchange, kept: KeptEntries, request: Message, limit: str) -> RequestStep:
    """Answer a whole request."""
    refusal = kept.state.refuse(limit)
    answer = error_response(
        request, exchange.api_version, refusal.error_code, message=refusal.message, each=in_steps
    )
    return FORWARD if answer is None else Answer(answer)  # None: it commits no offset.


def _leave_out(
    exchange: Exchange,
    kept: KeptEntries,
    request: Any,
    topics: str,
    partitions: str,
    enter: _Named,
    limit: str,
) -> RequestStep:
    """Let the broker see the partitions only for which there is room."""
    left: list[Any] = []
    refused: list[Any] = []
    count = 0
    for topic in in_steps(getattr(request, topics)):
        name = topic.name.encode() or getattr(topic, "topic_id", b"")
        with_room: list[Any] = []
        without: list[Any] = []
        for partition in in_steps(getattr(topic, partitions)):
            (with_room if enter(name, partition) else without).append(partition)
        if not without:
            left.append(topic)
            continue
        count += len(without)
        refused.append(copy.copy(topic))
        setattr(refused[-1], partitions, without)
        if with_room:
            setattr(topic, partitions, with_room)
            left.append(topic)
    if not refused:
        return FORWARD
    refusal = kept.state.refuse(limit, count)
    if getattr(request, "acks", None) == 0:
        return Close(f"a Produce without an answer is refused: {refusal.message}")
    answer = _LEFT_OUT.take_out(exchange, request, topics, left, refused, refusal.error_code, refusal.message)
    assert answer is not None, "something is refused"
    return FORWARD if left else _LEFT_OUT.without_broker(exchange, answer)
