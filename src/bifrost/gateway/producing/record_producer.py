"""Writes records to one topic of an upstream: idempotent, with acks=all, one batch a partition.

    records ──produce──▶ queue of batches for each partition ──▶ Produce to its leader
                                           │
    accepted, or refused ◀─────────────────┴── again after an error that may pass

All records of one call are written or refused before the call returns, so records of a partition stay in order. While
the brokers accept nothing, the producer tries again; how much waits meanwhile is its owner's to bound.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.loop.steps import Breaks
from bifrost.gateway.producing.upstream_topic import ProducerIdDenied, TopicMissing, UpstreamTopic
from bifrost.journal.partitioner import partition_of
from bifrost.records.record_batch import NO_PRODUCER, Record, build_batch, compress
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest

FIRST_RETRY_MS, LAST_RETRY_MS = 100, 5_000

_PRODUCE = 12
"""The newest version that names topics."""

_SEQUENCE_END = 2**31
_TAKEN = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
_LOST_PRODUCER = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
"""The broker does not know the producer any more: it gets a new ID, and resent records may be written twice."""

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
_REFUSED = frozenset({ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.INVALID_REQUIRED_ACKS})


class OutgoingRecord(Protocol):
    """A record to write. Records with the same key are in the same partition; those without one are in the first."""

    @property
    def key(self) -> bytes | None:
        """The record's key, if it has one."""

    @property
    def timestamp_ms(self) -> int:
        """Its time, in milliseconds since 1970."""

    @property
    def value(self) -> bytes:
        """Its content."""


R = TypeVar("R", bound=OutgoingRecord)
R_contra = TypeVar("R_contra", bound=OutgoingRecord, contravariant=True)


class ProducerOwner(Protocol[R_contra]):
    """What a producer tells the part of the gateway that it writes for."""

    def topic_created(self, topic: str, partitions: int) -> None:
        """The topic was missing, and is there now."""

    def idempotence_denied(self, error: ErrorCode) -> None:
        """The brokers give the gateway no producer ID: a record may be written twice."""

    def records_accepted(self, records: Sequence[R_contra]) -> None:
        """The brokers have written records."""

    def records_refused(self, records: Sequence[R_contra], error: ErrorCode) -> None:
        """The brokers will never take these records."""

    def attempt_ended(self, problem: str) -> None:
        """An attempt to write has ended; `problem` says what failed, or is empty."""


@dataclass(slots=True)
class _Batch(Generic[R]):
    records: list[R]
    compressed: bytes = b""
    base_sequence: int = -1
    """The producer's sequence number of the first record; -1 while the batch has none."""

    @property
    def entries(self) -> list[Record]:
        return [(one.timestamp_ms, one.key, one.value) for one in self.records]


class RecordProducer(Generic[R]):
    """A producer of records to one topic, for one owner in one process."""

    def __init__(self, topic: UpstreamTopic, owner: ProducerOwner[R], timeout_ms: int) -> None:
        """Send nothing yet.

        Args:
            topic: where it writes.
            owner: is told what becomes of the records.
            timeout_ms: time limit for a broker to write a batch.
        """
        self._topic, self._owner, self._timeout_ms = topic, owner, timeout_ms
        self._producer = NO_PRODUCER
        self._has_producer = False
        self._sequences: dict[int, int] = defaultdict(int)

    async def produce(self, records: Iterable[R]) -> None:
        """Write records until each is accepted or refused for good; one call at a time."""
        queues: dict[int, deque[_Batch[R]]] | None = None
        retry_ms = FIRST_RETRY_MS
        while True:
            try:
                await self._prepare()
                if queues is None:
                    queues = await self._queues(records)
                problem = await self._produce(queues)
            except BrokerError as error:
                self._topic.leaders = {}
                problem = str(error)
            self._owner.attempt_ended(problem)
            if queues is not None and not queues:
                return
            if problem:
                await asyncio.sleep(retry_ms / 1000)
                retry_ms = min(retry_ms * 2, LAST_RETRY_MS)

    def begin_anew(self) -> None:
        """Find the leaders and get a new producer ID before the next records: a call of `produce` has failed."""
        self._topic.leaders, self._has_producer = {}, False

    async def close(self) -> None:
        """Close the connections."""
        await self._topic.close()

    async def _prepare(self) -> None:
        """Know the leaders, and have a producer ID."""
        if not self._topic.leaders:
            await self._find_leaders()
        if not self._has_producer:
            try:
                self._producer = await self._topic.new_producer()
            except ProducerIdDenied as denied:
                self._producer = NO_PRODUCER
                self._owner.idempotence_denied(denied.error)
            self._has_producer = True
            self._sequences.clear()

    async def _find_leaders(self) -> None:
        topic = self._topic
        try:
            await topic.find()
        except TopicMissing as missing:
            if await topic.create(missing.controller_id):
                self._owner.topic_created(topic.settings.name, topic.settings.partitions)
            await topic.find()

    async def _queues(self, records: Iterable[R]) -> dict[int, deque[_Batch[R]]]:
        """Return the records by partition."""
        queues: dict[int, deque[_Batch[R]]] = {}
        breaks = Breaks()
        for one in records:
            await breaks.take()
            key = one.key
            partition = 0 if key is None else partition_of(key, self._topic.partition_count)
            queues.setdefault(partition, deque([_Batch([])]))[0].records.append(one)
        return queues

    async def _produce(self, queues: dict[int, deque[_Batch[R]]]) -> str:
        """Send the first batch of each partition to its leader; return what failed, if anything."""
        by_leader: dict[int, tuple[Broker, dict[int, _Batch[R]]]] = {}
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

    async def _send(self, broker: Broker, batches: Mapping[int, _Batch[R]]) -> dict[int, ErrorCode]:
        """Produce to one broker; return its error codes by partition."""
        version = broker.newest(ApiKey.PRODUCE, _PRODUCE)
        if version < 3:
            raise self._topic.too_old()
        parts = [
            ProduceRequest.PartitionProduceData(
                index=partition, records=await self._bytes_of(partition, batch)
            )
            for partition, batch in batches.items()
        ]
        data = ProduceRequest.TopicProduceData(name=self._topic.settings.name, partition_data=parts)
        request = ProduceRequest(acks=-1, timeout_ms=self._timeout_ms, topic_data=[data])
        answer: Any = await self._topic.client_of(broker).request(request, version)
        return {
            part.index: ErrorCode(part.error_code)
            for topic in answer.responses
            for part in topic.partition_responses
        }

    async def _bytes_of(self, partition: int, batch: _Batch[R]) -> bytes:
        entries = batch.entries
        if not batch.compressed:
            batch.compressed = await asyncio.to_thread(compress, entries)
        if self._producer == NO_PRODUCER:
            return build_batch(entries, batch.compressed)
        if batch.base_sequence < 0:
            batch.base_sequence = self._sequences[partition]
        return build_batch(entries, batch.compressed, self._producer, batch.base_sequence)

    def _settle(self, queues: dict[int, deque[_Batch[R]]], partition: int, error: ErrorCode) -> str:
        """Handle the answer for a batch; return the problem if the batch has to be sent again."""
        queue = queues[partition]
        batch = queue[0]
        if error in _TAKEN:
            self._sequences[partition] = (batch.base_sequence + len(batch.records)) % _SEQUENCE_END
            self._owner.records_accepted(batch.records)
            queue.popleft()
        elif error in _TOO_LARGE and len(batch.records) > 1:
            middle = len(batch.records) // 2
            queue.popleft()
            queue.extendleft([_Batch(batch.records[middle:]), _Batch(batch.records[:middle])])
        elif error in _TOO_LARGE | _REFUSED:
            self._owner.records_refused(batch.records, error)
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

    def _forget_producer(self, queues: Mapping[int, deque[_Batch[R]]]) -> None:
        self._has_producer = False
        for queue in queues.values():
            for batch in queue:
                batch.base_sequence = -1
