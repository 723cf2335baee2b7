"""Requests that create, delete or describe topics.

Source: ControllerApis.createTopics and deleteTopics, DescribeTopicPartitionsRequestHandler.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import (
    go_on,
    guard_of,
    keep_answer,
    put_back,
    split,
    split_topics,
    take_out,
    topic_name,
)
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsResponse,
    DeleteTopicsResponse,
    DescribeTopicPartitionsResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import (
        CreateTopicsRequest,
        DeleteTopicsRequest,
        DescribeTopicPartitionsRequest,
    )

_TOPIC = ResourceType.TOPIC
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class CreateTopicsAccessFilter:
    """CREATE on the cluster, or on each topic; DESCRIBE_CONFIGS to be told its configs."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: CreateTopicsRequest) -> RequestStep:
        """Take out the topics that the client may not create."""
        guard = guard_of(exchange)
        exchange.wants_response = True
        permitted, denied = split(
            request.topics,
            lambda topic: (
                guard.may_by_cluster(Operation.CREATE, topic.name)
                or guard.may(Operation.CREATE, _TOPIC, topic.name)
            ),
        )
        if not denied:
            return FORWARD
        guard.deny(Operation.CREATE, len(denied))
        times = Counter(topic.name for topic in in_steps(denied))
        results = [
            CreateTopicsResponse.CreatableTopicResult(
                name=name,
                error_code=_DENIED if count == 1 else ErrorCode.INVALID_REQUEST,
                error_message=_DENIED.message if count == 1 else "Duplicate topic name.",
                num_partitions=-1,
                replication_factor=-1,
            )
            for name, count in in_steps(times.items())
        ]
        answer = CreateTopicsResponse(topics=results)
        request.topics = permitted
        keep_answer(exchange, answer)
        return go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: CreateTopicsResponse) -> ResponseStep:
        """Hide configs of topics whose configs the client may not describe, and add the answers for denied topics."""
        guard = guard_of(exchange)
        for topic in in_steps(response.topics):
            if topic.error_code == ErrorCode.NONE and not guard.may(
                Operation.DESCRIBE_CONFIGS, _TOPIC, topic.name
            ):
                topic.topic_config_error_code = _DENIED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []
        put_back(exchange, response)
        return FORWARD


class DeleteTopicsAccessFilter:
    """DELETE on the cluster, or on each topic; without DESCRIBE the answer does not tell the name of an ID."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DeleteTopicsRequest) -> RequestStep:
        """Take out the topics that the client may not delete."""
        guard = guard_of(exchange)

        def may_delete(name: str | None) -> bool:
            # An ID that is no topic's of the tenant: the broker says so.
            by_cluster = name is not None and guard.may_by_cluster(Operation.DELETE, name)
            return name is None or by_cluster or guard.may(Operation.DELETE, _TOPIC, name)

        names, denied_names = split(request.topic_names, may_delete)
        topics, denied = split(request.topics, lambda topic: may_delete(topic_name(guard, topic)))
        if not denied_names and not denied:
            return FORWARD
        guard.deny(Operation.DELETE, len(denied_names) + len(denied))
        results = [_undeleted(name, ZERO_TOPIC_ID) for name in in_steps(denied_names)]
        results += [_undeleted(_shown_name(guard, topic), topic.topic_id) for topic in in_steps(denied)]
        request.topic_names, request.topics = names, topics
        answer = DeleteTopicsResponse(responses=results)
        keep_answer(exchange, answer)
        return FORWARD if names or topics else Answer(answer)

    def on_response(self, exchange: Exchange, response: DeleteTopicsResponse) -> ResponseStep:
        """Add the answers for the denied topics."""
        put_back(exchange, response)
        return FORWARD


def _shown_name(guard: Guard, topic: Any) -> str | None:
    if topic.topic_id == ZERO_TOPIC_ID:
        return str(topic.name)
    name = guard.namespace.topic_of(topic.topic_id)
    return name if name is not None and guard.may(Operation.DESCRIBE, _TOPIC, name) else None


def _undeleted(name: str | None, topic_id: bytes) -> Any:
    return DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=_DENIED, error_message=_DENIED.message
    )


class TopicPartitionsAccessFilter:
    """DESCRIBE on each topic.

    A list of all topics comes in pages with a cursor, which would name a topic that the client may not describe: only a
    client that may describe all topics gets it.
    """

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeTopicPartitionsRequest) -> RequestStep:
        """Take out the denied topics."""
        guard = guard_of(exchange)
        if not request.topics:
            if guard.may_all(Operation.DESCRIBE, _TOPIC):
                return FORWARD
            guard.deny(Operation.DESCRIBE)
            return Close("DescribeTopicPartitions of all topics by a client that may not describe all")
        permitted, denied = split_topics(guard, request.topics, Operation.DESCRIBE)
        guard.deny(Operation.DESCRIBE, len(denied))
        answer = take_out(exchange, request, "topics", permitted, denied, _DENIED)
        return go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: DescribeTopicPartitionsResponse) -> ResponseStep:
        """Add the answers for the denied topics, in the order of names as a broker has them."""
        put_back(exchange, response)
        response.topics = sorted(response.topics, key=lambda topic: topic.name or "")
        return FORWARD
