"""StreamsGroupDescribe: members have virtual tasks, all of each task of the coordinator that they are assigned.

Source: StreamsGroupDescribeResponse, KIP-1071.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bifrost.filters.filter import ResponseFilter
from bifrost.filters.steps import FORWARD, ResponseStep
from bifrost.filters.virtual.division import copied, virtual_topics
from bifrost.filters.virtual.shown_partitions import LIMIT, MAX_SHOWN
from bifrost.filters.virtual.streams.divided_topology import Invalid, maps_of, show_topology
from bifrost.filters.virtual.streams.shown_tasks import UnknownTask, show_tasks
from bifrost.tenancy.virtual_partitions.task_maps import TaskMaps, virtual_tasks
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.messages import StreamsGroupDescribeResponse

    _Group = StreamsGroupDescribeResponse.DescribedGroup

TOO_MANY = f"The members of the groups have more than {MAX_SHOWN} virtual tasks: ask for fewer groups."
UNKNOWN_TASK = "Members of the group have tasks of subtopology {}, which is not in its topology."


class DescribedTasksFilter(ResponseFilter):
    """Shows the tasks that members have, and those that they shall have."""

    def on_response(self, exchange: Exchange, response: StreamsGroupDescribeResponse) -> ResponseStep:
        """Show virtual tasks; a group of which they cannot be told is answered with an error."""
        virtual, room = virtual_topics(exchange), MAX_SHOWN
        for group in in_steps(response.groups):
            subtopologies = [] if group.topology is None else group.topology.subtopologies or []
            maps = maps_of(virtual, subtopologies)
            if isinstance(maps, Invalid):
                _refuse(group, ErrorCode.STREAMS_INVALID_TOPOLOGY, maps.text)
                continue
            left = _show(maps, group, room)
            if left is None:
                virtual.hit(LIMIT)
                _refuse(group, ErrorCode.INVALID_REQUEST, TOO_MANY)
            elif isinstance(left, UnknownTask):
                text = UNKNOWN_TASK.format(left.subtopology_id)
                _refuse(group, ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
            else:
                show_topology(virtual, subtopologies)
                room = left
        return FORWARD


def _refuse(group: _Group, error: ErrorCode, text: str) -> None:
    group.error_code, group.error_message = int(error), text
    group.members, group.topology = [], None


def _show(maps: TaskMaps, group: _Group, room: int) -> int | UnknownTask | None:
    for member in in_steps(group.members):
        for assignment in (member.assignment, member.target_assignment):
            left = show_tasks(maps, assignment, room)
            if not isinstance(left, int):
                return left
            room = left
        for kind in "task_offsets", "task_end_offsets":
            shown: list[Any] = []
            for one in in_steps(getattr(member, kind)):
                if one.subtopology_id not in maps:
                    return UnknownTask(one.subtopology_id)
                tasks = virtual_tasks(maps[one.subtopology_id], [one.partition], room)
                if tasks is None:
                    return None
                room -= len(tasks)
                shown += [copied(one, partition=task) for task in in_steps(tasks)]
            setattr(member, kind, shown)
    return room
