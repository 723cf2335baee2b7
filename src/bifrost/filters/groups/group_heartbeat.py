"""Heartbeats of the new group protocols (KIP-848, KIP-932, KIP-1071), and the empty group ID, which all refuse.

An empty group ID, once prefixed, would be a group like any other; the broker refuses it where members join. And a
pattern that cannot be confined to the namespace (tenancy/topic_regex.py) is answered as one that does not compile.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep, TopicCount
from bifrost.filters.topics.growth import at_brokers, begin_growth, commit_growth
from bifrost.filters.topics.namespace_policy import refuse_topic, with_forced
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import Refusal
from bifrost.tenancy.topic_bounds import BY_DEFAULT, Growth
from bifrost.wire import messages
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.steps import in_steps

MAX_QUOTED = 100
"""Characters of a refused pattern that its error quotes."""


_GroupRequest = (
    messages.SyncGroupRequest
    | messages.HeartbeatRequest
    | messages.OffsetDeleteRequest
    | messages.LeaveGroupRequest
    | messages.ConsumerGroupHeartbeatRequest
    | messages.ShareGroupHeartbeatRequest
    | messages.StreamsGroupHeartbeatRequest
)


class EmptyGroupFilter(RequestFilter):
    """Refuses the empty group ID with the coordinator's own error."""

    def __init__(self, response: type[Message], **fields: Any) -> None:
        """Refuse with `response` and these fields."""
        self._refuse: Callable[[], Message] = lambda: response(**fields)

    def on_request(self, exchange: Exchange, request: _GroupRequest) -> RequestStep:
        """Answer when there is no group ID."""
        return FORWARD if request.group_id else Answer(self._refuse())


class ConsumerRegexFilter(RequestFilter):
    """ConsumerGroupHeartbeat v1: answers INVALID_REGULAR_EXPRESSION to a pattern that cannot be served."""

    def on_request(self, exchange: Exchange, request: messages.ConsumerGroupHeartbeatRequest) -> RequestStep:
        """Answer when the pattern is refused."""
        refusal = _refusal(exchange, [request.subscribed_topic_regex])
        if refusal is None:
            return FORWARD
        error = ErrorCode.INVALID_REGULAR_EXPRESSION
        return Answer(messages.ConsumerGroupHeartbeatResponse(error_code=error, error_message=refusal))


class StreamsTopologyFilter(RequestFilter):
    """StreamsGroupHeartbeat: the topics and patterns of a topology, which the broker checks and of which it creates
    some.

    A source topic that is hidden from the tenant is missing, as one that does not exist; an internal topic that the
    tenant may not have is not created, and the group gets the answer of a broker that may not create it. A topic that
    the policy or the tenant's bounds do not allow makes the topology invalid: that tells a client the reason, and that
    waiting does not help.
    """

    def on_request(self, exchange: Exchange, request: messages.StreamsGroupHeartbeatRequest) -> RequestStep:
        """Answer when a pattern or an internal topic is refused."""
        response = messages.StreamsGroupHeartbeatResponse
        if request.topology is None:
            return FORWARD
        namespace = exchange.scope.namespace
        subtopologies = request.topology.subtopologies
        regexes = [
            regex
            for subtopology in in_steps(subtopologies)
            for regex in in_steps(subtopology.source_topic_regex)
        ]
        refusal = _refusal(exchange, regexes)
        if refusal is not None:
            return Answer(response(error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=refusal))
        growth = begin_growth(exchange)
        if isinstance(growth, TopicCount):
            return growth
        for subtopology in in_steps(subtopologies):
            internal = internal_topics(subtopology)
            names = [*(topic.name for topic in internal), *subtopology.repartition_sink_topics]
            if any(namespace.hides(name) for name in names):
                denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                return Answer(response(error_code=denied, error_message=denied.message))
            violation = _violation(namespace, growth, internal) or _beyond(
                exchange, growth, subtopology, internal
            )
            if violation is not None:
                text = f"{violation.error_code.name}: {violation.message}"
                return Answer(response(error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=text))
            for topic in in_steps(internal):
                new = messages.StreamsGroupHeartbeatRequest.KeyValue
                topic.topic_configs = with_forced(namespace, topic.name, topic.topic_configs, new)
            subtopology.source_topics = [
                namespace.absent_topic(topic) if namespace.hides(topic) else topic
                for topic in in_steps(subtopology.source_topics)
            ]
        if growth is not None:
            commit_growth(exchange, growth)
        return FORWARD


def internal_topics(subtopology: Any) -> list[Any]:
    """Return the topics of a part of a topology that the broker creates if they are missing."""
    return [*subtopology.state_changelog_topics, *subtopology.repartition_source_topics]


def _violation(namespace: Namespace, growth: Growth | None, topics: list[Any]) -> Refusal | None:
    """Return why the policies do not allow these internal topics to be created, None when they do."""
    for topic in in_steps(topics):
        refusal = namespace.policy.refuse_replicas(topic.replication_factor, [])
        for config in in_steps(topic.topic_configs):
            refusal = refusal or namespace.policy.refuse_topic_config(config.key, config.value)
        if refusal is None:
            configs = [(config.key, config.value) for config in in_steps(topic.topic_configs)]
            factor = topic.replication_factor or BY_DEFAULT
            refusal = refuse_topic(
                namespace, growth, topic.name, topic.partitions or BY_DEFAULT, factor, configs
            )
        if refusal is not None:
            return Refusal(refusal.error_code, f"internal topic {topic.name}: {refusal.message}")
    return None


def _beyond(exchange: Exchange, growth: Growth | None, subtopology: Any, topics: list[Any]) -> Refusal | None:
    """Return why the tenant may not have these internal topics as well, None when it may.

    Where the topology leaves the number of partitions to the broker, it is that of the largest source topic
    (InternalTopicManager, org.apache.kafka.coordinator.group.streams.topics).
    """
    if growth is None:
        return None
    namespace = exchange.scope.namespace
    most = max((growth.has(namespace.physical_name(name)) for name in subtopology.source_topics), default=1)
    for topic in in_steps(topics):
        partitions = at_brokers(exchange, topic.name, topic.partitions or BY_DEFAULT)
        if partitions == BY_DEFAULT:
            partitions = max(1, most)
        refusal = growth.add(namespace.physical_name(topic.name), partitions)
        if refusal is not None:
            return refusal
    return None


def _refusal(exchange: Exchange, regexes: Sequence[str | None]) -> str | None:
    for regex in in_steps(regexes):
        if not regex:
            continue  # "No pattern", or "as before".
        try:
            exchange.scope.namespace.confined_regex(regex)
        except InvalidRegex as invalid:
            return f"The pattern `{regex[:MAX_QUOTED]}` is not a valid regular expression: {invalid}."
    return None
