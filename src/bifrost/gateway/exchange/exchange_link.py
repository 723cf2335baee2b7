"""Writes and reads the records of the exchange, with a connection for each of the two.

Nothing is repeated here: what was not written or read in time is an error, and the caller's next attempt is another
record.
"""

import asyncio
from collections.abc import Iterator

from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.partition_fetch import LATEST, edge_offset, fetch
from bifrost.gateway.producing.single_partition import find_single, write_single
from bifrost.gateway.producing.upstream_topic import TopicSettings, UpstreamTopic
from bifrost.records.batch_reader import UnreadableBatch, read_batches
from bifrost.wire.error_codes import ErrorCode

MAX_WAIT_MS = 500
"""How long a broker waits for records before it answers that there are none."""


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
            self.created |= await find_single(self._writing)

    async def write(self, key: bytes, content: bytes) -> None:
        """Write a record.

        Raises:
            BrokerError: it is not known whether it was written.
        """
        # The broker has the time: see exchange_topic.py.
        await write_single(self._writing, [(0, key, content)])

    async def read(self) -> tuple[bool, list[bytes | None]]:
        """Wait for the next records, for half a second; return whether some may be missing before, and the contents.

        Raises:
            UnreadableBatch: a batch is not one that a gateway writes; the next call goes on at the end of the log.
            BrokerError: nothing was read.
        """
        topic = self._reading
        if 0 not in topic.leaders:
            self.created |= await find_single(topic)
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
