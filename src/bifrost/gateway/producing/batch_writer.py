"""Writes batches that are built already to one topic of an upstream, with acks=all and without idempotence.

One request at a time. A batch may be written twice: an answer can be lost, and the batch is sent again.
"""

from typing import Any

from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError, RecordsRefused
from bifrost.gateway.producing.upstream_topic import TopicMissing, TopicSettings, UpstreamTopic
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest

TIMEOUT_MS = 3_000
"""Time for one request: two tries fit into `max_record_wait_ms`."""
TRIES = 2
"""The second one is for a leader that has moved."""

_PRODUCE, _OLDEST = 12, 3
"""The newest version of Produce that names topics, and the first one with headers of records."""
_NEVER = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
    }
)
"""The topic will never take these records."""


class BatchWriter:
    """A topic that exists."""

    def __init__(self, cluster: Cluster, name: str, origin: str) -> None:
        """Send no request yet.

        Args:
            cluster: that has the topic.
            name: of the topic, as the brokers call it.
            origin: the key of the configuration that names it, for messages.
        """
        self._topic = UpstreamTopic(cluster, TopicSettings(name, 1, -1, {}, origin), TIMEOUT_MS)

    async def write(self, batch: bytes, partition: int) -> None:
        """Write a batch; one call at a time.

        Args:
            batch: a whole one.
            partition: the batch goes to the partition of this number, modulo those of the topic.
        Raises:
            RecordsRefused: the topic will never take it.
            BrokerError: it could not be written now.
        """
        for attempt in range(TRIES):
            try:
                error = await self._try(batch, partition)
            except TopicMissing:
                raise
            except BrokerError:
                self._topic.leaders = {}
                if attempt == TRIES - 1:
                    raise
                continue
            if error is ErrorCode.NONE:
                return
            if error in _NEVER:
                raise RecordsRefused(error.name)
            self._topic.leaders = {}
            if attempt == TRIES - 1:
                raise BrokerError(error.name)

    async def _try(self, batch: bytes, partition: int) -> ErrorCode:
        topic = self._topic
        if not topic.leaders:
            await topic.find()
        chosen = partition % max(topic.partition_count, 1)
        leader = topic.leaders.get(chosen)
        if leader is None:
            raise BrokerError(f"partition {chosen} has no leader")
        version = leader.newest(ApiKey.PRODUCE, _PRODUCE)
        if version < _OLDEST:
            raise topic.too_old()
        part = ProduceRequest.PartitionProduceData(index=chosen, records=batch)
        data = ProduceRequest.TopicProduceData(name=topic.settings.name, partition_data=[part])
        request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])
        answer: Any = await topic.client_of(leader).request(request, version)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()
