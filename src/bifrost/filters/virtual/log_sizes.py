"""DescribeLogDirs: the sizes of physical partitions are those of the virtual ones of the first group."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.offset_owners import call_as_clients_do
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse


class LogDirsOfPartitionsFilter:
    """Lets DescribeLogDirs tell the sizes of physical partitions, as those of the virtual ones of the first group."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeLogDirsRequest) -> RequestStep:
        """Ask for physical partitions."""
        virtual = virtual_topics(exchange)
        for topic in in_steps(request.topics or ()):
            partitions = virtual.map_of(topic.topic)
            if partitions is not None:
                numbers = (number for number in in_steps(topic.partitions) if partitions.has(number))
                topic.partitions = sorted(
                    {partitions.place_of(VirtualPartition(number))[1] for number in numbers}
                )
        # With a ratio none but the first is called as the brokers call it.
        exchange.wants_response = exchange.wants_response or virtual.rules.has_ratio
        return FORWARD

    def on_response(self, exchange: Exchange, response: DescribeLogDirsResponse) -> ResponseStep:
        """Call the partitions as clients do."""
        virtual = virtual_topics(exchange)
        for directory in in_steps(response.results):
            call_as_clients_do(virtual, directory.topics)
        return FORWARD
