"""Divides a request by groups of virtual partitions, and joins the answers.

Within a group each virtual partition has a physical one of its own, so a part names none twice. Topics without virtual
partitions go with the first group. The parts are of the same API and version, and go to the broker one after the other
(`Exchange.parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bifrost.filters.filter import Exchange, Note
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, PhysicalPartition, VirtualPartition
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Struct
from bifrost.wire.slots import copy_struct
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap

_Struct = TypeVar("_Struct", bound=Struct)

RECORDS_ROUNDS = 1_000
"""For so many rounds of a loop stand the records of a partition: there may be a pause before each."""
NO_PARTITION = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class Shape(NamedTuple):
    """Where a message has its topics and their partitions."""

    topics: str
    name: str
    partitions: str
    number: str | None
    """The number of a partition; None: the list of partitions is one of numbers."""


@dataclass(frozen=True)
class Division:
    """How the requests of an API are divided, and their answers joined."""

    request: Shape
    response: Shape
    new_topic: Callable[[str, bytes], Any]
    """Makes a topic of the answer, with its name and ID, without partitions."""
    refused: Callable[[int, int], Any]
    """Makes a partition of the answer, with its number and an error."""
    rounds: int = 1
    """For how many rounds of a loop a partition stands: those with records take longer than a look at the clock."""


TopicKey = tuple[str, bytes]
"""The name and the ID of a topic, as a message has them; versions have the one or the other."""

Judge = Callable[[Any, "PartitionGroup", TopicKey], int | Struct]
"""Returns the error of a partition of the request, or its whole answer; 0 after it has changed what it must."""


class _Divided(NamedTuple):
    groups: list[PartitionGroup]
    """Of the parts, in their order; the last one is the request that was divided."""
    refused: dict[TopicKey, list[Any]]


_DIVIDED: Note[_Divided] = Note("divided_by_groups")


def copied(struct: _Struct, **changes: Any) -> _Struct:
    """Return a struct with the same fields, but for some."""
    return copy_struct(struct, changes)


def in_one_piece(records: Any) -> bytes | memoryview:
    """Return the records of a partition, which other filters may have left in pieces."""
    if isinstance(records, tuple):
        return records[0] if len(records) == 1 else b"".join(records)
    return records or b""


def virtual_topics(exchange: Exchange) -> VirtualTopics:
    """Return which topics of the client have virtual partitions."""
    found = exchange.scope.virtual
    assert found is not None, "only clients of tenants with virtual partitions have these filters"
    return found


def key_of(topic: Any, shape: Shape) -> TopicKey:
    """Return how a message names a topic."""
    return getattr(topic, shape.name), getattr(topic, "topic_id", ZERO_TOPIC_ID)


def divide(exchange: Exchange, request: Any, division: Division, judge: Judge | None = None) -> bool:
    """Leave one part of a request in it, and put the others into the exchange; return whether partitions were refused.

    The request is left as it is if it names no topic with virtual partitions.
    """
    virtual, shape = virtual_topics(exchange), division.request
    waves: dict[PartitionGroup, list[Any]] = {}
    refused: dict[TopicKey, list[Any]] = {}
    has_virtual, remapped = False, 0
    for topic in in_steps(getattr(request, shape.topics)):
        key = key_of(topic, shape)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            waves.setdefault(FIRST_GROUP, []).append(topic)
            continue
        has_virtual = True
        found = _by_group(topic, partitions, division, judge, refused.setdefault(key, []))
        for group, some in found.items():
            waves.setdefault(group, []).append(copied(topic, **{shape.partitions: some}))
            remapped += len(some)
    if not has_virtual:
        return False
    # Without any there is still a request: filters before this one may have answers to add.
    groups = sorted(waves) or [FIRST_GROUP]
    virtual.count("parts", len(groups) - 1)
    virtual.count("remapped", remapped)
    exchange.parts = [copied(request, **{shape.topics: waves[group]}) for group in groups[:-1]]
    setattr(request, shape.topics, waves.get(groups[-1], []))
    exchange.keep(_DIVIDED, _Divided(groups, refused))
    exchange.wants_response = True
    return any(refused.values())


def _by_group(
    topic: Any, partitions: PartitionMap, division: Division, judge: Judge | None, refused: list[Any]
) -> dict[PartitionGroup, list[Any]]:
    """Return the partitions of a topic with their physical numbers, by group."""
    shape, key = division.request, key_of(topic, division.request)
    found: dict[PartitionGroup, list[Any]] = {}
    for partition in in_steps(getattr(topic, shape.partitions), division.rounds):
        number = partition if shape.number is None else getattr(partition, shape.number)
        if not partitions.has(number):
            refused.append(division.refused(number, NO_PARTITION))
            continue
        group, physical = partitions.place_of(VirtualPartition(number))
        error = 0 if judge is None else judge(partition, group, key)
        if error:
            refused.append(error if isinstance(error, Struct) else division.refused(number, error))
            continue
        if shape.number is not None:
            setattr(partition, shape.number, physical)
        found.setdefault(group, []).append(physical if shape.number is None else partition)
    return found


def join(
    exchange: Exchange,
    response: Any,
    division: Division,
    change: Callable[[Any, PartitionGroup, TopicKey], None] | None = None,
) -> None:
    """Put the answers to all parts into the last one, with virtual partitions; `change` sees each of these."""
    divided = exchange.find(_DIVIDED)
    if divided is None:
        return
    virtual, shape = virtual_topics(exchange), division.response
    joined: dict[TopicKey, Any] = {}
    for group, answer in zip(divided.groups, [*exchange.part_answers, response], strict=True):
        for topic in in_steps(getattr(answer, shape.topics)):
            key = key_of(topic, shape)
            partitions = virtual.map_of_either(*key)
            for partition in in_steps(getattr(topic, shape.partitions) if partitions else ()):
                assert partitions is not None
                assert shape.number is not None, "answers have more than numbers"
                physical = PhysicalPartition(getattr(partition, shape.number))
                setattr(partition, shape.number, partitions.virtual_of(group, physical))
                if change is not None:
                    change(partition, group, key)
            add_topic(joined, topic, shape)
    for key, refused in in_steps(divided.refused.items()):
        if refused:
            topic = division.new_topic(*key)
            setattr(topic, shape.partitions, refused)
            add_topic(joined, topic, shape)
    setattr(response, shape.topics, list(joined.values()))


def add_topic(joined: dict[TopicKey, Any], topic: Any, shape: Shape) -> None:
    """Add the partitions of a topic to those that a part before had of it."""
    known = joined.setdefault(key_of(topic, shape), topic)
    if known is not topic:
        getattr(known, shape.partitions).extend(getattr(topic, shape.partitions))
