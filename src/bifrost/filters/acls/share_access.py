"""Share groups (KIP-932): ShareFetch and the offsets of groups.

A broker keeps the topics of a share session and answers for a denied one in every answer. Here a session has permitted
topics only, and a denied one is answered in the answers to the requests that name it. When ACLs change, the session of
a connection ends (SHARE_SESSION_NOT_FOUND), so its client names all its topics again.

A broker that still had a topic in a session gives records of it to the member, and gives them to no other member for
the time of their lock. So an answer with records of a revoked topic ends the connection: the broker then ends the
session and takes the records back (KIP-932, section "Share sessions").

Source: KafkaApis.handleShareFetchRequest and handleDescribeShareGroupOffsetsRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import (
    deny,
    go_on,
    guard_of,
    keep_answer,
    put_back,
    split,
    split_topics,
    take_out,
    topic_name,
)
from bifrost.filters.fetch import LOST_SHARE_SESSION
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeShareGroupOffsetsResponse, ShareFetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DescribeShareGroupOffsetsRequest, ShareFetchRequest

_GROUP, _TOPIC = ResourceType.GROUP, ResourceType.TOPIC
_NO_TOPIC, _NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED

_DENIED_TOPICS: Note[dict[str, list[Any]]] = Note("denied_topics_of_share_groups")
"""Answers for the denied topics of each group."""


class ShareFetchAccessFilter:
    """READ on the group, and on each topic, to fetch and to acknowledge its records."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ShareFetchRequest) -> RequestStep:
        """Let the broker read the permitted topics only."""
        guard = guard_of(exchange)
        if not guard.may(Operation.READ, _GROUP, request.group_id or ""):
            return deny(exchange, request, _GROUP)
        if exchange.find(LOST_SHARE_SESSION) and request.share_session_epoch > 0:
            return Answer(ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_NOT_FOUND))
        permitted, denied = split_topics(guard, request.topics, Operation.READ)
        guard.deny(Operation.READ, len(denied))
        if denied:
            # The request goes on also without topics: it begins a session, goes on with it, or ends it.
            request.topics = permitted
            keep_answer(exchange, ShareFetchResponse(responses=[_refused(one) for one in in_steps(denied)]))
        return FORWARD

    def on_response(self, exchange: Exchange, response: ShareFetchResponse) -> ResponseStep:
        """Take out what was revoked meanwhile, and add the answers for the denied topics."""
        guard, permitted = guard_of(exchange), list[Any]()
        for topic in in_steps(response.responses):
            name = topic_name(guard, topic)
            if not name or guard.may(Operation.READ, _TOPIC, name):
                permitted.append(topic)
            elif any(one.acquired_records for one in in_steps(topic.partitions)):
                guard.deny(Operation.READ)
                return Close(
                    f"a share session has records of topic {name}, which its client may not read any more"
                )
        response.responses = permitted
        if response.error_code == ErrorCode.NONE:
            put_back(exchange, response)
        return FORWARD


def _refused(topic: Any) -> Any:
    made = ShareFetchResponse
    return made.ShareFetchableTopicResponse(
        topic_id=topic.topic_id,
        partitions=[
            made.PartitionData(
                partition_index=one.partition_index,
                error_code=_NO_TOPIC,
                acknowledge_error_code=_NO_TOPIC if one.acknowledgement_batches else ErrorCode.NONE,
                records=b"",
            )
            for one in in_steps(topic.partitions)
        ],
    )


class ShareOffsetsAccessFilter:
    """DescribeShareGroupOffsets: DESCRIBE on each group, and on each topic; others are left out of a list of all."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeShareGroupOffsetsRequest) -> RequestStep:
        """Take out the denied groups and topics."""
        guard, denied_topics = guard_of(exchange), dict[str, list[Any]]()
        exchange.wants_response = True
        exchange.keep(_DENIED_TOPICS, denied_topics)
        permitted, denied = split(
            request.groups, lambda group: guard.may(Operation.DESCRIBE, _GROUP, group.group_id)
        )
        guard.deny(Operation.DESCRIBE, len(denied))
        for group in in_steps(permitted):
            if group.topics is None:
                continue
            group.topics, unseen = split(group.topics, lambda topic: _may_describe(guard, topic))
            if unseen:
                guard.deny(Operation.DESCRIBE, len(unseen))
                denied_topics.setdefault(group.group_id, []).extend(map(_undescribed, in_steps(unseen)))
        return go_on(exchange, permitted, take_out(exchange, request, "groups", permitted, denied, _NO_GROUP))

    def on_response(self, exchange: Exchange, response: DescribeShareGroupOffsetsResponse) -> ResponseStep:
        """Leave out topics that the client may not describe, and add the answers for those that it named."""
        guard, denied_topics = guard_of(exchange), exchange.kept(_DENIED_TOPICS)
        for group in in_steps(response.groups):
            group.topics, _ = split(group.topics, lambda topic: _may_describe(guard, topic))
            if group.error_code == ErrorCode.NONE:
                group.topics += denied_topics.pop(group.group_id, [])
        put_back(exchange, response)
        return FORWARD


def _may_describe(guard: Guard, topic: Any) -> bool:
    return guard.may(Operation.DESCRIBE, _TOPIC, topic.topic_name)


def _undescribed(topic: Any) -> Any:
    made = DescribeShareGroupOffsetsResponse
    return made.DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        partitions=[
            made.DescribeShareGroupOffsetsResponsePartition(
                partition_index=index,
                start_offset=-1,
                lag=-1,
                error_code=_NO_TOPIC,
                error_message=_NO_TOPIC.message,
            )
            for index in in_steps(topic.partitions)
        ],
    )
