"""A topic of an upstream without a broker: it answers a producer as a test wants."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from gzip import decompress
from types import SimpleNamespace
from typing import Any

from bifrost.filters.api_versions import offered_versions
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import ProducerIdDenied, TopicMissing, TopicSettings
from bifrost.records.record_batch import ProducerId
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest, ProduceResponse
from support.stage.stage import broker_versions

BROKER = Broker(1, "kafka.example", 9092, offered_versions(broker_versions()))
Answer = ErrorCode | BrokerError


class FakeTopic:
    """Stands for an `UpstreamTopic` whose leader gives these answers, one for each batch, and then only NONE."""

    def __init__(
        self, answers: Iterable[Answer] = (), *, partitions: int = 1, is_idempotent: bool = True
    ) -> None:
        self.answers = deque(answers)
        self.settings = TopicSettings("__bifrost_journal", partitions, 1, {}, origin="proxy.journal")
        self.missing = 0
        """How often the topic will not be found."""
        self.partition_count = partitions
        self.leaders: dict[int, Broker] = {}
        self.producers = 0
        self.is_idempotent = is_idempotent
        self.batches: list[tuple[int, int, int, int]] = []
        """Of each that came: partition, producer ID, base sequence, records."""
        self.taken: list[dict[str, Any]] = []

    async def find(self) -> None:
        if self.missing:
            self.missing -= 1
            raise TopicMissing(self.settings.name, BROKER.node_id)
        self.leaders = dict.fromkeys(range(self.partition_count), BROKER)

    async def create(self, controller_id: int) -> bool:
        assert controller_id == BROKER.node_id
        return True

    async def new_producer(self) -> ProducerId:
        self.producers += 1
        if not self.is_idempotent:
            raise ProducerIdDenied(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return ProducerId(100 + self.producers, 0)

    def client_of(self, broker: Broker) -> Any:
        assert broker is BROKER
        return SimpleNamespace(request=self.request)

    async def request(self, message: ProduceRequest, version: int) -> ProduceResponse:
        assert (message.acks, version) == (-1, 12)
        results = []
        for part in message.topic_data[0].partition_data:
            batch = bytes(part.records)
            answer = self.answers.popleft() if self.answers else ErrorCode.NONE
            if isinstance(answer, BrokerError):
                raise answer
            count = int.from_bytes(batch[57:61], "big")
            producer_id, sequence = (
                int.from_bytes(batch[a:b], "big", signed=True) for a, b in ((43, 51), (53, 57))
            )
            self.batches.append((part.index, producer_id, sequence, count))
            if answer in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.taken += list(_values(decompress(batch[61:])))
            results.append(ProduceResponse.PartitionProduceResponse(index=part.index, error_code=answer))
        named = ProduceResponse.TopicProduceResponse(name=self.settings.name, partition_responses=results)
        return ProduceResponse(responses=[named])


def _values(records: bytes) -> Iterable[dict[str, Any]]:
    decoder, text = json.JSONDecoder(), records.decode("latin-1")
    at = text.find("{")
    while at >= 0:
        value, end = decoder.raw_decode(text, at)
        yield value
        at = text.find("{", end)
