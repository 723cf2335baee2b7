"""OffsetFetch of virtual partitions: the offsets of all groups of partitions, from their offset groups.

From version 8 on a request asks for several consumer groups; the offset groups are added to them. An older one is
divided into one for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.error_response import error_response
from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import FORWARD, Answer, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, TopicKey, copied, virtual_topics
from bifrost.filters.virtual.offset_owners import (
    OWNER_ROUNDS,
    are_too_many,
    call_as_clients_do,
    owner_of,
)
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.commit_stamps import without_stamp
from bifrost.tenancy.virtual_partitions.partition_map import (
    FIRST_GROUP,
    PartitionGroup,
    PhysicalPartition,
    VirtualPartition,
)
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import OffsetFetchRequest, OffsetFetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.wire.entity import Entity

SEVERAL_GROUPS = 8
"""The first version of OffsetFetch that asks for several consumer groups (KIP-709)."""


class _Owner(NamedTuple):
    """An offset group that is asked for."""

    group_id: str
    """The consumer group whose offsets it has."""
    group: PartitionGroup


class _Asked:
    """What was added to a request."""

    __slots__ = ("owners", "parts", "refused")

    def __init__(self) -> None:
        self.owners: dict[str, _Owner] = {}
        """By the IDs of offset groups."""
        self.parts: list[_Owner] = []
        """Those that have a request of their own, in their order."""
        self.refused: dict[str, dict[TopicKey, list[int]]] = {}
        """Partitions that there are not, by consumer group and topic."""


_ASKED: Note[_Asked] = Note("asked_offset_groups")


class FetchedOffsetsFilter:
    """Shows the committed offsets of virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: OffsetFetchRequest) -> RequestStep:
        """Ask for the offset groups as well."""
        if are_too_many(exchange, (one.group_id for one in in_steps(request.groups))):
            code = ErrorCode.INVALID_REQUEST
            refusal = error_response(request, exchange.api_version, code, each=in_steps)
            assert refusal is not None, "an answer has a place for the error of each group"
            return Answer(refusal)
        asked = _Asked()
        if exchange.api_version >= SEVERAL_GROUPS:
            added = []
            for group in in_steps(request.groups):
                for number, topics in in_steps(
                    _elsewhere(exchange, asked, group.group_id, group).items(), OWNER_ROUNDS
                ):
                    owner = owner_of(exchange, group.group_id, number)
                    asked.owners[owner] = _Owner(group.group_id, number)
                    added.append(
                        copied(group, group_id=owner, member_id=None, member_epoch=-1, topics=topics)
                    )
            request.groups += added
            exchange.more_groups = len(added)
        else:
            for number, topics in _elsewhere(exchange, asked, request.group_id, request).items():
                owner = owner_of(exchange, request.group_id, number)
                exchange.parts = (*exchange.parts, copied(request, group_id=owner, topics=topics))
                asked.parts.append(_Owner(request.group_id, number))
            exchange.more_groups = len(asked.parts)
        exchange.keep(_ASKED, asked)
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: OffsetFetchResponse) -> ResponseStep:
        """Put what the offset groups have where clients look for it."""
        asked, virtual = exchange.kept(_ASKED), virtual_topics(exchange)
        if exchange.api_version >= SEVERAL_GROUPS:
            own = {one.group_id: one for one in in_steps(response.groups) if one.group_id not in asked.owners}
            for group in own.values():
                call_as_clients_do(virtual, group.topics)
            for one in in_steps(response.groups):
                owner = asked.owners.get(one.group_id)
                if owner is not None and owner.group_id in own and not own[owner.group_id].error_code:
                    _merge(virtual, own[owner.group_id], one, owner.group)
            response.groups = list(own.values())
            for group_id, group in own.items():
                _note_moves(virtual, group.topics)
                if group.error_code:
                    # Such as that of a member whose epoch is over: a coordinator tells no offsets with it.
                    group.topics = []
                    continue
                _add_refused(
                    group,
                    asked.refused.get(group_id, {}),
                    OffsetFetchResponse.OffsetFetchResponseTopics,
                    OffsetFetchResponse.OffsetFetchResponsePartitions,
                )
        else:
            call_as_clients_do(virtual, response.topics)
            for owner, answer in zip(asked.parts, exchange.part_answers, strict=True):
                _merge(virtual, response, answer, owner.group)
            _note_moves(virtual, response.topics)
            for refused in asked.refused.values():
                _add_refused(
                    response,
                    refused,
                    OffsetFetchResponse.OffsetFetchResponseTopic,
                    OffsetFetchResponse.OffsetFetchResponsePartition,
                )
        return FORWARD


def _elsewhere(
    exchange: Exchange, asked: _Asked, group_id: str, request: Any
) -> dict[PartitionGroup, list[Any] | None]:
    """Take the partitions whose offsets are elsewhere out of a request for a consumer group; return them by group.

    None stands for all topics.
    """
    virtual = virtual_topics(exchange)
    if request.topics is None:
        return {PartitionGroup(number): None for number in range(1, virtual.rules.groups)}
    found: dict[PartitionGroup, list[Any] | None] = {}
    for topic in in_steps(request.topics):
        key = topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            continue
        by_group: dict[PartitionGroup, list[int]] = {}
        for number in in_steps(topic.partition_indexes):
            if not partitions.has(number):
                asked.refused.setdefault(group_id, {}).setdefault(key, []).append(number)
                continue
            group, physical = partitions.place_of(VirtualPartition(number))
            by_group.setdefault(group, []).append(physical)
        topic.partition_indexes = by_group.pop(FIRST_GROUP, [])
        for group, some in by_group.items():
            topics = found.setdefault(group, [])
            assert topics is not None
            topics.append(copied(topic, partition_indexes=some))
    request.topics = [topic for topic in in_steps(request.topics) if topic.partition_indexes]
    return found


def _merge(virtual: VirtualTopics, own: Any, other: Any, group: PartitionGroup) -> None:
    """Add what an offset group has to the answer about its consumer group."""
    if other.error_code and other.error_code != ErrorCode.GROUP_ID_NOT_FOUND:
        own.error_code = own.error_code or other.error_code
    topics = {(one.name, getattr(one, "topic_id", ZERO_TOPIC_ID)): one for one in in_steps(own.topics)}
    for topic in in_steps(other.topics):
        key = topic.name, getattr(topic, "topic_id", ZERO_TOPIC_ID)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            continue
        shown = []
        for partition in in_steps(topic.partitions):
            number = partitions.virtual_of(group, PhysicalPartition(partition.partition_index))
            if partitions.has(number):
                partition.partition_index = number
                partition.metadata = without_stamp(partition.metadata)
                shown.append(partition)
        topic.partitions = shown
        known = topics.setdefault(key, topic)
        if known is topic:
            own.topics.append(topic)
        else:
            known.partitions.extend(shown)


def _note_moves(virtual: VirtualTopics, topics: Any) -> None:
    """Note where consumers were moved: a gateway may have been killed before it has told the others of a commit."""
    for key, number, offset in virtual.moves(topics):
        virtual.note_moved(key, number, offset)


def _add_refused(own: Any, refused: dict[TopicKey, list[int]], new_topic: Any, new_partition: Any) -> None:
    topics = {(one.name, getattr(one, "topic_id", ZERO_TOPIC_ID)): one for one in in_steps(own.topics)}
    for key, numbers in refused.items():
        topic = topics.get(key)
        if topic is None:
            topic = (
                new_topic(name=key[0]) if key[1] == ZERO_TOPIC_ID else new_topic(name=key[0], topic_id=key[1])
            )
            own.topics.append(topic)
        topic.partitions.extend(
            new_partition(partition_index=number, committed_offset=-1, metadata="", error_code=NO_PARTITION)
            for number in in_steps(numbers)
        )
