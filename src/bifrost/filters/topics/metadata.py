"""Metadata: "all topics" are all of the tenant's, and a name outside its allow-list is a topic that does not exist.

When a tenant with an allow-list asks for all topics, the gateway asks for its topics by name: so the broker does not
send, nor the gateway read, those of other tenants. For other tenants session/topics/topic_listing.py finds the names.
Where the request could create the topics that it names (before v4), the gateway asks for all and drops the foreign
ones.

A name outside the list reaches the broker in a form that is illegal as a topic name (tenancy/names.py). Most APIs
look it up and find nothing; Metadata also checks its form, so here the broker's "invalid" becomes the "unknown" it
says of legal names. Other filters and the namespace do the filtering and replace the addresses and the cluster ID.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import MetadataResponse


_IS_ABOUT_ALL: Note[bool] = Note("all_topics")
"""Whether the client asked for all topics, and the gateway asks for named ones."""


def ask_by_name(exchange: Exchange, request: MetadataRequest, names: Iterable[bytes]) -> None:
    """Make a request for all topics ask for these; those that do not exist are then left out of the answer."""
    exchange.keep(_IS_ABOUT_ALL, True)
    request.topics = [MetadataRequest.MetadataRequestTopic(name=name.decode()) for name in in_steps(names)]
    request.allow_auto_topic_creation = False


class MetadataFilter:
    """Narrows "all", and answers UNKNOWN_TOPIC_OR_PARTITION for names outside the allow-list."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: MetadataRequest) -> RequestStep:
        """Ask for the listed topics in place of all."""
        allowed = exchange.scope.namespace.names.allowed_topics
        if request.topics is None and allowed is not None and exchange.api_version >= CAN_FORBID_CREATION:
            ask_by_name(exchange, request, sorted(allowed))
        return FORWARD

    def on_response(self, exchange: Exchange, response: MetadataResponse) -> ResponseStep:
        """Leave out allowed topics that do not exist, and answer for hidden topics as unknown."""
        namespace = exchange.scope.namespace
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if exchange.find(_IS_ABOUT_ALL):
            response.topics = [topic for topic in in_steps(response.topics) if topic.error_code != unknown]
        for topic in in_steps(response.topics):
            if topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION and namespace.hides(topic.name or ""):
                topic.error_code = unknown
        return FORWARD
