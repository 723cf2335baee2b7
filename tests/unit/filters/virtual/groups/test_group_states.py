from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.filters.filter import Exchange
from bifrost.filters.virtual.groups.group_states import (
    Members,
    classic_group,
    newer_group,
    read_members,
    streams_group,
)
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    DescribeGroupsRequest,
    StreamsGroupDescribeRequest,
)
from support.stage import messages
from support.stage.stage import Stage, broker_versions

BUSY = ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_coordinator_is_asked_for_what_it_has(stage: Stage) -> None:
    exchange = Exchange(8, 7, stage.play().session._scope)
    assert newer_group(exchange, "app") is None
    assert streams_group(exchange, "app") is None

    exchange.offered = offered_versions(
        broker_versions(ConsumerGroupDescribe=(9, 9), StreamsGroupDescribe=(9, 9))
    )
    assert newer_group(exchange, "app") is None
    assert streams_group(exchange, "app") is None

    exchange.offered = stage.versions
    request, version = newer_group(exchange, "app") or (None, -1)
    assert request == ConsumerGroupDescribeRequest(group_ids=["app"])
    assert version in ConsumerGroupDescribeRequest.SCHEMA.versions

    request, version = streams_group(exchange, "app") or (None, -1)
    assert request == StreamsGroupDescribeRequest(group_ids=["app"])
    assert version in StreamsGroupDescribeRequest.SCHEMA.versions

    request, version = classic_group("app")
    assert request == DescribeGroupsRequest(groups=["app"])
    assert version in DescribeGroupsRequest.SCHEMA.versions


@pytest.mark.parametrize(
    "message", ["DescribeGroupsResponse", "ConsumerGroupDescribeResponse", "StreamsGroupDescribeResponse"]
)
@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ({"group_state": "Empty"}, Members(False)),
        ({"group_state": "Dead"}, Members(False)),
        ({"error_code": int(ErrorCode.GROUP_ID_NOT_FOUND)}, Members(False)),
        ({"error_code": int(ErrorCode.UNSUPPORTED_VERSION)}, Members(False)),
        ({"error_code": int(BUSY)}, Members(False, BUSY)),
        ({"group_state": "Stable"}, Members(True)),
        ({"group_state": "PreparingRebalance"}, Members(True)),
        ({"group_state": "Reconciling"}, Members(True)),
        ({"group_state": ""}, Members(True)),
        (None, Members(False, ErrorCode.GROUP_ID_NOT_FOUND)),
    ],
)
def test_what_the_coordinator_says(message: str, group: dict[str, Any] | None, expected: Members) -> None:
    groups = [] if group is None else [{"group_id": "app", **group}]
    assert read_members(messages.build(message, {"groups": groups})) == expected
