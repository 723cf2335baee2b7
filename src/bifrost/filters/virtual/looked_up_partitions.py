"""OffsetForLeaderEpoch and DescribeProducers of virtual partitions.

Offsets are those of the physical partition, so the broker's answers hold: where a leader's records end they end for
each virtual partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import Division, Shape, TopicKey, divide, join
from bifrost.tenancy.virtual_partitions.virtual_batches import of_group
from bifrost.wire.messages import (
    DescribeProducersResponse,
    OffsetForLeaderEpochResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
    from bifrost.wire.entity import Entity
    from bifrost.wire.message import Message

_NO_EPOCH = -1


class DividedFilter:
    """Divides a request, and joins the answers."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def __init__(self, division: Division) -> None:
        """Divide messages of this shape."""
        self._division = division

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Leave one part in the request."""
        divide(exchange, request, self._division)
        return FORWARD

    def on_response(self, exchange: Exchange, response: Message) -> ResponseStep:
        """Add the answers to the others."""
        join(exchange, response, self._division, self._change)
        return FORWARD

    def _change(self, partition: Any, group: PartitionGroup, key: TopicKey) -> None:
        """Change nothing."""


class ProducersFilter(DividedFilter):
    """Shows the producers of a virtual partition, with the IDs that they know.

    A producer of transactions has its own ID in each of those that share a physical partition, so all show it.
    """

    def _change(self, partition: Any, group: PartitionGroup, key: TopicKey) -> None:
        own = []
        for producer in in_steps(partition.active_producers):
            if producer.current_txn_start_offset < 0 and producer.coordinator_epoch < 0:
                producer.producer_id = of_group(producer.producer_id, group)
            if producer.producer_id >= 0:
                own.append(producer)
        partition.active_producers = own


_BY_INDEX = Shape("topics", "name", "partitions", "partition_index")

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
