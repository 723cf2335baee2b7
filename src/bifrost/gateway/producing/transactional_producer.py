"""Writes records to one partition in transactions, under one transactional ID.

    begin: InitProducerId (a new epoch fences other producers) ──▶ send: AddPartitionsToTxn, Produce ──▶ commit: EndTxn

It keeps its epoch over transactions, until one fails: then it forgets it, and the next `begin` ends what is open. It
speaks the first version of transactions, which every broker since Kafka 0.11 knows.

Source: KIP-98; Kafka's TransactionManager.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.records.record_batch import NO_PRODUCER, ProducerId, Record, build_batch, compress
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ProduceRequest,
)

TRANSACTION_TIMEOUT_MS = 15_000
"""After this time the coordinator aborts what a dead producer left open; until then it hides later records."""

BATCH_BYTES = 512 * 1024
"""Records of one batch: half of a broker's `message.max.bytes`, even if they do not compress."""

_TRANSACTION = 1
"""The type of key in FindCoordinator."""

_FIND_COORDINATOR, _INIT_PRODUCER_ID, _ADD_PARTITIONS, _PRODUCE, _END_TXN = 3, 4, 3, 11, 3
"""Newest versions that are used here: one coordinator at a time, and the first version of transactions (KIP-890)."""

_BUSY_S = 0.005
"""Pause before the coordinator is asked again while a transaction ends: that takes some milliseconds."""

_DENIED = frozenset(
    {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
)
_NEVER = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TRANSACTION_TIMEOUT,
    }
)


class TransactionFailed(BrokerError):
    """A step of a transaction failed; without a commit nothing of it is ever seen."""

    def __init__(self, step: str, error: ErrorCode) -> None:
        detail = ": the gateway's account lacks a right" if error in _DENIED else ""
        super().__init__(f"{step}: {error.name}{detail}")
        self.error = error
        self.is_final = error in _DENIED | _NEVER
        """Whether another attempt would fail as well."""


class TransactionalProducer:
    """A producer of one process; another one with the same transactional ID fences it."""

    def __init__(self, topic: UpstreamTopic, transactional_id: str) -> None:
        """Send nothing yet; the topic's leaders must be known before `send`."""
        self._topic, self._id = topic, transactional_id
        self._coordinator: Broker | None = None
        self._producer = NO_PRODUCER
        self._sequence = 0

    async def begin(self) -> bool:
        """Have an epoch of the transactional ID; return whether it is a new one.

        Raises:
            TransactionFailed, BrokerError: the coordinator gave none.
        """
        if self._producer != NO_PRODUCER:
            return False
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        answer = await self._until_idle(request, ApiKey.INIT_PRODUCER_ID, _INIT_PRODUCER_ID)
        self._check("InitProducerId", answer.error_code)
        self._producer, self._sequence = ProducerId(answer.producer_id, answer.producer_epoch), 0
        return True

    def renew(self) -> None:
        """Get a new epoch before the next transaction."""
        self._producer = NO_PRODUCER

    def forget(self) -> None:
        """Get a new epoch, and find the coordinator and the leaders, before the next transaction."""
        self._producer, self._coordinator, self._topic.leaders = NO_PRODUCER, None, {}

    async def send(self, records: Sequence[Record]) -> None:
        """Write records to partition 0, in an open transaction or a new one.

        Raises:
            TransactionFailed, BrokerError: they may be written, but not committed.
        """
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
            name=self._topic.settings.name, partitions=[0]
        )
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._producer.producer_id,
            v3_and_below_producer_epoch=self._producer.producer_epoch,
            v3_and_below_topics=[topic],
        )
        answer = await self._until_idle(request, ApiKey.ADD_PARTITIONS_TO_TXN, _ADD_PARTITIONS)
        for result in answer.results_by_topic_v3_and_below:
            for part in result.results_by_partition:
                self._check("AddPartitionsToTxn", part.partition_error_code)
        for batch in _batches(records):
            await self._produce(batch)

    async def commit(self) -> None:
        """Commit the open transaction.

        Raises:
            TransactionFailed, BrokerError: whether it is committed is not known, until a new epoch was begun.
        """
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.producer_epoch,
            committed=True,
        )
        answer = await self._until_idle(request, ApiKey.END_TXN, _END_TXN)
        self._check("EndTxn", answer.error_code)

    async def _produce(self, records: Sequence[Record]) -> None:
        leader = self._topic.leaders.get(0)
        if leader is None:
            raise BrokerError(f"topic {self._topic.settings.name}: partition 0 has no leader")
        version = leader.newest(ApiKey.PRODUCE, _PRODUCE)
        if version < 3:
            raise self._topic.too_old()
        packed = await asyncio.to_thread(compress, records)
        batch = build_batch(records, packed, self._producer, self._sequence, is_transactional=True)
        part = ProduceRequest.PartitionProduceData(index=0, records=batch)
        data = ProduceRequest.TopicProduceData(name=self._topic.settings.name, partition_data=[part])
        request = ProduceRequest(
            transactional_id=self._id, acks=-1, timeout_ms=self._topic.timeout_ms, topic_data=[data]
        )
        answer = await self._topic.client_of(leader).request(request, version)
        for topic in answer.responses:
            for one in topic.partition_responses:
                self._check("Produce", one.error_code)
        self._sequence += len(records)

    async def _until_idle(self, request: Message, api_key: ApiKey, newest: int) -> Any:
        """Ask the coordinator, again and again while the transaction before is still ending, within the time limit."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self._topic.timeout_ms / 1000
        while True:
            coordinator = await self._find_coordinator()
            version = coordinator.newest(api_key, newest)
            if version < 0:
                raise self._topic.too_old()
            answer = await self._topic.client_of(coordinator).request(request, version)
            if _error_of(answer) != ErrorCode.CONCURRENT_TRANSACTIONS or loop.time() >= until_s:
                return answer
            await asyncio.sleep(_BUSY_S)

    async def _find_coordinator(self) -> Broker:
        if self._coordinator is None:
            broker = self._topic.any_broker()
            request = FindCoordinatorRequest(key=self._id, key_type=_TRANSACTION)
            version = broker.newest(ApiKey.FIND_COORDINATOR, _FIND_COORDINATOR)
            answer = await self._topic.client_of(broker).request(request, version)
            self._check("FindCoordinator", answer.error_code)
            self._coordinator = self._topic.cluster.broker(answer.node_id)
            if self._coordinator is None:
                raise BrokerError(
                    f"the coordinator of {self._id} is broker {answer.node_id}, which is not known"
                )
        return self._coordinator

    def _check(self, step: str, code: int) -> None:
        if code != ErrorCode.NONE:
            raise TransactionFailed(step, ErrorCode(code))


def _error_of(answer: Any) -> int:
    """Return the error of a coordinator's answer, wherever it has it."""
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        for part in topic.results_by_partition:
            return int(part.partition_error_code)
    return int(answer.error_code)


def _batches(records: Sequence[Record]) -> list[list[Record]]:
    """Return records in batches of at most BATCH_BYTES, or of one record."""
    batches: list[list[Record]] = []
    size = 0
    for one in records:
        more = len(one[1] or b"") + len(one[2] or b"")
        if not batches or size + more > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(one)
        size += more
    return batches
