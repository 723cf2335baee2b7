"""A producer of transactions that sends each request by itself, and virtual partitions that share a physical one."""

from __future__ import annotations

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from support.clients.raw_client import RawClient
from support.clients.record_batches import build_batch
from support.virtual_topics import PHYSICAL

PRODUCE_V1, PRODUCE_V2, ADD, END = 9, 12, 3, 3


class RawProducer:
    """A producer of transactions, request by request."""

    def __init__(self, client: RawClient, topic: str, transactional_id: str) -> None:
        self.client, self.topic, self.transactional_id = client, topic, transactional_id
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Get a new epoch, which aborts what is open."""
        request = InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=60_000)
        for _ in range(200):
            answer = self.client.request(request, 1)
            if not answer.error_code:
                break
        assert not answer.error_code
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def add(self, *partitions: int) -> None:
        """Add partitions to the transaction."""
        new = AddPartitionsToTxnRequest
        request = new(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[new.AddPartitionsToTxnTopic(name=self.topic, partitions=list(partitions))],
        )
        codes = {ErrorCode.CONCURRENT_TRANSACTIONS}
        while ErrorCode.CONCURRENT_TRANSACTIONS in codes:
            (answer,) = self.client.request(request, ADD).results_by_topic_v3_and_below
            codes = {one.partition_error_code for one in answer.results_by_partition}
        assert codes == {0}
        assert [one.partition_index for one in answer.results_by_partition] == list(partitions)

    def send(
        self,
        batches: dict[int, tuple[int, list[bytes]]],
        version: int = PRODUCE_V1,
        client: RawClient | None = None,
    ) -> dict[int, tuple[int, int]]:
        """Send a batch to each partition, from a sequence on; return its error and offset."""
        new = ProduceRequest
        data = [
            new.PartitionProduceData(
                index=partition,
                records=build_batch(
                    values,
                    producer_id=self.producer_id,
                    producer_epoch=self.epoch,
                    base_sequence=sequence,
                    is_transactional=True,
                ),
            )
            for partition, (sequence, values) in batches.items()
        ]
        topics = [new.TopicProduceData(name=self.topic, partition_data=data)]
        request = new(transactional_id=self.transactional_id, acks=-1, timeout_ms=10_000, topic_data=topics)
        (answer,) = (client or self.client).request(request, version).responses
        return {one.index: (one.error_code, one.base_offset) for one in answer.partition_responses}

    def end(self, *, is_commit: bool) -> int:
        """End the transaction; return the error."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=is_commit,
        )
        return int(self.client.request(request, END).error_code)


def sharing(topic: str) -> tuple[int, int]:
    """Return two virtual partitions of one physical."""
    return 0, PHYSICAL[topic.partition("-")[0]]
