"""ListOffsets, OffsetForLeaderEpoch and DescribeProducers of virtual partitions.

Offsets are those of the physical partition, so the broker's answers hold: the earliest offset, the end, and the first
offset from a time on are never behind the first record that the client can have there. Which record of a virtual
partition has the latest timestamp the broker does not know; it is not answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import Division, Judge, Shape, divide, join
from bifrost.tenancy.virtual_partitions.virtual_batches import of_group
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DescribeProducersResponse,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
    from bifrost.wire.entity import Entity
    from bifrost.wire.message import Message

MAX_TIMESTAMP = -3
"""ListOffsetsRequest.MAX_TIMESTAMP."""
_NO_EPOCH = -1


class DividedFilter:
    """Divides a request, and joins the answers."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(self, division: Division, judge: Judge | None = None) -> None:
        """Divide messages of this shape; partitions for which `judge` has an error are answered here."""
        self._division, self._judge = division, judge

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Leave one part in the request."""
        divide(exchange, request, self._division, self._judge)
        return FORWARD

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Add the answers to the others."""
        join(exchange, response, self._division, self._change)
        return FORWARD

    def _change(self, partition: Any, group: PartitionGroup) -> None:
        """Change nothing."""


class ProducersFilter(DividedFilter):
    """Shows the producers of a virtual partition, with the IDs that they know."""

    def _change(self, partition: Any, group: PartitionGroup) -> None:
        own = []
        for producer in in_steps(partition.active_producers):
            producer.producer_id = of_group(producer.producer_id, group)
            if producer.producer_id >= 0:
                own.append(producer)
        partition.active_producers = own


def _judge_time(partition: Any, group: PartitionGroup) -> int:
    # As a broker answers a time that its version does not know (KafkaApis.handleListOffsetRequest).
    return int(ErrorCode.UNSUPPORTED_VERSION) if partition.timestamp == MAX_TIMESTAMP else 0


_BY_INDEX = Shape("topics", "name", "partitions", "partition_index")

LIST_OFFSETS = DividedFilter(
    Division(
        _BY_INDEX,
        _BY_INDEX,
        lambda name, _: ListOffsetsResponse.ListOffsetsTopicResponse(name=name),
        lambda index, error: ListOffsetsResponse.ListOffsetsPartitionResponse(
            partition_index=index, error_code=error, timestamp=-1, offset=-1, leader_epoch=_NO_EPOCH
        ),
    ),
    _judge_time,
)

LEADER_EPOCHS = DividedFilter(
    Division(
        Shape("topics", "topic", "partitions", "partition"),
        Shape("topics", "topic", "partitions", "partition"),
        lambda name, _: OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=name),
        lambda index, error: OffsetForLeaderEpochResponse.EpochEndOffset(
            partition=index, error_code=error, leader_epoch=_NO_EPOCH, end_offset=-1
        ),
    )
)

PRODUCERS = ProducersFilter(
    Division(
        Shape("topics", "name", "partition_indexes", None),
        _BY_INDEX,
        lambda name, _: DescribeProducersResponse.TopicResponse(name=name),
        lambda index, error: DescribeProducersResponse.PartitionResponse(
            partition_index=index, error_code=error, active_producers=[]
        ),
    )
)
