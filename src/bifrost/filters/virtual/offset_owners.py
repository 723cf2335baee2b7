"""Which offset group has the offsets of which virtual partitions, and whether a member may still commit to it.

An offset group (tenancy/virtual_partitions/offset_groups.py) has no members, so its coordinator cannot see that a
member was fenced. The gateway asks first: for a member of a generation by a Heartbeat, which the coordinator judges as
it judges a commit; for a commit from outside of a generation, such as a tool's, whether the group has members.

Source: ClassicGroup.validateOffsetCommit, ClassicGroup.validateOffsetDelete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters.virtual.division import virtual_topics
from bifrost.tenancy.names import VirtualGroup
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PhysicalPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeGroupsRequest, HeartbeatRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
    from bifrost.wire.message import Message

MAX_OFFSET_GROUPS = 10_000
"""Most offset groups that a request for consumer groups brings with it, as many as a DeleteGroups may name; a request
that would need more is refused. Each costs the coordinator what a consumer group does."""
OWNER_ROUNDS = 16
"""For so many rounds of a loop stands the name of an offset group, which takes some 15 us to make."""
MAX_NAMES = 1024 * 1024
"""Most characters of their names, a hundred for each of as many groups: a name of 32 KiB would be written 127 times,
and 4 MiB of names keep a broker for 100 ms."""
LIMIT = "virtual_offset_groups"
"""What the metrics call both."""

_HEARTBEAT_VERSION, _DESCRIBE_VERSION = 3, 4
"""With static members (KIP-345), which brokers have from 2.3 on; before the versions with tagged fields."""

_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
_PASSING = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})
"""What a Heartbeat tells a member of the current generation. While its group prepares the next one it may commit."""


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


def fence(
    group_id: str, generation_id: int, member_id: str, group_instance_id: str | None
) -> tuple[Message, int]:
    """Return the request, with its version, that shows whether a member may commit."""
    if generation_id < 0:
        return DescribeGroupsRequest(groups=[group_id]), _DESCRIBE_VERSION
    request = HeartbeatRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
    )
    return request, _HEARTBEAT_VERSION


def fenced(answer: Any, if_it_has_members: ErrorCode) -> int:
    """Return the error of a commit by the answer to `fence`, or 0.

    Args:
        answer: of the coordinator.
        if_it_has_members: the error for a request from outside of a generation.
    """
    groups = getattr(answer, "groups", None)
    if groups is None:
        return 0 if answer.error_code in _PASSING else int(answer.error_code)
    if not groups:
        return int(ErrorCode.GROUP_ID_NOT_FOUND)
    group = groups[0]
    if group.error_code not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
        return int(group.error_code)
    return 0 if group.error_code or group.group_state in _WITHOUT_MEMBERS else int(if_it_has_members)
