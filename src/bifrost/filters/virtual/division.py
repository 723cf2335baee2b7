"""Divides a request whose virtual partitions share physical ones, and joins the answers.

A part names a physical partition once. Of the virtual partitions of a physical one that a request names, that of the
lowest group is in the first part, the next one in the second, and so on, as on the compiled way (partition_way.pyx);
topics without virtual partitions are in the first. The parts are of the same API and version, and go to the broker one
after the other (`Exchange.parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bifrost.filters.filter import Exchange, Note
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
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
SEND_AGAIN = int(ErrorCode.NOT_ENOUGH_REPLICAS)
"""The error with which producers send a batch again, without asking for metadata first."""
MAX_PARTS = 128
"""Most requests that a Produce may become: each is awaited by itself, and a client may have a hundred such requests
under way. Beyond them producers send batches again."""
PARTS_LIMIT = "virtual_partition_parts"
"""What the metrics call it."""


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


_Place = tuple[bytes, PhysicalPartition]
"""A physical topic and one of its partitions: topics with several names have one."""
_Kept = tuple[_Place, "PartitionGroup", Any]
"""A partition of the request with its physical number, and where it goes."""


class _Divided(NamedTuple):
    groups: dict[_Place, tuple[PartitionGroup, ...]]
    """Those of a physical partition, in the order of the parts that name it."""
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


def divide(
    exchange: Exchange,
    request: Any,
    division: Division,
    judge: Judge | None = None,
    most_parts: int | None = None,
) -> bool:
    """Leave the last part of a request in it, and put the others into the exchange.

    The request is left as it is if it names no topic with virtual partitions.

    Args:
        exchange: that of the request.
        request: to divide.
        division: how.
        judge: what refuses or changes partitions; None: nothing does.
        most_parts: partitions beyond so many are refused with SEND_AGAIN; None: none are.
    Returns:
        Whether partitions were refused.
    """
    virtual, shape = virtual_topics(exchange), division.request
    ranks: dict[_Place, dict[PartitionGroup, int]] = {}
    refused: dict[TopicKey, list[Any]] = {}
    kept: list[tuple[Any, list[_Kept] | None]] = []
    for topic in in_steps(getattr(request, shape.topics)):
        key = key_of(topic, shape)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            kept.append((topic, None))
            continue
        out = ranks, refused.setdefault(key, [])
        kept.append((topic, _kept(exchange, topic, partitions, division, out, judge, most_parts)))
    if all(some is None for _, some in kept):
        return False
    for known in in_steps(ranks.values()):
        known.update({group: rank for rank, group in enumerate(sorted(known))})
    # Without any there is still a request: filters before this one may have answers to add.
    parts = _parts(kept, ranks, shape)
    virtual.count("parts", len(parts) - 1)
    virtual.count("remapped", sum(len(some or ()) for _, some in kept))
    exchange.parts = [copied(request, **{shape.topics: topics}) for topics in parts[:-1]]
    setattr(request, shape.topics, parts[-1])
    groups = {place: tuple(sorted(known)) for place, known in in_steps(ranks.items())}
    exchange.keep(_DIVIDED, _Divided(groups, refused))
    exchange.wants_response = True
    return any(refused.values())


def _parts(
    kept: list[tuple[Any, list[_Kept] | None]], ranks: dict[_Place, dict[PartitionGroup, int]], shape: Shape
) -> list[list[Any]]:
    """Return the topics of each part."""
    parts: list[list[Any]] = [[]]
    for topic, some in in_steps(kept):
        if some is None:
            parts[0].append(topic)
            continue
        found: dict[int, list[Any]] = {}
        for place, group, partition in in_steps(some):
            found.setdefault(ranks[place][group], []).append(partition)
        parts += [[] for _ in range(max(found, default=0) + 1 - len(parts))]
        for number, own in found.items():
            parts[number].append(copied(topic, **{shape.partitions: own}))
    return parts


def _kept(
    exchange: Exchange,
    topic: Any,
    partitions: PartitionMap,
    division: Division,
    out: tuple[dict[_Place, dict[PartitionGroup, int]], list[Any]],
    judge: Judge | None,
    most_parts: int | None,
) -> list[_Kept]:
    """Return the partitions of a topic with their physical numbers; `out` gets the groups of each, and the refused."""
    shape, key = division.request, key_of(topic, division.request)
    name, (ranks, refused) = _physical(exchange, key), out
    found: list[_Kept] = []
    for partition in in_steps(getattr(topic, shape.partitions), division.rounds):
        number = partition if shape.number is None else getattr(partition, shape.number)
        if not partitions.has(number):
            refused.append(division.refused(number, NO_PARTITION))
            continue
        group, physical = partitions.place_of(VirtualPartition(number))
        place = name, physical
        known = ranks.setdefault(place, {})
        if most_parts is not None and len(known) >= most_parts and group not in known:
            virtual_topics(exchange).hit(PARTS_LIMIT)
            refused.append(division.refused(number, SEND_AGAIN))
            continue
        error = 0 if judge is None else judge(partition, group, key)
        if error:
            refused.append(error if isinstance(error, Struct) else division.refused(number, error))
            continue
        if shape.number is not None:
            setattr(partition, shape.number, physical)
        known.setdefault(group, len(known))
        found.append((place, group, physical if shape.number is None else partition))
    return found


def _physical(exchange: Exchange, key: TopicKey) -> bytes:
    """Return the physical name of a topic, which has one by whatever name or ID a message calls it."""
    namespace = exchange.scope.namespace
    return bytes(
        namespace.names.physical_topic(VirtualTopic((key[0] or namespace.topic_of(key[1]) or "").encode()))
    )


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
    for part, answer in enumerate([*exchange.part_answers, response]):
        for topic in in_steps(getattr(answer, shape.topics)):
            key = key_of(topic, shape)
            partitions = virtual.map_of_either(*key)
            name = _physical(exchange, key) if partitions else b""
            for partition in in_steps(getattr(topic, shape.partitions) if partitions else ()):
                assert partitions is not None
                assert shape.number is not None, "answers have more than numbers"
                physical = PhysicalPartition(getattr(partition, shape.number))
                group = divided.groups[name, physical][part]
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
