"""Tasks in what a coordinator says: an assignment in an answer to a heartbeat, or in a description of a group.

The answer to a heartbeat can also say which member has which partitions, for interactive queries (KIP-1071,
`PartitionsByUserEndpoint`): by topic, so each topic's own partitions count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.tenancy.virtual_partitions.task_maps import TaskMaps, virtual_tasks
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.wire.messages import StreamsGroupHeartbeatResponse

TASK_KINDS = ("active_tasks", "standby_tasks", "warmup_tasks")
"""The fields of an assignment, in requests and answers."""


class UnknownTask(NamedTuple):
    """A task of a subtopology of which it is not known how it is divided."""

    subtopology_id: str


def show_tasks(maps: TaskMaps, assignment: Any, room: int) -> int | UnknownTask | None:
    """Replace the coordinator's tasks by the virtual ones.

    Args:
        maps: how the tasks of each subtopology are divided.
        assignment: has the three kinds of tasks; a kind may be null.
        room: how many may be shown.
    Returns:
        How many may be shown after these; None: they are too many, and the assignment is to be dropped, as it is for an
        unknown one.
    """
    for kind in TASK_KINDS:
        for tasks in in_steps(getattr(assignment, kind) or ()):
            if tasks.subtopology_id not in maps:
                return UnknownTask(tasks.subtopology_id)
            shown = virtual_tasks(maps[tasks.subtopology_id], tasks.partitions, room)
            if shown is None:
                return None
            tasks.partitions = shown
            room -= len(shown)
    return room


def show_endpoints(virtual: VirtualTopics, response: StreamsGroupHeartbeatResponse, room: int) -> int | None:
    """Replace the partitions that members have by the virtual ones; return likewise."""
    for endpoint in in_steps(response.partitions_by_user_endpoint or ()):
        for topic in in_steps([*endpoint.active_partitions, *endpoint.standby_partitions]):
            shown = virtual_tasks(virtual.map_of(topic.topic), topic.partitions, room)
            if shown is None:
                return None
            topic.partitions = shown
            room -= len(shown)
    return room
