"""The topology of a streams group: whether its topics can have virtual partitions, and how many the brokers make.

A member sends its topology when it joins, and the coordinator creates the internal topics that are missing. A number of
partitions that the topology says is the virtual one. Where it says none, the coordinator follows the topics before; if
the configuration has both numbers, it is told the physical one, for topics of that rule can have no other.

Source: StreamsGroupHeartbeatRequest, InternalTopicManager, RepartitionTopics, ChangelogTopics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.groups.group_heartbeat import internal_topics
from bifrost.filters.virtual.created_partitions import (
    CLEANUP_POLICY,
    COMPACT,
    DELETE,
    can_have,
    numbers_text,
)
from bifrost.tenancy.virtual_partitions.task_maps import OtherMap, TaskMaps, map_of_all
from bifrost.wire.messages import StreamsGroupHeartbeatRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap

MAX_SUBTOPOLOGIES = 1_000
"""Of a topology: what is remembered of a member has one entry for each. Large applications have some dozens."""
MAX_ID = 64
"""Characters of the ID of a subtopology, which Kafka Streams makes of a number."""

NOT_BY_PATTERN = (
    "With virtual partitions the source topics of a streams group are named: a pattern may match topics that are "
    "divided otherwise. Name the topics, or set group.protocol=classic."
)
NO_TOPICS = "The topics of subtopology {} are not known, so its tasks are not either."
TOO_MANY = (
    f"With virtual partitions a topology has at most {MAX_SUBTOPOLOGIES} subtopologies, whose IDs have at most "
    f"{MAX_ID} characters, each its own."
)


class Invalid(NamedTuple):
    """Why a topology cannot be served."""

    text: str


def divide_topology(
    virtual: VirtualTopics, topology: StreamsGroupHeartbeatRequest.Topology
) -> TaskMaps | Invalid:
    """Return how the tasks of a topology are divided, and ask for the partitions that brokers have."""
    subtopologies = topology.subtopologies
    if any(any(one.source_topic_regex) for one in in_steps(subtopologies)):
        return Invalid(NOT_BY_PATTERN)
    maps = maps_of(virtual, subtopologies)
    if isinstance(maps, Invalid):
        return maps
    for subtopology in in_steps(subtopologies):
        changelogs = len(subtopology.state_changelog_topics)
        for place, topic in enumerate(in_steps(internal_topics(subtopology))):
            partitions = virtual.map_of(topic.name)
            if partitions is None:
                continue
            text = _refusal(topic, partitions)
            if text is not None:
                return Invalid(f"The internal topic {topic.name}: {text}")
            _ask_for_physical(topic, partitions, is_changelog=place < changelogs)
    return maps


def maps_of(virtual: VirtualTopics, subtopologies: Any) -> TaskMaps | Invalid:
    """Return how the tasks of subtopologies are divided, of a request or of a description."""
    mark, maps = virtual.namespace.absent_topic(""), dict[str, "PartitionMap | None"]()
    if len(subtopologies) > MAX_SUBTOPOLOGIES:
        return Invalid(TOO_MANY)
    for one in in_steps(subtopologies):
        if len(one.subtopology_id) > MAX_ID or one.subtopology_id in maps:
            return Invalid(TOO_MANY)
        # A hidden topic has another name on the way to the broker, but not on the way back.
        names = [
            *(name.removeprefix(mark) for name in in_steps(one.source_topics)),
            *(topic.name for topic in in_steps(internal_topics(one))),
        ]
        if not names:
            return Invalid(NO_TOPICS.format(one.subtopology_id))
        found = map_of_all((name, virtual.map_of(name)) for name in names)
        if isinstance(found, OtherMap):
            return Invalid(
                f"The topics of subtopology {one.subtopology_id} share their tasks, so they need the same virtual "
                f"partitions, by rules with the same numbers, or none: {found.text}."
            )
        maps[one.subtopology_id] = found
    return maps


def show_topology(virtual: VirtualTopics, subtopologies: Any) -> None:
    """Show the virtual number of partitions of internal topics in a description, where there is one."""
    for subtopology in in_steps(subtopologies):
        for topic in in_steps(internal_topics(subtopology)):
            partitions = virtual.map_of(topic.name) if topic.partitions else None
            found = None if partitions is None else partitions.at(topic.partitions)
            if found is not None:
                topic.partitions = found.virtual


def _refusal(topic: Any, partitions: PartitionMap) -> str | None:
    """Return why brokers must not create an internal topic as it is."""
    if topic.partitions and not can_have(partitions, topic.partitions):
        return numbers_text(partitions, topic.partitions)
    compacts = (one.key == CLEANUP_POLICY and COMPACT in one.value for one in in_steps(topic.topic_configs))
    if any(compacts) and not partitions.is_keyed:
        return (
            "it is compacted, and virtual partitions would share their keys. The operator's rule for it needs "
            "compacted: true"
        )
    return None


def _ask_for_physical(topic: Any, partitions: PartitionMap, *, is_changelog: bool) -> None:
    if topic.partitions:
        topic.partitions = partitions.at_brokers(topic.partitions)
    elif not (partitions.ratio or is_changelog):
        # A changelog always has as many as there are tasks, and the coordinator takes no number for it.
        topic.partitions = partitions.physical
    has_policy = any(one.key == CLEANUP_POLICY for one in in_steps(topic.topic_configs))
    if not (has_policy or partitions.is_keyed):
        # The brokers' default may be another.
        topic.topic_configs.append(StreamsGroupHeartbeatRequest.KeyValue(key=CLEANUP_POLICY, value=DELETE))
