"""Which virtual tasks of a streams group (KIP-1071) the coordinator's tasks stand for.

A subtopology has a task for each partition of its topics: task v reads partition v of its source and repartition
topics, and keeps its state in partition v of its changelogs. The coordinator makes tasks of physical partitions. So a
task of physical partition p is that of all virtual partitions of p, which there must be the same for all topics:

    orders      12 virtual on 4    task 1 of the coordinator is tasks 1, 5 and 9
    changelog   12 virtual on 4    partitions 1, 5 and 9, which are parts of its physical partition 1

Source: InternalTopicManager.computeNumberOfTasks, StreamsMembershipManager.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import (
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
)
from bifrost.wire.steps import in_steps

TaskMaps = Mapping[str, PartitionMap | None]
"""How the tasks of each subtopology are divided, by its ID; None: they have the numbers that the coordinator says."""

MAX_QUOTED = 5
"""Topics that an error names."""


class OtherMap(NamedTuple):
    """Topics of one subtopology that are not divided alike."""

    text: str
    """Says which, for people."""


def map_of_all(topics: Iterable[tuple[str, PartitionMap | None]]) -> PartitionMap | OtherMap | None:
    """Return how all topics of a subtopology are divided; None: none of them is, or there is none.

    Whether a topic is compacted makes no difference: its records are in the same partitions.
    """
    kinds: dict[PartitionMap | None, str] = {}
    for name, partitions in in_steps(topics):
        kinds.setdefault(None if partitions is None else partitions._replace(is_keyed=False), name)
    if len(kinds) > 1:
        quoted = [f"{name} has {_numbers(partitions)}" for partitions, name in kinds.items()]
        return OtherMap(", ".join(quoted[:MAX_QUOTED]))
    return next(iter(kinds), None)


def virtual_tasks(partitions: PartitionMap | None, tasks: Sequence[int], room: int) -> list[int] | None:
    """Return the virtual tasks that these of the coordinator stand for; None: they are more than there is room for.

    A task of a partition that the topics must not have, because they were created past the gateway, is left out.
    """
    if partitions is None:
        return list(tasks) if len(tasks) <= room else None
    shown: list[int] = []
    for number in in_steps(tasks):
        if 0 <= number < partitions.physical:
            some = partitions.all_of(PhysicalPartition(number))
            if len(shown) + len(some) > room:
                return None
            shown.extend(some)
    return shown


def physical_task(partitions: PartitionMap | None, task: int) -> int:
    """Return the coordinator's task for a virtual one.

    A number that no virtual task has is none of the coordinator's either: it stays.
    """
    if partitions is None or not partitions.has(task):
        return task
    return partitions.place_of(VirtualPartition(task))[1]


def physical_tasks(partitions: PartitionMap | None, tasks: Iterable[int]) -> list[int]:
    """Return the coordinator's tasks that these virtual ones are parts of, each once."""
    return list(dict.fromkeys(physical_task(partitions, number) for number in in_steps(tasks)))


def _numbers(partitions: PartitionMap | None) -> str:
    if partitions is None:
        return "no virtual partitions"
    if partitions.ratio:
        return f"a ratio of {partitions.ratio}"
    return f"{partitions.virtual} virtual partitions on {partitions.physical}"
