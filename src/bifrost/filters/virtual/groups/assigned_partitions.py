"""ConsumerGroupHeartbeat (KIP-848): a member has virtual partitions, the coordinator physical ones.

    coordinator assigns physical p        ──▶  the member gets all virtual partitions of p
    the member owns any of these          ──▶  the coordinator is told that it owns p
    the member owns none of them          ──▶  p is not named, and is free for another member

A virtual partition lies in one physical partition, and the coordinator gives that to one member at a time, whatever
members join, leave or are fenced. So a virtual partition has at most one member too.

A group cannot have members of both protocols: a member of the classic one has virtual partitions that the leader of the
group has assigned, and the coordinator would take their numbers for physical ones when it converts the group. A member
that would join a classic group with members is answered GROUP_ID_NOT_FOUND, as by a coordinator that may not convert
groups; joined_members.py has the other direction.

Source: GroupMetadataManager.consumerGroupHeartbeat, CurrentAssignmentBuilder.ownsRevokedPartitions,
GroupMetadataManager.getOrMaybeCreateConsumerGroup, ConsumerGroup.fromClassicGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.error_response import error_response
from bifrost.filters.steps import FORWARD, Answer, AtBroker, RequestStep, ResponseStep
from bifrost.filters.virtual.division import virtual_topics
from bifrost.filters.virtual.groups.group_states import classic_group, newer_group, read_members
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

_JOINS = 0
"""The epoch with which a member joins, or joins again after it was fenced."""
_JOIN = "join"

HAS_CLASSIC_MEMBERS = (
    "The group has members of the classic protocol. With virtual partitions a group has members of one protocol: stop "
    "these first, or set group.protocol=classic."
)
TOO_EARLY = "With virtual partitions groups of the newer protocol need brokers from Kafka 3.7 on."
"""Earlier ones do not tell whether a group has members of this protocol."""
TOO_MANY = (
    f"More than {MAX_SHOWN} virtual partitions are assigned to the member: the group needs more members."
)


class AssignedPartitionsFilter:
    """Shows members of the newer protocol virtual partitions, and the coordinator physical ones."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ConsumerGroupHeartbeatRequest) -> RequestStep:
        """Say which physical partitions the member owns a part of; refuse it beside members of the classic protocol."""
        if request.member_epoch == _JOINS:
            met = exchange.met.get(AtBroker)
            if newer_group(exchange, request.group_id) is None:
                return _refused(exchange, request, ErrorCode.UNSUPPORTED_VERSION, TOO_EARLY)
            if not isinstance(met, AtBroker):
                return AtBroker((classic_group(request.group_id),), plan=_JOIN)
            members = read_members(met.answers[0])
            if members.has_any:
                return _refused(exchange, request, ErrorCode.GROUP_ID_NOT_FOUND, HAS_CLASSIC_MEMBERS)
            if members.error_code:
                return _refused(exchange, request, members.error_code)
        virtual = virtual_topics(exchange)
        for topic in in_steps(request.topic_partitions or ()):
            partitions = virtual.map_of_either(None, topic.topic_id)
            if partitions is not None:
                topic.partitions = _owned(partitions, topic.partitions)
        return FORWARD

    def on_response(self, exchange: Exchange, response: ConsumerGroupHeartbeatResponse) -> ResponseStep:
        """Show the member all virtual partitions of those that the coordinator assigns to it."""
        return show_assignment(exchange, response)


def show_assignment(exchange: Exchange, response: Any) -> ResponseStep:
    """Show all virtual partitions of those that the answer to a heartbeat assigns, if it assigns any."""
    if response.assignment is None:
        return FORWARD
    virtual = virtual_topics(exchange)
    room = show_all(virtual, response.assignment.topic_partitions, MAX_SHOWN)
    if room is None:
        virtual.hit(LIMIT)
        response.error_code, response.error_message = int(ErrorCode.INVALID_REQUEST), TOO_MANY
        response.assignment = None
    return FORWARD


def show_all(virtual: VirtualTopics, topics: list[Any], room: int) -> int | None:
    """Replace physical partitions by all virtual partitions that are parts of them.

    A physical partition that the topic must not have, because it was created past the gateway, is left out: Metadata
    does not show it either.

    Args:
        virtual: the topics of the client.
        topics: with the ID of each, in an assignment.
        room: how many virtual partitions may be shown.
    Returns:
        How many may be shown after these; None: they are too many, and the topics are to be dropped.
    """
    for topic in in_steps(topics):
        partitions = virtual.map_of_either(None, topic.topic_id)
        if partitions is None:
            continue
        shown: list[int] = []
        for number in in_steps(topic.partitions):
            if 0 <= number < partitions.physical:
                some = partitions.all_of(PhysicalPartition(number))
                room -= len(some)
                if room < 0:
                    return None
                shown.extend(some)
        topic.partitions = shown
    return room


def _owned(partitions: PartitionMap, numbers: list[int]) -> list[int]:
    """Return the physical partitions that these virtual ones are parts of, each once.

    A number that no virtual partition has is no physical partition either: it stays, and the coordinator does not know
    it.
    """
    found: dict[int, None] = {}
    for number in in_steps(numbers):
        has = partitions.has(number)
        found[partitions.place_of(VirtualPartition(number))[1] if has else number] = None
    return list(found)


def _refused(
    exchange: Exchange, request: ConsumerGroupHeartbeatRequest, error: ErrorCode, text: str | None = None
) -> Answer:
    answer = error_response(request, exchange.api_version, error, message=text)
    assert answer is not None, "the answer to a heartbeat has a place for an error"
    return Answer(answer)
