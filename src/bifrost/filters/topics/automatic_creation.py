"""Metadata that creates the topics it names: topics beyond the tenant's bounds are not created.

Which of the names do not exist was asked before (session/topics/absent_topics.py). Names that exceed the tenant's
bounds are removed from the request, and the answer has UNKNOWN_TOPIC_OR_PARTITION for them, like that of a broker whose
controller refuses to create a topic (AutoTopicCreationManager). What the policy of a namespace does not allow is
answered POLICY_VIOLATION, so that the client's log names the reason. The others go to the broker. The answer also shows
which topics exist, so that the engine passes their names the next time.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.plan import Plan
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep, TopicCount
from bifrost.filters.topics.growth import begin_growth, commit_growth
from bifrost.filters.topics.namespace_policy import refuse_topic
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.topic_bounds import BY_DEFAULT
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, MetadataResponse
from bifrost.wire.steps import in_steps

CAN_FORBID_CREATION = 4
"""Metadata version from which a request can say that nothing is to be created (KIP-204)."""

ABSENT_TOPICS: Note[list[str]] = Note("absent_topics")
"""The note with the virtual names that the request would create."""

_REFUSED: Note[dict[str, ErrorCode]] = Note("refused_topics")

_ILLEGAL = "~"
"""A name that no topic can have. Before version 1 a request without names is about all topics."""


def may_create(plan: Plan, request: Any) -> bool:
    """Whether a decoded request lets the broker create the topics that it names."""
    if plan.api_key != ApiKey.METADATA or not request.topics:
        return False
    if any(topic.topic_id != ZERO_TOPIC_ID for topic in in_steps(request.topics)):
        return False  # With topic IDs in it, the names in it are ignored.
    return plan.api_version < CAN_FORBID_CREATION or bool(request.allow_auto_topic_creation)


class AutomaticCreationFilter:
    """Removes names of topics that the tenant may not create."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: MetadataRequest) -> RequestStep:
        """Remove the topics that may not be created."""
        namespace = exchange.scope.namespace
        if namespace.bounds is None or not request.topics:
            return FORWARD
        exchange.wants_response = True
        absent = exchange.find(ABSENT_TOPICS)
        if not absent:
            return FORWARD
        growth = begin_growth(exchange)
        if isinstance(growth, TopicCount):
            return growth
        assert growth is not None
        refused: dict[str, ErrorCode] = {}
        for name in in_steps(absent):
            if refuse_topic(namespace, growth, name) is not None:
                refused[name] = ErrorCode.POLICY_VIOLATION
            elif growth.add(namespace.physical_name(name), BY_DEFAULT) is not None:
                refused[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        commit_growth(exchange, growth)
        if not refused:
            return FORWARD
        exchange.keep(_REFUSED, refused)
        request.topics = [topic for topic in in_steps(request.topics) if topic.name not in refused]
        if not request.topics:
            request.topics = [MetadataRequest.MetadataRequestTopic(name=_ILLEGAL)]
        return FORWARD

    def on_response(self, exchange: Exchange, response: MetadataResponse) -> ResponseStep:
        """Add answers for the removed topics, and remember which topics exist."""
        namespace = exchange.scope.namespace
        if namespace.bounds is None:
            return FORWARD
        refused = exchange.find(_REFUSED)
        if refused is not None:
            response.topics = [topic for topic in in_steps(response.topics) if topic.name != _ILLEGAL]
            response.topics += [_answer(name, code) for name, code in in_steps(refused.items())]
        for topic in in_steps(response.topics):
            if topic.error_code == ErrorCode.NONE and topic.name:
                namespace.existing.add(VirtualTopic(topic.name.encode()))
        return FORWARD


def _answer(name: str, error_code: ErrorCode) -> Any:
    return MetadataResponse.MetadataResponseTopic(error_code=error_code, name=name, partitions=[])
