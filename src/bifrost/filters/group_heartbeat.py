"""Heartbeats of the new group protocols (KIP-848, KIP-932, KIP-1071), and what both old and new refuse: no group ID.

An empty group ID, once prefixed, would be a group like any other; the broker refuses it where members join. And a
pattern that cannot be confined to the namespace (tenancy/topic_regex.py) is answered as one that does not compile.
"""

from collections.abc import Callable
from typing import Any

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.tenancy.topic_regex import InvalidRegex
from bifrost.wire import messages
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message


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


class StreamsRegexFilter(RequestFilter):
    """StreamsGroupHeartbeat: answers STREAMS_INVALID_TOPOLOGY to a topology with a pattern that cannot be served."""

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Answer when a pattern is refused."""
        if request.topology is None:
            return None
        regexes = [
            one for subtopology in request.topology.subtopologies for one in subtopology.source_topic_regex
        ]
        refusal = _refusal(exchange, regexes)
        if refusal is None:
            return None
        error = ErrorCode.STREAMS_INVALID_TOPOLOGY
        return messages.StreamsGroupHeartbeatResponse(error_code=error, error_message=refusal)


def _refusal(exchange: Exchange, regexes: list[str | None]) -> str | None:
    for regex in regexes:
        try:
            exchange.scope.namespace.names.confined_regex(regex or "")
        except InvalidRegex as invalid:
            return f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {invalid}."
    return None
