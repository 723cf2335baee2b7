"""What a tenant has no room for any more in the brokers' memory: it is refused, and the rest goes on.

The engine lets pass what brokers keep already, and what there is room for (tenancy/broker_state); a request with
anything else comes here. What it names is entered in its order, and the items that have room are sent on.

    JoinGroup, heartbeats       the request is answered POLICY_VIOLATION
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
from bifrost.wire.entity import Entity
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

_Named = Callable[[bytes, Any], bool]
"""Enters a partition of a topic."""


class JoinedGroupsFilter(RequestFilter):
    """Joins of groups."""

    def on_request(self, exchange: Exchange, request: _Join) -> RequestStep:
        """Refuse a group for which there is no room."""
        kept = exchange.scope.namespace.kept
        if kept is None or not request.group_id or kept.enter_group(request.group_id.encode()):
            return FORWARD
        return _refuse(exchange, kept, request, "max_groups")


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
