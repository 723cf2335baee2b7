"""DescribeProducers: a name outside the tenant's allow-list is a topic that does not exist.

Like Metadata (metadata.py), the broker checks here the form of the name that stands for such a topic.
"""

from typing import Any

from bifrost.filters.filter import Exchange, ResponseFilter
from bifrost.wire.error_codes import ErrorCode


class DescribeProducersFilter(ResponseFilter):
    """Says UNKNOWN_TOPIC_OR_PARTITION of names outside the allow-list."""

    def on_response(self, exchange: Exchange, response: Any) -> None:
        """Correct the error of topics that exist for others only."""
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for topic in response.topics:
            if not exchange.scope.namespace.hides(topic.name):
                continue
            for partition in topic.partitions:
                if partition.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                    partition.error_code, partition.error_message = unknown, unknown.message
