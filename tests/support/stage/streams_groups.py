"""Messages of streams groups (KIP-1071), with few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.stage import messages

Tasks = Mapping[str, list[int]]
"""The partitions of tasks by subtopology."""
NO_TASKS: Tasks = {}


def internal(name: str, partitions: int = 0, **configs: str) -> dict[str, Any]:
    """Return an internal topic of a topology."""
    topic_configs = [{"key": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return {"name": name, "partitions": partitions, "replication_factor": 0, "topic_configs": topic_configs}


def part(subtopology_id: str = "0", **fields: Any) -> dict[str, Any]:
    """Return a subtopology."""
    return {"subtopology_id": subtopology_id, **fields}


def beat(group: str, *parts: Any, epoch: int = 4, member: str = "m", **fields: Any) -> Any:
    """Return a heartbeat; with subtopologies it joins."""
    known: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": 0 if parts else epoch}
    if parts:
        known |= {"rebalance_timeout_ms": 9, "process_id": "p", **owned({})}
        known["topology"] = {"epoch": 0, "subtopologies": list(parts)}
    return messages.build("StreamsGroupHeartbeatRequest", known | fields)


def told(epoch: int = 4, member: str = "m", **fields: Any) -> Any:
    """Return the answer to a heartbeat."""
    known = {"member_id": member, "member_epoch": epoch, "heartbeat_interval_ms": 5000}
    return messages.build("StreamsGroupHeartbeatResponse", known | fields)


def owned(active: Tasks, standby: Tasks = NO_TASKS, warmup: Tasks = NO_TASKS) -> dict[str, Any]:
    """Return the tasks of an assignment, as fields."""
    kinds = {"active_tasks": active, "standby_tasks": standby, "warmup_tasks": warmup}
    return {
        kind: [{"subtopology_id": one, "partitions": some} for one, some in tasks.items()]
        for kind, tasks in kinds.items()
    }


def asks(group: str) -> Any:
    """Return what the coordinator is asked about a group."""
    return messages.build("StreamsGroupDescribeRequest", {"group_ids": [group]})


def described(group: str, *parts: Any, **members: Any) -> Any:
    """Return what the coordinator says of a group: the subtopologies, and the tasks of members at epoch 4."""
    entry = {
        "group_id": group,
        "group_state": "Stable",
        "topology": {"epoch": 0, "subtopologies": list(parts)},
        "members": [
            {
                "member_id": name,
                "member_epoch": 4,
                "assignment": tasks,
                "target_assignment": owned({}),
                "task_offsets": [],
                "task_end_offsets": [],
                "client_tags": [],
            }
            for name, tasks in members.items()
        ],
    }
    return messages.build("StreamsGroupDescribeResponse", {"groups": [entry]})
