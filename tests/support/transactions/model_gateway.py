"""Gateways before the model of a broker: their filters are the real ones, and their connections may die at any time.

A client's connection has one to the broker, which works on its requests in their order. What is on its way to the
broker when a connection ends arrives later, at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.division import Shape
from bifrost.filters.virtual.transactions import transactional_batches
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
from bifrost.tenancy.virtual_partitions.transaction_numbers import TransactionNumbers
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from support.transactions.model_broker import ModelBroker

SHAPE = Shape("topic_data", "name", "partition_data", "index")
TOPIC = "orders"
GROUPS = 3
PRODUCER_ID = 7
BUSY, AWAY, TIMED_OUT = (
    int(ErrorCode.CONCURRENT_TRANSACTIONS),
    int(ErrorCode.NOT_LEADER_OR_FOLLOWER),
    int(ErrorCode.REQUEST_TIMED_OUT),
)


class Sent(NamedTuple):
    """A batch of the client."""

    group: int
    first: int
    count: int
    records: bytes


class OnItsWay(NamedTuple):
    """What a connection does next, in its order; None: there is nothing for the broker."""

    request: Any
    take: Callable[[Any], None]


class ModelGateway:
    """One process."""

    def __init__(self, seed: Random) -> None:
        """Know nothing of any producer."""
        self.random, self.numbers = seed, TransactionNumbers()


class ModelConnection:
    """One of a client, and the one to the broker that belongs to it."""

    def __init__(self, gateway: ModelGateway, version: int) -> None:
        """Open it; the client uses this version of Produce."""
        self.version, self.is_open, self.has_client = version, True, True
        self.answers: list[tuple[Sent, int]] = []
        """What the client is told, in order."""
        self.on_its_way: deque[OnItsWay] = deque()
        self._requests: deque[Sent] = deque()
        self._met: AtBroker | None = None
        self._is_asking = False
        self._scope = SimpleNamespace(
            producer=self,
            namespace=SimpleNamespace(
                new_id=lambda: gateway.random.randbytes(16),
                names=SimpleNamespace(physical_topic=lambda name: b"__" + name),
                topic_of=lambda _: TOPIC,
            ),
            virtual=SimpleNamespace(
                numbers=gateway.numbers,
                map_of_either=lambda *_: PartitionMap(GROUPS, 1),
                count=lambda *_: None,
                hit=lambda *_: None,
            ),
        )

    def send(self, batch: Sent) -> None:
        """Take a request of the client."""
        self._requests.append(batch)
        self.decide()

    def decide(self) -> None:
        """Decide about all requests that need not wait."""
        while self._requests and not self._is_asking:
            batch = self._requests[0]
            exchange: Any = Exchange(int(ApiKey.PRODUCE), self.version, self._scope)  # type: ignore[arg-type]
            exchange.met = {AtBroker: self._met} if self._met is not None else {}
            new = ProduceRequest
            data = new.PartitionProduceData(index=batch.group, records=batch.records)
            request = new(
                transactional_id="txn",
                acks=-1,
                timeout_ms=1,
                topic_data=[new.TopicProduceData(name=TOPIC, partition_data=[data])],
            )
            need = transactional_batches.look_at(exchange, request, SHAPE)
            if need is not None:
                self._is_asking = True
                self.on_its_way.append(OnItsWay(need.requests[0][0], self._taker(need)))
                return
            self._requests.popleft()
            self._met = None
            (topic,) = request.topic_data
            key = topic.name, topic.topic_id
            code = transactional_batches.judge(exchange, data, PartitionGroup(batch.group), key, 0)
            if code:
                self.on_its_way.append(OnItsWay(None, self._teller(batch, code)))
            else:
                records: Any = data.records
                sent = records if isinstance(records, bytes) else b"".join(records)
                self.on_its_way.append(OnItsWay(sent, self._answerer(batch, exchange, key)))

    def _taker(self, need: AtBroker) -> Callable[[Any], None]:
        def take(answer: Any) -> None:
            self._met = AtBroker(need.requests, need.plan, (answer,))
            self._is_asking = False
            self.decide()

        return take

    def _teller(self, batch: Sent, code: int) -> Callable[[Any], None]:
        return lambda _: self.answers.append((batch, code))

    def _answerer(self, batch: Sent, exchange: Any, key: Any) -> Callable[[Any], None]:
        def take(answer: Any) -> None:
            part = ProduceResponse.PartitionProduceResponse(
                index=batch.group, error_code=answer[0], base_offset=answer[1], log_append_time_ms=-1
            )
            transactional_batches.take_answer(exchange, part, key)
            self.answers.append((batch, part.error_code))

        return take


def deliver(broker: ModelBroker, connection: ModelConnection, fault: float) -> None:
    """Let the broker work on what is first on a connection; a fault below 0.2 is one."""
    request, take = connection.on_its_way.popleft()
    answer = None if request is None else _answer(broker, request, fault)
    if connection.is_open:
        take(answer)


def _answer(broker: ModelBroker, request: Any, fault: float) -> Any:
    if isinstance(request, bytes):
        return _append(broker, request, fault)
    if isinstance(request, DescribeProducersRequest):
        new = DescribeProducersResponse
        active = new.ProducerState(
            producer_id=PRODUCER_ID,
            producer_epoch=broker.known_epoch,
            last_sequence=broker.last_sequence,
            current_txn_start_offset=broker.transaction_start,
        )
        known = [active] if broker.known_epoch >= 0 else []
        part = new.PartitionResponse(partition_index=0, active_producers=known)
        return new(topics=[new.TopicResponse(name=TOPIC, partitions=[part])])
    if isinstance(request, FetchRequest):
        offset = request.topics[0].partitions[0].fetch_offset
        stored = broker.log[offset].records if offset < len(broker.log) and fault > 0.1 else b""
        data = FetchResponse.PartitionData(partition_index=0, records=stored)
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic=TOPIC, partitions=[data])])
    (claim,) = request.topic_data[0].partition_data
    code, offset = _append(broker, claim.records, fault)
    told = ProduceResponse.PartitionProduceResponse(index=0, error_code=code, base_offset=offset)
    return ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name=TOPIC, partition_responses=[told])]
    )


def _append(broker: ModelBroker, records: bytes, fault: float) -> tuple[int, int]:
    if fault < 0.1:
        return BUSY, -1
    if fault < 0.15:
        return AWAY, -1
    code, offset = broker.append(records)
    return (TIMED_OUT, -1) if fault < 0.2 and not code else (code, offset)
