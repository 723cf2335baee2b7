"""Metadata and DescribeTopicPartitions show virtual partitions, each with the leader of its physical one.

A topic that has another number of partitions at the brokers than the configuration says is answered
INVALID_PARTITIONS: it was created past the gateway, or the configuration was changed. Where the configuration has a
ratio the brokers' number is right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.filters.virtual.division import copied, virtual_topics
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeTopicPartitionsResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import DescribeTopicPartitionsRequest, MetadataRequest, MetadataResponse

ENOUGH_FOR_ANY = 2_000
"""Partitions of one page that brokers give at the most by themselves (`max.request.partition.size.limit`), and more
than any topic with virtual partitions has: so a page always has all of one."""

MAX_SHOWN = 100_000
"""Most virtual partitions of one answer, some 20 MiB: `max_partitions` bounds what brokers have, and up to 512 virtual
ones share one of these. Topics beyond are answered INVALID_PARTITIONS."""
LIMIT = "virtual_partitions_shown"
"""What the metrics call `MAX_SHOWN`."""


class MetadataPartitionsFilter:
    """Shows virtual partitions in Metadata."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: MetadataRequest) -> RequestStep:
        """Let no broker create such a topic: it would have the number of partitions that the broker thinks right."""
        virtual = virtual_topics(exchange)
        if exchange.api_version >= CAN_FORBID_CREATION and request.allow_auto_topic_creation:
            for topic in in_steps(request.topics or ()):
                if virtual.map_of_either(topic.name, topic.topic_id) is not None:
                    request.allow_auto_topic_creation = False
                    break
        return FORWARD

    def on_response(self, exchange: Exchange, response: MetadataResponse) -> ResponseStep:
        """Show the virtual partitions."""
        _show(exchange, response.topics)
        return FORWARD


class DescribedPartitionsFilter:
    """Shows virtual partitions in DescribeTopicPartitions: always all of a topic on one page."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeTopicPartitionsRequest) -> RequestStep:
        """Ask for a page that has room for a whole topic."""
        request.response_partition_limit = max(request.response_partition_limit, ENOUGH_FOR_ANY)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: DescribeTopicPartitionsResponse) -> ResponseStep:
        """Show the virtual partitions; leave a topic that is cut off for the next page."""
        cursor = response.next_cursor
        if cursor is not None and cursor.partition_index > 0:
            name = cursor.topic_name
            if virtual_topics(exchange).map_of(name) is not None:
                response.topics = [topic for topic in in_steps(response.topics) if topic.name != name]
                response.next_cursor = DescribeTopicPartitionsResponse.Cursor(
                    topic_name=name, partition_index=0
                )
        _show(exchange, response.topics)
        return FORWARD


def _show(exchange: Exchange, topics: list[Any]) -> None:
    virtual, room = virtual_topics(exchange), MAX_SHOWN
    for topic in in_steps(topics):
        partitions = virtual.map_of(topic.name) if topic.name else None
        if partitions is None:
            continue
        found = None if topic.error_code else partitions.at(len(topic.partitions))
        if found is not None and found.virtual > room:
            virtual.hit(LIMIT)
            found = None
        shown = None if found is None else _virtual(topic, found)
        if shown is None and not topic.error_code:
            topic.error_code = int(ErrorCode.INVALID_PARTITIONS)
        topic.partitions = shown or []
        room -= len(topic.partitions)


def _virtual(topic: Any, partitions: PartitionMap) -> list[Any] | None:
    """Return the virtual partitions; None: the topic has not the physical ones that it should have."""
    physical = {one.partition_index: one for one in in_steps(topic.partitions)}
    if physical.keys() != set(range(partitions.physical)):
        return None
    return [
        copied(physical[partitions.place_of(VirtualPartition(number))[1]], partition_index=number)
        for number in in_steps(range(partitions.virtual))
    ]
