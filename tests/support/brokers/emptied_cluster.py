"""A cluster as it was before a test, whatever the test left there: no topics but Kafka's own, no groups, no configs of
groups. Transactional IDs cannot be deleted: they expire.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterConfigsRequest,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    MetadataRequest,
)
from support.clients.raw_client import RawClient
from support.physical_names import MARK

EMPTIED_S = 30.0
TIMEOUT_MS = 20_000
TENANTS = MARK
"""What the names of all tenants begin with."""
_GROUP = 32
"""Kafka's number for the configs of groups."""


def empty_cluster(client: RawClient) -> None:
    """Delete all groups, their configs, and all topics but Kafka's own.

    Args:
        client: of a broker itself; of the only one, since that coordinates every group.
    """
    deadline = time.monotonic() + EMPTIED_S
    while groups := [group.group_id for group in client.request(ListGroupsRequest(), 5).groups]:
        _leave_classic(client, groups)
        deleted = client.request(DeleteGroupsRequest(groups_names=groups), 2)
        left = {one.group_id: one.error_code for one in deleted.results if one.error_code != ErrorCode.NONE}
        assert time.monotonic() < deadline, f"groups that are not deleted: {left}"
        time.sleep(0.1 if left else 0)
    while configured := _configured_groups(client):
        resource = AlterConfigsRequest.AlterConfigsResource
        resources = [resource(resource_type=_GROUP, resource_name=group, configs=[]) for group in configured]
        client.request(AlterConfigsRequest(resources=resources), 2)
        assert time.monotonic() < deadline, f"configs that are not deleted: {configured}"
    while topics := _topics(client):
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in topics]
        client.request(DeleteTopicsRequest(topics=states, timeout_ms=TIMEOUT_MS), 6)
        assert time.monotonic() < deadline, f"topics that are not deleted: {topics}"


def _leave_classic(client: RawClient, groups: Sequence[str]) -> None:
    """Let go those who are in a classic group until their session is over: who was killed, or does not say that it
    leaves, as Kafka Streams.
    """
    for group in client.request(DescribeGroupsRequest(groups=groups), 5).groups:
        identity = LeaveGroupRequest.MemberIdentity
        members = [identity(member_id=member.member_id) for member in group.members]
        if members:
            client.request(LeaveGroupRequest(group_id=group.group_id, members=members), 5)


def _configured_groups(client: RawClient) -> list[str]:
    listed = client.request(ListConfigResourcesRequest(resource_types=[_GROUP]), 1)
    return [one.resource_name for one in listed.config_resources]


def _topics(client: RawClient) -> list[str]:
    names = [topic.name for topic in client.request(MetadataRequest(topics=None), 5).topics]
    return [name for name in names if name.startswith(TENANTS) or not name.startswith("__")]
