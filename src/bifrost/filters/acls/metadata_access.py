"""Metadata: DESCRIBE on each topic, and CREATE for a topic that the request would create.

Topics that the client may not describe are left out of a list of all. One that it names is denied, whether it exists or
not. Of a topic that does not exist, and that the broker would create, CREATE on the cluster or on the topic decides.

Source: KafkaApis.handleTopicMetadataRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import guard_of, split, topic_name
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.topics.automatic_creation import ABSENT_TOPICS
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.tenancy.acls.guard import Guard
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, MetadataResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOPIC = ResourceType.TOPIC

_DENIED: Note[list[Any]] = Note("denied_topics")
"""Answers for the topics that are denied."""

_NAMED: Note[bool] = Note("named_topics")
"""Kept where the request names its topics; otherwise a denied one in the answer is left out."""

_ILLEGAL = "~"
"""A name that no topic can have. Before version 1 a request without names is about all topics."""


class MetadataAccessFilter:
    """Takes out what may not be described, or created."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: MetadataRequest) -> RequestStep:
        """Ask the broker about the permitted topics only."""
        exchange.wants_response = True
        if request.topics is None or (exchange.api_version == 0 and not request.topics):
            return FORWARD
        exchange.keep(_NAMED, True)
        guard = guard_of(exchange)
        is_by_id = any(topic.topic_id != ZERO_TOPIC_ID for topic in in_steps(request.topics))
        permitted, denied = split(request.topics, lambda topic: _may_describe(guard, topic))
        guard.deny(Operation.DESCRIBE, len(denied))
        answers = [_answer(None if is_by_id else one.name, one.topic_id) for one in in_steps(denied)]
        absent = exchange.find(ABSENT_TOPICS)  # Empty unless the request may create topics.
        if absent:
            kept, uncreated = _split_uncreated(guard, permitted, absent)
            permitted = kept
            answers += [_answer(one.name, ZERO_TOPIC_ID) for one in in_steps(uncreated)]
        if answers:
            exchange.keep(_DENIED, answers)
            request.topics = permitted
            if not permitted and exchange.api_version == 0:
                request.topics = [MetadataRequest.MetadataRequestTopic(name=_ILLEGAL)]
        return FORWARD

    def on_response(self, exchange: Exchange, response: MetadataResponse) -> ResponseStep:
        """Leave out what was not named and is denied, and answer for what was."""
        guard, is_named = guard_of(exchange), exchange.find(_NAMED)
        topics: list[Any] = []
        for topic in in_steps(response.topics):
            name = topic_name(guard, topic) if topic.name is None else topic.name
            if name == _ILLEGAL:
                continue
            if not name or guard.may(Operation.DESCRIBE, _TOPIC, name):
                topics.append(topic)
            elif is_named:
                is_by_id = topic.topic_id != ZERO_TOPIC_ID and topic.name is None
                topics.append(_answer(topic.name, topic.topic_id if is_by_id else ZERO_TOPIC_ID))
        response.topics = topics + (exchange.find(_DENIED) or [])
        return FORWARD


def _may_describe(guard: Guard, topic: Any) -> bool:
    name = topic_name(guard, topic)
    return name is None or guard.may(Operation.DESCRIBE, _TOPIC, name)


def _split_uncreated(guard: Guard, topics: list[Any], absent: Iterable[str]) -> tuple[list[Any], list[Any]]:
    """Return the topics without those that the client may not create, and these."""
    names = {
        name
        for name in in_steps(absent)
        if not guard.may_by_cluster(Operation.CREATE, name) and not guard.may(Operation.CREATE, _TOPIC, name)
    }
    guard.deny(Operation.CREATE, len(names))
    return split(topics, lambda topic: topic.name not in names)


def _answer(name: str | None, topic_id: bytes) -> Any:
    """Return the answer for a denied topic; one that was asked for by its ID stays without a name."""
    return MetadataResponse.MetadataResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, topic_id=topic_id, partitions=[]
    )
