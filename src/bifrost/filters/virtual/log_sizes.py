"""DescribeLogDirs: a virtual partition has its share of the size of its physical one.

    physical 0, 100 bytes     virtual 0, 34 bytes     4, 33 bytes     8, 33 bytes

Brokers do not know how many bytes of a log each virtual partition has written; only the whole log would tell. So the
shares are equal, and the first ones have what is left over: together they are what the brokers store. The lag of a
replica, and whether it is one to come, are those of the physical partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import copied, virtual_topics
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import DescribeLogDirsRequest, DescribeLogDirsResponse

_ASKED: Note[dict[str, set[int]]] = Note("asked_log_sizes")
"""The virtual partitions that a client asks for, by topic; there is none if it asks for all."""


class LogDirsOfPartitionsFilter:
    """Shows the replicas of virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeLogDirsRequest) -> RequestStep:
        """Ask for physical partitions."""
        virtual, exchange.wants_response = virtual_topics(exchange), True
        if request.topics is None:
            return FORWARD
        asked: dict[str, set[int]] = {}
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.topic)
            if partitions is None:
                continue
            own = {number for number in in_steps(topic.partitions) if partitions.has(number)}
            asked.setdefault(topic.topic, set()).update(own)
            physical = {partitions.place_of(VirtualPartition(number))[1] for number in in_steps(own)}
            topic.partitions = sorted(physical)
        exchange.keep(_ASKED, asked)
        return FORWARD

    def on_response(self, exchange: Exchange, response: DescribeLogDirsResponse) -> ResponseStep:
        """Show the virtual partitions that the client has asked for."""
        virtual, asked, room = virtual_topics(exchange), exchange.find(_ASKED), MAX_SHOWN
        for directory in in_steps(response.results):
            for topic in in_steps(directory.topics):
                partitions = virtual.map_of(topic.name)
                if partitions is None:
                    continue
                wanted = None if asked is None else asked.get(topic.name, set())
                is_whole = wanted is None and len(topic.partitions) * partitions.groups > room
                if is_whole:
                    virtual.hit(LIMIT)
                topic.partitions = _shares(topic.partitions, partitions, wanted, is_whole=is_whole)
                room -= 0 if is_whole else len(topic.partitions)
            directory.topics = [topic for topic in in_steps(directory.topics) if topic.partitions]
        return FORWARD


def _shares(given: Any, partitions: PartitionMap, wanted: set[int] | None, *, is_whole: bool) -> list[Any]:
    """Return replicas of virtual partitions in place of those of physical ones.

    Args:
        given: the replicas of a topic that the broker has in a directory.
        partitions: of the topic.
        wanted: those that are shown; None: all.
        is_whole: whether the first one of each physical partition has its whole size, and no other is shown.
    """
    shown = []
    for one in in_steps(given):
        number = one.partition_index
        # What the brokers have beyond the configuration is no virtual partition's.
        own = partitions.all_of(PhysicalPartition(number)) if number < partitions.physical else range(0)
        if is_whole:
            own = own[:1]
        size, left = divmod(one.partition_size, max(1, len(own)))
        shown += [
            copied(one, partition_index=each, partition_size=size + (place < left))
            for place, each in enumerate(in_steps(own))
            if wanted is None or each in wanted
        ]
    return shown
