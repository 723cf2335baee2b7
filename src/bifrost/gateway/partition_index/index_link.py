"""Reads and writes the topic of the index at one physical cluster, with a connection for each of the two."""

import asyncio
from collections.abc import Sequence
from struct import Struct

from bifrost.gateway.brokers.cluster import Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.partition_fetch import EARLIEST, edge_offset, fetch
from bifrost.gateway.producing.single_partition import find_single, write_single
from bifrost.gateway.producing.upstream_topic import TopicSettings, UpstreamTopic
from bifrost.records.batch_reader import LogRecord, UnreadableBatch, read_batches
from bifrost.records.record_batch import Record
from bifrost.wire.error_codes import ErrorCode

MAX_WAIT_MS = 2_000
"""How long a broker waits for records before it answers that there are none."""
_SHORTEST_PAUSE_S = 0.1
_HEADER = Struct(">q15si")
"""Of a batch: the base offset, what stands between, and the last offset delta."""


class IndexLink:
    """The topic, as one process writes and reads it."""

    def __init__(self, cluster: Cluster, settings: TopicSettings, timeout_ms: int) -> None:
        """Send nothing yet; `timeout_ms` bounds every request."""
        self._writing = UpstreamTopic(cluster, settings, timeout_ms)
        self._reading = UpstreamTopic(cluster, settings, timeout_ms)
        self._offset: int | None = None
        self.is_at_end = False
        """Whether all was read that was in the topic when it was last asked."""
        self.created = False
        """Whether this process has created the topic."""

    async def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write records, at least one, each a key and a value.

        Raises:
            BrokerError: it is not known whether they were written.
        """
        if 0 not in self._writing.leaders:
            self.created |= await find_single(self._writing)
        made: list[Record] = [(0, key, value) for key, value in records]  # The broker has the time.
        await write_single(self._writing, made)

    async def read(self) -> list[LogRecord]:
        """Return the next records; once all was read, wait for them, for two seconds.

        Raises:
            UnreadableBatch: a batch is not one that a gateway writes; the next call goes on behind it.
            BrokerError: nothing was read.
        """
        topic = self._reading
        if 0 not in topic.leaders:
            self.created |= await find_single(topic)
        if self._offset is None:
            self._offset = await edge_offset(topic, EARLIEST)
        part, throttle_ms = await fetch(topic, self._offset, MAX_WAIT_MS if self.is_at_end else 0)
        if part is None:
            await asyncio.sleep(max(throttle_ms / 1000, _SHORTEST_PAUSE_S))
            return []
        error = ErrorCode(part.error_code)
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:  # Someone has deleted records, or the topic.
            self._offset = None
            return []
        if error != ErrorCode.NONE:
            raise BrokerError(f"Fetch: {error.name}")
        found = self._records(part.records or b"", part.high_watermark)
        self.is_at_end = self._offset >= part.high_watermark
        if not found and not self.is_at_end:
            await asyncio.sleep(_SHORTEST_PAUSE_S)
        return found

    def _records(self, data: bytes | memoryview, end: int) -> list[LogRecord]:
        assert self._offset is not None, "the topic is read from an offset on"
        found, began = list[LogRecord](), self._offset
        try:
            for batch in read_batches(data):
                found += (record for record in batch.records if record.offset >= began)
                self._offset = max(self._offset, batch.last_offset + 1)
        except UnreadableBatch:
            if self._offset == began:
                self._offset = min(end, max(began, _last_offset_of(data)) + 1)
                raise
            # It is the first one of the next answer.
        return found

    def lose_writer(self) -> None:
        """Find the leader anew before the next record is written."""
        self._writing.leaders = {}

    def lose_reader(self) -> None:
        """Find the leader anew before the next records are read."""
        self._reading.leaders, self.is_at_end = {}, False

    async def close(self) -> None:
        """Close the connections."""
        await self._writing.close()
        await self._reading.close()


def _last_offset_of(data: bytes | memoryview) -> int:
    """Return the last offset of the first batch, as its header has it; -1: it has none."""
    if len(data) < _HEADER.size:
        return -1
    base, _, delta = _HEADER.unpack_from(data)
    return int(base + max(0, delta))
