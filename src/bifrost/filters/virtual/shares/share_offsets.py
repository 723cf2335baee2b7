"""Where share groups are in virtual partitions: DescribeShareGroupOffsets and AlterShareGroupOffsets (KIP-932).

A group has one start in a physical partition, for all that lies there:

    DescribeShareGroupOffsets   each virtual partition has the start of its physical one; the lag is known for the
                                physical one alone, and shown with that of the first group
    AlterShareGroupOffsets      the start is the lowest offset given for the virtual partitions of a physical one, all
                                of which have to be named: so nothing is skipped that one of them shall have

Source: GroupCoordinatorService.describeShareGroupOffsets and alterShareGroupOffsets, KIP-1226.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.filter import Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, copied, virtual_topics
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PhysicalPartition, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponse,
)
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import DescribeShareGroupOffsetsRequest

_UNKNOWN = -1
"""A lag, or an offset, that the coordinator does not know."""
TOO_MANY = f"The groups are in more than {MAX_SHOWN} virtual partitions: ask for fewer groups or topics."
NOT_ALL = (
    "The start of a share group in a virtual partition is that in all which share a physical one: name all of them, "
    "{}."
)

_NAMED: Note[dict[tuple[str, str], list[int]]] = Note("described_virtual_partitions")
"""The virtual partitions that a request names, by group and topic."""


class DescribedShareOffsetsFilter:
    """Shows where groups are in virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeShareGroupOffsetsRequest) -> RequestStep:
        """Ask for physical partitions."""
        virtual, named = virtual_topics(exchange), dict[tuple[str, str], list[int]]()
        for group in in_steps(request.groups):
            for topic in in_steps(group.topics or ()):
                partitions = virtual.map_of(topic.topic_name)
                if partitions is not None:
                    named[group.group_id, topic.topic_name] = topic.partitions
                    topic.partitions = _physical(partitions, topic.partitions)
        exchange.keep(_NAMED, named)
        exchange.wants_response = exchange.wants_response or bool(named)
        return FORWARD

    def on_response(self, exchange: Exchange, response: DescribeShareGroupOffsetsResponse) -> ResponseStep:
        """Show virtual partitions: those that were named, or all."""
        virtual, named, room = virtual_topics(exchange), exchange.find(_NAMED) or {}, MAX_SHOWN
        for group in in_steps(response.groups):
            for topic in in_steps(group.topics):
                partitions = virtual.map_of(topic.topic_name)
                if partitions is not None:
                    wanted = named.get((group.group_id, topic.topic_name))
                    topic.partitions = _described(partitions, topic.partitions, wanted, room)
                    room -= len(topic.partitions)
                if room < 0:
                    virtual.hit(LIMIT)
                    group.error_code, group.error_message = int(ErrorCode.INVALID_REQUEST), TOO_MANY
                    group.topics = []
                    break
        return FORWARD


def _physical(partitions: PartitionMap, numbers: list[int]) -> list[int]:
    return sorted(
        {
            partitions.place_of(VirtualPartition(number))[1]
            for number in in_steps(numbers)
            if partitions.has(number)
        }
    )


def _described(
    partitions: PartitionMap, described: list[Any], wanted: list[int] | None, room: int
) -> list[Any]:
    """Return virtual partitions, at most one more than there is room for."""
    shown: list[Any] = []
    asked = None if wanted is None else frozenset(wanted)
    for one in in_steps(described):
        for number in partitions.all_of(PhysicalPartition(one.partition_index)):
            if asked is not None and number not in asked:
                continue
            is_first = partitions.place_of(VirtualPartition(number))[0] == FIRST_GROUP
            shown.append(copied(one, partition_index=number, lag=one.lag if is_first else _UNKNOWN))
            if len(shown) > room:
                return shown
    for number in in_steps(wanted or ()):
        if not partitions.has(number):
            new = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
            error = ErrorCode(NO_PARTITION)
            shown.append(
                new(
                    partition_index=number,
                    start_offset=_UNKNOWN,
                    lag=_UNKNOWN,
                    error_code=int(error),
                    error_message=error.message,
                )
            )
    return shown


class _Altered(NamedTuple):
    """What a request names of a topic with virtual partitions."""

    partitions: PartitionMap
    offsets: dict[PhysicalPartition, dict[int, int]]
    """The offset of each virtual partition, by physical partition."""
    refused: dict[int, tuple[ErrorCode, str]]


_ALTERED: Note[dict[str, _Altered]] = Note("altered_virtual_partitions")


class AlteredShareOffsetsFilter:
    """Sets where groups begin in virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: AlterShareGroupOffsetsRequest) -> RequestStep:
        """Set the start in physical partitions of which all virtual ones are named."""
        virtual, altered, topics = virtual_topics(exchange), dict[str, _Altered](), list[Any]()
        for topic in in_steps(request.topics):
            partitions = virtual.map_of(topic.topic_name)
            if partitions is None:
                topics.append(topic)
                continue
            found = altered.setdefault(topic.topic_name, _Altered(partitions, {}, {}))
            for one in in_steps(topic.partitions):
                _take(found, one.partition_index, one.start_offset)
        new = AlterShareGroupOffsetsRequest
        for name, found in in_steps(altered.items()):
            _refuse_parts(found)
            made = [
                new.AlterShareGroupOffsetsRequestPartition(
                    partition_index=physical, start_offset=min(offsets.values())
                )
                for physical, offsets in in_steps(found.offsets.items())
            ]
            topics.append(new.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=made))
        if altered:
            request.topics = topics
            exchange.keep(_ALTERED, altered)
            exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: AlterShareGroupOffsetsResponse) -> ResponseStep:
        """Answer for each virtual partition that was named."""
        altered = exchange.find(_ALTERED)
        if altered is None or response.error_code:
            return FORWARD
        new = AlterShareGroupOffsetsResponse
        known = {topic.topic_name: topic for topic in in_steps(response.responses)}
        for name, found in in_steps(altered.items()):
            topic = known.get(name)
            if topic is None:
                topic = new.AlterShareGroupOffsetsResponseTopic(topic_name=name)
                response.responses.append(topic)
            topic.partitions = [
                copied(one, partition_index=number)
                for one in in_steps(topic.partitions)
                for number in found.offsets.get(PhysicalPartition(one.partition_index), ())
            ]
            topic.partitions += [
                new.AlterShareGroupOffsetsResponsePartition(
                    partition_index=number, error_code=int(code), error_message=text
                )
                for number, (code, text) in in_steps(found.refused.items())
            ]
        return FORWARD


def _take(found: _Altered, number: int, offset: int) -> None:
    if found.partitions.has(number):
        physical = found.partitions.place_of(VirtualPartition(number))[1]
        found.offsets.setdefault(physical, {})[number] = offset
    else:
        error = ErrorCode(NO_PARTITION)
        found.refused[number] = error, error.message


def _refuse_parts(found: _Altered) -> None:
    """Refuse the virtual partitions of physical ones of which others are not named."""
    for physical, offsets in list(in_steps(found.offsets.items())):
        all_ = found.partitions.all_of(physical)
        if len(offsets) < len(all_):
            text = NOT_ALL.format(", ".join(map(str, all_)))
            del found.offsets[physical]
            found.refused.update(dict.fromkeys(offsets, (ErrorCode.POLICY_VIOLATION, text)))
