"""Writes the journal's records to its topic: a producer of its own, idempotent, with acks=all, one batch a partition.

    RecordBuffer ──take──▶ piece ──▶ queue of batches for each partition ──▶ Produce to its leader
         ▲                                        │
         └──────────── written, or refused ◀──────┴── again after an error that may pass

A piece is finished before the next one is taken, so records of a partition stay in order, and the buffer's size
includes the records that are being sent. While the brokers accept nothing, the writer retries and the buffer fills.
"""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.journaling.journal_topic import JournalTopic, newest
from bifrost.journal.partitioner import partition_of
from bifrost.journal.record_buffer import DropReason, Pending, RecordBuffer
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest
from bifrost.wire.record_batch import NOBODY, Record, build_batch, compress

log = structlog.get_logger()

PIECE_BYTES = 512 * 1024
"""Records taken at once: half of a broker's `message.max.bytes` even if they all go to one partition and do not
compress."""

FIRST_RETRY_MS, LAST_RETRY_MS = 100, 5_000

_PRODUCE = 12
"""The newest version that names topics."""

_SEQUENCE_END = 2**31
_WRITTEN = "records"
_TAKEN = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
_LOST_PRODUCER = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
"""The broker does not know the producer any more: the writer gets a new ID, and resent records may be written twice."""

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
_REFUSED = frozenset({ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_REQUIRED_ACKS})


@dataclass(slots=True)
class _Batch:
    records: list[Pending]
    compressed: bytes = b""
    base_sequence: int = -1
    """The producer's sequence number of the first record; -1 while the batch has none."""

    @property
    def entries(self) -> list[Record]:
        return [
            (one.timestamp_ms, None if one.tenant is None else one.tenant.encode(), one.value)
            for one in self.records
        ]


class JournalWriter:
    """The journal's writer of one gateway process."""

    def __init__(
        self,
        topic: JournalTopic,
        buffer: RecordBuffer,
        timeout_ms: int,
        counts: "Counter[str] | None" = None,
    ) -> None:
        """Write nothing yet.

        Args:
            topic: where it writes.
            buffer: what it writes.
            timeout_ms: time limit for a broker to write a batch.
            counts: counts the written records; None: the writer counts by itself.
        """
        self._topic, self._buffer, self._timeout_ms = topic, buffer, timeout_ms
        self._producer = NOBODY
        self._has_producer = False
        self._sequences: dict[int, int] = defaultdict(int)
        self._wake = asyncio.Event()
        self._last_error = ""
        self._is_finishing = False
        self._counts = Counter() if counts is None else counts
        self._counts[_WRITTEN] = 0
        self.is_failing = False
        """Whether the last attempt to write failed."""

    @property
    def written(self) -> int:
        """Number of records that the brokers have accepted."""
        return self._counts[_WRITTEN]

    def wake(self) -> None:
        """Have `run` check whether there is something to write."""
        self._wake.set()

    def finish(self) -> None:
        """Let `run` return when everything is written."""
        self._is_finishing = True
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled, or until everything is written after `finish`."""
        while not self._is_finishing or len(self._buffer):
            await self._wake.wait()
            self._wake.clear()
            await self.write_all()

    async def write_all(self) -> None:
        """Write all records in the buffer, however long it takes."""
        while True:
            self._buffer.tell_drops()
            piece = self._buffer.take(PIECE_BYTES)
            if not piece:
                return
            try:
                await self._write(piece)
            except Exception:
                self._give_up(piece)
                raise
            self._buffer.written(piece)

    def _give_up(self, piece: Sequence[Pending]) -> None:
        """Drop records that an error of the gateway's own prevents from being written, so that later ones are."""
        for one in piece:
            self._buffer.drop(
                one.kind, one.tenant, DropReason.REFUSED, size=len(one.value), sequence=one.sequence
            )
        self._buffer.written(piece)
        self._topic.leaders, self._has_producer = {}, False
        self._wake.set()

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()

    async def _write(self, piece: Iterable[Pending]) -> None:
        """Write records until each is accepted or refused for good."""
        queues: dict[int, deque[_Batch]] | None = None
        retry_ms = FIRST_RETRY_MS
        while True:
            try:
                if not self._topic.leaders:
                    await self._topic.find()
                if not self._has_producer:
                    self._producer, self._has_producer = await self._topic.new_producer(), True
                    self._sequences.clear()
                if queues is None:
                    queues = self._queues(piece)
                problem = await self._produce(queues)
            except BrokerError as error:
                self._topic.leaders = {}
                problem = str(error)
            self._note(problem)
            if queues is not None and not queues:
                return
            if problem:
                await asyncio.sleep(retry_ms / 1000)
                retry_ms = min(retry_ms * 2, LAST_RETRY_MS)

    def _queues(self, piece: Iterable[Pending]) -> dict[int, deque[_Batch]]:
        """Return the records by partition: those that concern no tenant are in the first."""
        queues: dict[int, deque[_Batch]] = {}
        for one in piece:
            partition = 0 if one.tenant is None else partition_of(one.tenant, self._topic.partition_count)
            queues.setdefault(partition, deque([_Batch([])]))[0].records.append(one)
        return queues

    async def _produce(self, queues: dict[int, deque[_Batch]]) -> str:
        """Send the first batch of each partition to its leader; return what failed, if anything."""
        by_leader: dict[int, tuple[Broker, dict[int, _Batch]]] = {}
        for partition, queue in queues.items():
            leader = self._topic.leaders.get(partition)
            if leader is not None:
                by_leader.setdefault(leader.node_id, (leader, {}))[1][partition] = queue[0]
        if not by_leader:
            self._topic.leaders = {}
            return "no partition has a leader"
        results = await asyncio.gather(
            *(self._send(broker, batches) for broker, batches in by_leader.values()), return_exceptions=True
        )
        has_leaders = sum(len(batches) for _, batches in by_leader.values()) == len(queues)
        problem = "" if has_leaders else "some partitions have no leader"
        if problem:
            self._topic.leaders = {}
        for result in results:
            if isinstance(result, BrokerError):
                self._topic.leaders = {}
                problem = str(result)
            elif isinstance(result, BaseException):
                raise result
            else:
                for partition, error in result.items():
                    problem = self._settle(queues, partition, error) or problem
        return problem

    async def _send(self, broker: Broker, batches: Mapping[int, _Batch]) -> dict[int, ErrorCode]:
        """Produce to one broker; return its error codes by partition."""
        version = newest(broker, ApiKey.PRODUCE, _PRODUCE)
        if version < 3:
            raise BrokerError("the brokers are too old for a journal: it needs Kafka 0.11")
        parts = [
            ProduceRequest.PartitionProduceData(
                index=partition, records=await self._bytes_of(partition, batch)
            )
            for partition, batch in batches.items()
        ]
        request = ProduceRequest(
            acks=-1,
            timeout_ms=self._timeout_ms,
            topic_data=[ProduceRequest.TopicProduceData(name=JOURNAL_TOPIC, partition_data=parts)],
        )
        answer: Any = await self._topic.client_of(broker).request(request, version)
        return {
            part.index: ErrorCode(part.error_code)
            for topic in answer.responses
            for part in topic.partition_responses
        }

    async def _bytes_of(self, partition: int, batch: _Batch) -> bytes:
        entries = batch.entries
        if not batch.compressed:
            batch.compressed = await asyncio.to_thread(compress, entries)
        if self._producer == NOBODY:
            return build_batch(entries, batch.compressed)
        if batch.base_sequence < 0:
            batch.base_sequence = self._sequences[partition]
        return build_batch(entries, batch.compressed, self._producer, batch.base_sequence)

    def _settle(self, queues: dict[int, deque[_Batch]], partition: int, error: ErrorCode) -> str:
        """Handle the answer for a batch; return the problem if the batch has to be sent again."""
        queue = queues[partition]
        batch = queue[0]
        if error in _TAKEN:
            self._sequences[partition] = (batch.base_sequence + len(batch.records)) % _SEQUENCE_END
            self._counts[_WRITTEN] += len(batch.records)
            queue.popleft()
        elif error in _TOO_LARGE and len(batch.records) > 1:
            middle = len(batch.records) // 2
            queue.popleft()
            queue.extendleft([_Batch(batch.records[middle:]), _Batch(batch.records[:middle])])
        elif error in _TOO_LARGE | _REFUSED:
            for one in batch.records:
                self._buffer.drop(
                    one.kind, one.tenant, DropReason.REFUSED, size=len(one.value), sequence=one.sequence
                )
            log.warning("journal_records_refused", error=error.name, records=len(batch.records))
            queue.popleft()
        else:
            if error in _LOST_PRODUCER:
                self._forget_producer(queues)
            else:
                self._topic.leaders = {}
            return f"partition {partition}: {error.name}"
        if not queue:
            del queues[partition]
        return ""

    def _forget_producer(self, queues: Mapping[int, deque[_Batch]]) -> None:
        self._has_producer = False
        for queue in queues.values():
            for batch in queue:
                batch.base_sequence = -1

    def _note(self, problem: str) -> None:
        """Log when writing begins to fail, when the reason changes, and when it works again."""
        if problem and problem != self._last_error:
            log.warning("journal_not_written", error=problem, waiting=len(self._buffer))
        if not problem and self._last_error:
            log.info("journal_written_again", waiting=len(self._buffer))
        self._last_error, self.is_failing = problem, bool(problem)
