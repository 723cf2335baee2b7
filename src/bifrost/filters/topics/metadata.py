"""Metadata: "all topics" are all of the tenant's, and a name outside its allow-list is a topic that does not exist.

When a tenant with an allow-list asks for all topics, the gateway asks for its topics by name: so the broker does not
send, nor the gateway read, those of other tenants. For other tenants session/topics/topic_listing.py finds the names.
Where the request could create the topics that it names (before v4), the gateway asks for all and drops the foreign
ones.

A name outside the list reaches the broker in a form that is illegal as a topic name (tenancy/names.py). Most APIs
look it up and find nothing; Metadata also checks its form, so here the broker's "invalid" becomes the "unknown" it
says of legal names. Other filters and the namespace do the filtering and replace the addresses and the cluster ID.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from bifrost.filters.filter import Exchange
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.wire.engine import in_steps
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import MetadataRequest


def ask_by_name(exchange: Exchange, request: Any, names: Iterable[bytes]) -> None:
    """Make a request for all topics ask for these; those that do not exist are then left out of the answer."""
    exchange.notes["metadata"] = "all"
    request.topics = [MetadataRequest.MetadataRequestTopic(name=name.decode()) for name in in_steps(names)]
    request.allow_auto_topic_creation = False


class MetadataFilter:
    """Narrows "all", and answers UNKNOWN_TOPIC_OR_PARTITION for names outside the allow-list."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Any) -> Message | None:
        """Ask for the listed topics in place of all."""
        allowed = exchange.scope.namespace.names.allowed_topics
        if request.topics is None and allowed is not None and exchange.api_version >= CAN_FORBID_CREATION:
            ask_by_name(exchange, request, sorted(allowed))
        return None

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Leave out allowed topics that do not exist, and answer for hidden topics as unknown."""
        namespace = exchange.scope.namespace
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if exchange.notes.get("metadata") == "all":
            response.topics = [topic for topic in in_steps(response.topics) if topic.error_code != unknown]
        for topic in in_steps(response.topics):
            if topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION and namespace.hides(topic.name or ""):
                topic.error_code = unknown
