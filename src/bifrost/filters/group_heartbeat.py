"""Heartbeats of the new group protocols (KIP-848, KIP-932, KIP-1071), and what both old and new refuse: no group ID.

An empty group ID, once prefixed, would be a group like any other; the broker refuses it where members join. And a
pattern that cannot be confined to the namespace (tenancy/topic_regex.py) is answered as one that does not compile.
"""

from collections.abc import Callable
from typing import Any

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.wire import messages
from bifrost.wire.engine import in_steps
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message

MAX_QUOTED = 100
"""Characters of a refused pattern that its error quotes."""


class EmptyGroupFilter(RequestFilter):
    """Refuses the empty group ID in the words of the coordinator that would."""

    def __init__(self, response: type[Message], **fields: Any) -> None:
        """Refuse with `response` and these fields."""
        self._refuse: Callable[[], Message] = lambda: response(**fields)

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Answer when there is no group ID."""
        return None if request.group_id else self._refuse()


class ConsumerRegexFilter(RequestFilter):
    """ConsumerGroupHeartbeat v1: answers INVALID_REGULAR_EXPRESSION to a pattern that cannot be served."""

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Answer when the pattern is refused."""
        refusal = _refusal(exchange, [request.subscribed_topic_regex])
        if refusal is None:
            return None
        error = ErrorCode.INVALID_REGULAR_EXPRESSION
        return messages.ConsumerGroupHeartbeatResponse(error_code=error, error_message=refusal)


class StreamsTopologyFilter(RequestFilter):
    """StreamsGroupHeartbeat: the topics and patterns of a topology, which the broker checks and of which it creates
    some.

    A source topic that is hidden from the tenant is missing, as one that does not exist; an internal topic that the
    tenant may not have is not created, and the group told so as by a broker that may not create it.
    """

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Answer when a pattern or an internal topic is refused."""
        response = messages.StreamsGroupHeartbeatResponse
        if request.topology is None:
            return None
        namespace = exchange.scope.namespace
        subtopologies = request.topology.subtopologies
        regexes = [
            regex
            for subtopology in in_steps(subtopologies)
            for regex in in_steps(subtopology.source_topic_regex)
        ]
        refusal = _refusal(exchange, regexes)
        if refusal is not None:
            return response(error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY, error_message=refusal)
        for subtopology in in_steps(subtopologies):
            internal = [topic.name for topic in in_steps(subtopology.state_changelog_topics)]
            internal += [topic.name for topic in in_steps(subtopology.repartition_source_topics)]
            if any(namespace.hides(topic) for topic in [*internal, *subtopology.repartition_sink_topics]):
                denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                return response(error_code=denied, error_message=denied.message)
            subtopology.source_topics = [
                namespace.absent_topic(topic) if namespace.hides(topic) else topic
                for topic in in_steps(subtopology.source_topics)
            ]
        return None


def _refusal(exchange: Exchange, regexes: list[str | None]) -> str | None:
    for regex in in_steps(regexes):
        if not regex:
            continue  # "No pattern", or "as before".
        try:
            exchange.scope.namespace.confined_regex(regex)
        except InvalidRegex as invalid:
            return f"The pattern `{regex[:MAX_QUOTED]}` is not a valid regular expression: {invalid}."
    return None
