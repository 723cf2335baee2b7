"""Metadata: a name outside the tenant's allow-list is a topic that does not exist.

Such a name reaches the broker in a form that is illegal as a topic name (tenancy/names.py). Most APIs look it up
and find nothing; Metadata also checks its form, so here the broker's "invalid" becomes the "unknown" it says of
legal names. Filtering, addresses and the cluster ID are the other filters' and the namespace's work.
"""

from typing import Any

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.wire.error_codes import ErrorCode


class MetadataFilter(ResponseFilter):
    """Says UNKNOWN_TOPIC_OR_PARTITION of names outside the allow-list."""

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Correct the error of topics that exist for others only."""
        namespace = exchange.scope.namespace
        for topic in response.topics:
            if topic.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION and namespace.hides(topic.name or ""):
                topic.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
