"""DeleteRecords can empty a topic, so it needs the same permission as deleting one.

Source: KafkaApis.handleDeleteRecordsRequest, which asks for DELETE on the topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.filters.filter import Exchange, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DeleteRecordsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import DeleteRecordsRequest

INVALID_LOW_WATERMARK = -1
"""DeleteRecordsResponse.INVALID_LOW_WATERMARK."""


class RecordDeletionFilter(RequestFilter):
    """Answers for the broker when the tenant may not delete."""

    def on_request(self, exchange: Exchange, request: DeleteRecordsRequest) -> RequestStep:
        """Refuse every partition, or pass the request on."""
        namespace = exchange.scope.namespace
        if namespace.allow_topic_deletion:
            return FORWARD
        response = DeleteRecordsResponse
        topics = [
            response.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    response.DeleteRecordsPartitionResult(
                        partition_index=partition.partition_index,
                        low_watermark=INVALID_LOW_WATERMARK,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        if namespace.hides(topic.name)
                        else ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                    )
                    for partition in in_steps(topic.partitions)
                ],
            )
            for topic in in_steps(request.topics)
        ]
        return Answer(response(topics=topics))
