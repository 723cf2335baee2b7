"""Which offset group has the offsets of which virtual partitions (tenancy/virtual_partitions/offset_groups.py).

Whether a member may still commit to it, say the questions of groups/commit_fences.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters.virtual.division import virtual_topics
from bifrost.tenancy.names import VirtualGroup
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PhysicalPartition
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup

MAX_OFFSET_GROUPS = 10_000
"""Most offset groups that a request for consumer groups brings with it, as many as a DeleteGroups may name; a request
that would need more is refused. Each costs the coordinator what a consumer group does."""
OWNER_ROUNDS = 16
"""For so many rounds of a loop stands the name of an offset group, which takes some 15 us to make."""
MAX_NAMES = 1024 * 1024
"""Most characters of their names, a hundred for each of as many groups: a name of 32 KiB would be written 511 times,
and 4 MiB of names keep a broker for 100 ms."""
LIMIT = "virtual_offset_groups"
"""What the metrics call both."""


def owner_of(exchange: Exchange, group_id: str, group: PartitionGroup) -> str:
    """Return the virtual ID of the consumer group that has the offsets of a group of partitions."""
    physical = exchange.scope.namespace.names.physical_group(VirtualGroup(group_id.encode()))
    return offset_group(group_id, physical.decode(), group)


def call_as_clients_do(virtual: VirtualTopics, topics: list[Any]) -> None:
    """Give the partitions whose offsets the consumer group itself has the numbers that clients know, in an answer."""
    for topic in in_steps(topics):
        partitions = virtual.map_of_either(topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID))
        for one in in_steps(topic.partitions if partitions is not None else ()):
            assert partitions is not None
            physical = PhysicalPartition(one.partition_index)
            one.partition_index = partitions.virtual_of(FIRST_GROUP, physical)


def are_too_many(exchange: Exchange, group_ids: Iterable[str]) -> bool:
    """Whether a request for consumer groups would bring more offset groups with it than one may; that is counted."""
    virtual, count, length = virtual_topics(exchange), 0, 0
    for group_id in group_ids:
        count += virtual.rules.groups - 1
        length += (virtual.rules.groups - 1) * len(group_id)
    if count <= MAX_OFFSET_GROUPS and length <= MAX_NAMES:
        return False
    virtual.hit(LIMIT)
    return True
