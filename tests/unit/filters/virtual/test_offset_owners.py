from typing import Any

import pytest

from bifrost.filters.filter import Exchange
from bifrost.filters.virtual.offset_owners import fence, fenced, owner_of
from bifrost.tenancy.virtual_partitions.java_hash import java_hash
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeGroupsRequest, HeartbeatRequest
from support.physical_names import physical_name
from support.stage import messages
from support.stage.stage import Stage

OUTSIDE = ErrorCode.UNKNOWN_MEMBER_ID


def heartbeat(error_code: int) -> Any:
    return messages.build("HeartbeatResponse", {"error_code": error_code})


def described(**group: Any) -> Any:
    return messages.build("DescribeGroupsResponse", {"groups": [{"group_id": "app", **group}]})


def test_a_member_is_judged_by_a_heartbeat_and_others_by_the_group(stage: Stage) -> None:
    request, version = fence("app", 3, "m", "static")
    assert request == HeartbeatRequest(
        group_id="app", generation_id=3, member_id="m", group_instance_id="static"
    )
    assert version in HeartbeatRequest.SCHEMA.versions

    assert fence("app", -1, "", None)[0] == DescribeGroupsRequest(groups=["app"])


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (heartbeat(0), 0),
        (heartbeat(27), 0),
        (heartbeat(22), 22),
        (heartbeat(25), 25),
        (heartbeat(16), 16),
        (described(group_state="Empty"), 0),
        (described(group_state="Dead"), 0),
        (described(error_code=69), 0),
        (described(error_code=15), 15),
        (described(group_state="Stable"), OUTSIDE),
        (described(group_state="PreparingRebalance"), OUTSIDE),
        (described(group_state="CompletingRebalance"), OUTSIDE),
        (described(group_state=""), OUTSIDE),
        (messages.build("DescribeGroupsResponse", {}), ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_what_the_coordinator_says_decides(answer: Any, expected: int) -> None:
    assert fenced(answer, OUTSIDE) == expected


def test_offset_groups_have_the_coordinator_of_the_physical_group(stage: Stage) -> None:
    exchange = Exchange(8, 7, stage.play().session._scope)
    owner = owner_of(exchange, "app", PartitionGroup(2))

    assert owner.startswith("app-v2-")
    assert java_hash(physical_name("acme", owner)) == java_hash(physical_name("acme", "app"))
