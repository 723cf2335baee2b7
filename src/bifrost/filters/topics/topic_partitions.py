"""DescribeTopicPartitions (KIP-966): topics by page, in the order of their names, from a cursor on.

"All topics" means all of the tenant's. Its physical names share a prefix, so they are adjacent in the broker's order:
the gateway asks the broker to start there, and the page ends where the next name is not the tenant's. For a tenant with
an allow-list it asks by name instead, because a topic that is hidden from the tenant must not take up room on the page
or appear in a cursor.
"""

from __future__ import annotations

from typing import ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_pages import LOWEST_NAME
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from bifrost.wire.steps import in_steps

_IS_ABOUT_ALL: Note[bool] = Note("all_topics")
"""Whether the request was for all topics."""


class TopicPartitionsFilter:
    """Keeps "all" and the cursor within the namespace."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeTopicPartitionsRequest) -> RequestStep:
        """Say which topics "all" means."""
        namespace = exchange.scope.namespace
        exchange.keep(_IS_ABOUT_ALL, not request.topics)
        if request.topics:
            return FORWARD
        if namespace.names.allowed_topics is None:
            if request.cursor is None:
                request.cursor = DescribeTopicPartitionsRequest.Cursor(
                    topic_name=LOWEST_NAME.decode(), partition_index=0
                )
            return FORWARD
        first = "" if request.cursor is None else request.cursor.topic_name
        begin = _place(namespace, first) if first else b""
        # In the broker's order: a topic that was moved or is shared may have any place in it.
        listed = sorted(
            (namespace.physical_name(name.decode()), name) for name in namespace.names.allowed_topics
        )
        request.topics = [
            DescribeTopicPartitionsRequest.TopicRequest(name=name.decode())
            for physical, name in in_steps(listed)
            if physical >= begin
        ]
        if request.cursor is not None and not _exists(namespace, first):
            request.cursor = None
        return FORWARD if request.topics else Answer(DescribeTopicPartitionsResponse())

    def on_response(self, exchange: Exchange, response: DescribeTopicPartitionsResponse) -> ResponseStep:
        """Leave out allowed topics that do not exist, and answer for hidden topics as unknown."""
        namespace = exchange.scope.namespace
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for topic in in_steps(response.topics):
            if topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION and namespace.hides(topic.name or ""):
                topic.error_code = unknown
        if exchange.kept(_IS_ABOUT_ALL):
            response.topics = [topic for topic in in_steps(response.topics) if topic.error_code != unknown]
        return FORWARD


def _exists(namespace: Namespace, topic: str) -> bool:
    return namespace.names.is_allowed(VirtualTopic(topic.encode()))


def _place(namespace: Namespace, first: str) -> bytes:
    """Return where a list goes on in the broker's order; a hidden topic would be where its own name puts it."""
    if _exists(namespace, first):
        return namespace.physical_name(first)
    return namespace.names.topics.physical(VirtualTopic(first.encode()))
