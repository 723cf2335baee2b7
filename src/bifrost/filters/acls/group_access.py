"""Groups: their offsets, coordinators, lists, descriptions, and the heartbeats that name topics.

Source: KafkaApis.handleOffsetFetchRequest, getCoordinator, handleListGroupsRequest, handleConsumerGroupHeartbeat,
handleConsumerGroupDescribe, handleShareGroupDescribe and handleStreamsGroupDescribe.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import (
    deny,
    go_on,
    guard_of,
    needed,
    put_back,
    refuse,
    split,
    split_topics,
    take_out,
)
from bifrost.filters.acls.streams_access import topology_topics
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.tenancy.acls.access import DENIED_CODES
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import OffsetFetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import (
        FindCoordinatorRequest,
        FindCoordinatorResponse,
        ListGroupsRequest,
        ListGroupsResponse,
        OffsetFetchRequest,
    )

_GROUP, _TOPIC = ResourceType.GROUP, ResourceType.TOPIC
_NO_TOPIC, _NO_GROUP = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED

_BATCHED_OFFSETS = 8
"""OffsetFetch version from which a request is about several groups."""
_BATCHED_COORDINATORS = 4
"""FindCoordinator version from which a request has several keys."""

_DENIED_TOPICS: Note[dict[str, list[Any]]] = Note("denied_topics")
"""Answers for the denied topics of each group."""


class OffsetFetchAccessFilter:
    """DESCRIBE on each group, and on each topic; denied topics are left out of a list of all."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: OffsetFetchRequest) -> RequestStep:
        """Take out the denied groups and topics."""
        guard, denied_topics = guard_of(exchange), dict[str, list[Any]]()
        exchange.wants_response = True
        exchange.keep(_DENIED_TOPICS, denied_topics)
        if exchange.api_version < _BATCHED_OFFSETS:
            if not guard.may(Operation.DESCRIBE, _GROUP, request.group_id):
                return deny(exchange, request, _GROUP)
            _take_out_topics(guard, request, denied_topics, OffsetFetchResponse)
            return FORWARD
        permitted, denied = split(
            request.groups, lambda group: guard.may(Operation.DESCRIBE, _GROUP, group.group_id)
        )
        guard.deny(Operation.DESCRIBE, len(denied))
        for group in in_steps(permitted):
            _take_out_topics(guard, group, denied_topics, OffsetFetchResponse, is_batched=True)
        return go_on(exchange, permitted, take_out(exchange, request, "groups", permitted, denied, _NO_GROUP))

    def on_response(self, exchange: Exchange, response: OffsetFetchResponse) -> ResponseStep:
        """Leave out topics that the client may not describe, and add the answers for those that it named."""
        guard, denied_topics = guard_of(exchange), exchange.kept(_DENIED_TOPICS)
        if exchange.api_version < _BATCHED_OFFSETS:
            response.topics, _ = split_topics(guard, response.topics, Operation.DESCRIBE)
            if response.error_code == ErrorCode.NONE:
                for added in in_steps(denied_topics.values()):
                    response.topics += added
            return FORWARD
        for group in in_steps(response.groups):
            group.topics, _ = split_topics(guard, group.topics, Operation.DESCRIBE)
            if group.error_code == ErrorCode.NONE:
                group.topics += denied_topics.pop(group.group_id, [])
        put_back(exchange, response)
        return FORWARD


def _take_out_topics(
    guard: Guard, group: Any, denied_topics: dict[str, list[Any]], made: Any, *, is_batched: bool = False
) -> None:
    """Take the denied topics out of one group's, and note the answers for them."""
    if group.topics is None:
        return
    group.topics, denied = split_topics(guard, group.topics, Operation.DESCRIBE)
    if not denied:
        return
    guard.deny(Operation.DESCRIBE, len(denied))
    topic_type = made.OffsetFetchResponseTopics if is_batched else made.OffsetFetchResponseTopic
    partition_type = made.OffsetFetchResponsePartitions if is_batched else made.OffsetFetchResponsePartition
    answers = denied_topics.setdefault(group.group_id, [])
    for topic in in_steps(denied):
        answer = topic_type(
            name=topic.name,
            partitions=[
                partition_type(partition_index=index, committed_offset=-1, metadata="", error_code=_NO_TOPIC)
                for index in in_steps(topic.partition_indexes)
            ],
        )
        if is_batched:
            answer.topic_id = topic.topic_id
        answers.append(answer)


class FindCoordinatorAccessFilter:
    """DESCRIBE on the group or the transactional ID whose coordinator is asked for."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: FindCoordinatorRequest) -> RequestStep:
        """Take out the denied keys."""
        kinds = {0: _GROUP, 1: ResourceType.TRANSACTIONAL_ID}
        resource_type = kinds.get(request.key_type)
        if resource_type is None:
            return FORWARD  # The next filter refuses it.
        guard, operation = guard_of(exchange), needed(exchange, resource_type)
        if exchange.api_version < _BATCHED_COORDINATORS:
            if guard.may(operation, resource_type, request.key):
                return FORWARD
            return deny(exchange, request, resource_type)
        permitted, denied = split(
            request.coordinator_keys, lambda key: guard.may(operation, resource_type, key)
        )
        guard.deny(operation, len(denied))
        code = DENIED_CODES[resource_type]
        answer = take_out(exchange, request, "coordinator_keys", permitted, denied, code)
        return go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: FindCoordinatorResponse) -> ResponseStep:
        """Add the answers for the denied keys."""
        put_back(exchange, response)
        return FORWARD


class ListGroupsAccessFilter:
    """DESCRIBE on the cluster shows all groups, otherwise those that the client may describe."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ListGroupsRequest) -> RequestStep:
        """Let the broker list all."""
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: ListGroupsResponse) -> ResponseStep:
        """Leave out the others."""
        guard = guard_of(exchange)
        response.groups, _ = split(
            response.groups,
            lambda group: (
                guard.may_by_cluster(Operation.DESCRIBE, group.group_id)
                or guard.may(Operation.DESCRIBE, _GROUP, group.group_id)
            ),
        )
        return FORWARD


class GroupHeartbeatAccessFilter:
    """READ on the group, and DESCRIBE on each topic of a subscription (KIP-848, KIP-932).

    A broker matches a pattern with the topics that the member may describe. The gateway cannot do that, so a pattern
    needs DESCRIBE on all topics.
    """

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Any) -> RequestStep:
        """Refuse the heartbeat, or let it pass."""
        guard = guard_of(exchange)
        if not guard.may(Operation.READ, _GROUP, request.group_id):
            return deny(exchange, request, _GROUP)
        for name in in_steps(request.subscribed_topic_names or ()):
            if not guard.may(Operation.DESCRIBE, _TOPIC, name):
                return deny(exchange, request, _TOPIC)
        if getattr(request, "subscribed_topic_regex", None) and not guard.may_all(Operation.DESCRIBE, _TOPIC):
            guard.deny(Operation.DESCRIBE)
            text = "A pattern needs the right to describe all topics of the tenant"
            return refuse(exchange, request, _NO_TOPIC, text)
        return FORWARD

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Leave the answer unchanged."""
        return FORWARD


class DescribeGroupsAccessFilter:
    """DESCRIBE on each group, and on each topic of its members, or nothing is told of them."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(self, attribute: str) -> None:
        """Decide about the groups that this list of the request names."""
        self._attribute = attribute

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Take out the denied groups."""
        guard = guard_of(exchange)
        permitted, denied = split(
            getattr(request, self._attribute), lambda name: guard.may(Operation.DESCRIBE, _GROUP, name)
        )
        guard.deny(Operation.DESCRIBE, len(denied))
        exchange.wants_response = True
        return go_on(
            exchange, permitted, take_out(exchange, request, self._attribute, permitted, denied, _NO_GROUP)
        )

    def on_response(self, exchange: Exchange, response: Any) -> ResponseStep:
        """Hide members with topics that the client may not describe, and add the answers for the denied groups."""
        guard = guard_of(exchange)
        for place, group in enumerate(in_steps(response.groups)):
            if any(not guard.may(Operation.DESCRIBE, _TOPIC, name) for name in _topics_of(group)):
                told = {} if not hasattr(group, "error_message") else {"error_message": _hidden(exchange)}
                response.groups[place] = type(group)(
                    group_id=group.group_id, error_code=_NO_TOPIC, members=[], **told
                )
        put_back(exchange, response)
        return FORWARD


def _hidden(exchange: Exchange) -> str:
    if exchange.api_key == ApiKey.STREAMS_GROUP_DESCRIBE:
        return "The described group uses topics that the client is not authorized to describe."
    return "The group has described topic(s) that the client is not authorized to describe."


def _topics_of(group: Any) -> Iterator[str]:
    """Yield the topics in the assignments of members, and of a topology; a classic group's are bytes of the clients'
    own."""
    yield from topology_topics(getattr(getattr(group, "topology", None), "subtopologies", ()))
    for member in in_steps(group.members):
        for attribute in ("assignment", "target_assignment"):
            assignment = getattr(member, attribute, None)
            for one in in_steps(getattr(assignment, "topic_partitions", ())):
                yield one.topic_name
