"""Writes and reads the records of the exchange, with a connection for each of the two.

Nothing is repeated here: what was not written or read in time is an error, and the caller's next attempt is another
record. The writer asks for the leader's own acknowledgement alone (acks=1): a record that is lost with a leader is
followed by the next one.
"""

import asyncio
from collections.abc import Iterator

from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.partition_fetch import LATEST, edge_offset, fetch
from bifrost.gateway.producing.upstream_topic import TopicMissing, TopicSettings, UpstreamTopic
from bifrost.records.batch_reader import UnreadableBatch, read_batches
from bifrost.records.record_batch import build_batch, compress
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest

MAX_WAIT_MS = 500
"""How long a broker waits for records before it answers that there are none."""

_PRODUCE, _OLDEST_PRODUCE = 12, 3
"""The newest version that names topics, and the first one with the record format of Kafka 0.11."""


class ExchangeLink:
    """The topic, as one process writes and reads it."""

    def __init__(self, cluster: Cluster, settings: TopicSettings, timeout_ms: int) -> None:
        """Send nothing yet; `timeout_ms` bounds every request."""
        self._writing = UpstreamTopic(cluster, settings, timeout_ms)
        self._reading = UpstreamTopic(cluster, settings, timeout_ms)
        self._offset: int | None = None
        self.created = False
        """Whether this process has created the topic."""

    async def prepare(self) -> None:
        """Find the leader for writing; create the topic if it is missing.

        Raises:
            BrokerError: no broker answers, the topic cannot be created, or it has several partitions.
        """
        if 0 not in self._writing.leaders:
            await self._find(self._writing)

    async def write(self, key: bytes, content: bytes) -> None:
        """Write a record.

        Raises:
            BrokerError: it is not known whether it was written.
        """
        topic = self._writing
        leader = topic.leaders.get(0)
        if leader is None:
            raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
        version = leader.newest(ApiKey.PRODUCE, _PRODUCE)
        if version < _OLDEST_PRODUCE:
            raise topic.too_old()
        records = [(0, key, content)]  # The broker has the time: see exchange_topic.py.
        part = ProduceRequest.PartitionProduceData(index=0, records=build_batch(records, compress(records)))
        data = ProduceRequest.TopicProduceData(name=topic.settings.name, partition_data=[part])
        request = ProduceRequest(
            transactional_id=None, acks=1, timeout_ms=topic.timeout_ms, topic_data=[data]
        )
        answer = await topic.client_of(leader).request(request, version)
        for response in answer.responses:
            for one in response.partition_responses:
                if one.error_code != ErrorCode.NONE:
                    raise BrokerError(f"Produce: {ErrorCode(one.error_code).name}")

    async def read(self) -> tuple[bool, list[bytes | None]]:
        """Wait for the next records, for half a second; return whether some may be missing before, and the contents.

        Raises:
            UnreadableBatch: a batch is not one that a gateway writes; the next call goes on at the end of the log.
            BrokerError: nothing was read.
        """
        topic = self._reading
        if 0 not in topic.leaders:
            await self._find(topic)
        is_new = self._offset is None
        if self._offset is None:
            self._offset = await edge_offset(topic, LATEST)
        part, throttle_ms = await fetch(topic, self._offset, MAX_WAIT_MS)
        if part is None:
            await asyncio.sleep(throttle_ms / 1000)
            return is_new, []
        error = ErrorCode(part.error_code)
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:  # Retention has deleted it, or the topic is a new one.
            self._offset = None
            return True, []
        if error != ErrorCode.NONE:
            raise BrokerError(f"Fetch: {error.name}")
        try:
            return is_new, list(self._contents(part.records or b""))
        except UnreadableBatch:
            self._offset = None
            raise

    def _contents(self, data: bytes | memoryview) -> Iterator[bytes | None]:
        assert self._offset is not None
        for batch in read_batches(data):
            for record in batch.records:
                if record.offset >= self._offset:
                    yield record.value
            self._offset = max(self._offset, batch.last_offset + 1)

    def lose_writer(self) -> None:
        """Find the leader anew before the next record is written."""
        self._writing.leaders = {}

    def lose_reader(self) -> None:
        """Find the leader anew before the next records are read."""
        self._reading.leaders = {}

    async def close(self) -> None:
        """Close the connections."""
        await self._writing.close()
        await self._reading.close()

    async def _find(self, topic: UpstreamTopic) -> None:
        if not topic.cluster.node_ids:
            await topic.cluster.refresh()
        try:
            await topic.find()
        except TopicMissing as missing:
            self.created |= await topic.create(missing.controller_id)
            await topic.find()
        if topic.partition_count != 1:
            name, count = topic.settings.name, topic.partition_count
            topic.leaders = {}
            raise BrokerError(
                f"topic {name} has {count} partitions: delete it, and the gateway creates it with one"
            )
        if 0 not in topic.leaders:
            await topic.cluster.refresh()
            raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
