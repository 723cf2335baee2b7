"""A cluster as it was before a test, whatever the test left there: no topics but Kafka's own, and no groups."""

from __future__ import annotations

import time

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    ListGroupsRequest,
    MetadataRequest,
)
from support.raw_client import RawClient

EMPTIED_S = 30.0
"""A group whose members were killed is there until their session is over."""
TIMEOUT_MS = 20_000
TENANTS = "__vt_"
"""What the names of all tenants begin with."""


def empty_cluster(client: RawClient) -> None:
    """Delete all groups and all topics but Kafka's own.

    Args:
        client: of a broker itself; of the only one, since that coordinates every group.
    """
    deadline = time.monotonic() + EMPTIED_S
    while groups := [group.group_id for group in client.request(ListGroupsRequest(), 5).groups]:
        deleted = client.request(DeleteGroupsRequest(groups_names=groups), 2)
        left = {one.group_id: one.error_code for one in deleted.results if one.error_code != ErrorCode.NONE}
        assert time.monotonic() < deadline, f"groups that are not deleted: {left}"
        time.sleep(0.1 if left else 0)
    while topics := _topics(client):
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in topics]
        client.request(DeleteTopicsRequest(topics=states, timeout_ms=TIMEOUT_MS), 6)
        assert time.monotonic() < deadline, f"topics that are not deleted: {topics}"


def _topics(client: RawClient) -> list[str]:
    names = [topic.name for topic in client.request(MetadataRequest(topics=None), 5).topics]
    return [name for name in names if name.startswith(TENANTS) or not name.startswith("__")]
