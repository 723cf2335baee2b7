from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.filters.filter import Exchange
from bifrost.filters.virtual.groups.commit_fences import Committer, Fence, fence_member, fence_outside
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import HeartbeatRequest
from support.stage import messages
from support.stage.stage import Stage, broker_versions

OUTSIDE = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
UNKNOWN, STALE, FENCED = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
)
MEMBER = Committer("app", 3, "m", "static")


def exchange_of(stage: Stage, version: int = 9, *, knows: bool = True) -> Exchange:
    exchange = Exchange(ApiKey.OFFSET_COMMIT, version, stage.play().session._scope)
    exchange.offered = stage.versions if knows else None
    return exchange


def heartbeat(error_code: int) -> Any:
    return messages.build("HeartbeatResponse", {"error_code": int(error_code)})


def described(message: str, state: str) -> Any:
    return messages.build(message, {"groups": [{"group_id": "app", "group_state": state}]})


def fetched(error_code: int) -> Any:
    groups = [{"group_id": "app", "error_code": int(error_code)}]
    return messages.build("OffsetFetchResponse", {"groups": groups})


@pytest.mark.parametrize(("answer", "expected"), [(0, 0), (27, 0), (22, 22), (16, 16)])
def test_a_member_of_the_classic_protocol_is_judged_by_a_heartbeat(
    stage: Stage, answer: int, expected: int
) -> None:
    fence = fence_member(exchange_of(stage), MEMBER)
    ((request, version),) = fence.requests

    assert request == HeartbeatRequest(
        group_id="app", generation_id=3, member_id="m", group_instance_id="static"
    )
    assert version in HeartbeatRequest.SCHEMA.versions
    assert fence.judge((heartbeat(answer),)) == expected


@pytest.mark.parametrize("before", [UNKNOWN, FENCED])
def test_a_broker_before_the_newer_protocol_is_asked_no_more(stage: Stage, before: ErrorCode) -> None:
    assert fence_member(exchange_of(stage, knows=False), MEMBER).judge((heartbeat(before),)) == before


def test_a_cluster_may_have_streams_groups_alone(stage: Stage) -> None:
    exchange = exchange_of(stage)
    exchange.offered = offered_versions(broker_versions(ConsumerGroupHeartbeat=(9, 9)))

    assert isinstance(fence_member(exchange, MEMBER).judge((heartbeat(UNKNOWN),)), Fence)

    exchange.offered = offered_versions(
        broker_versions(ConsumerGroupHeartbeat=(9, 9), StreamsGroupHeartbeat=(9, 9))
    )
    assert fence_member(exchange, MEMBER).judge((heartbeat(UNKNOWN),)) == UNKNOWN


@pytest.mark.parametrize("before", [UNKNOWN, FENCED])
@pytest.mark.parametrize(
    ("own", "of_a_stranger", "expected"),
    [
        (0, UNKNOWN, 0),
        (STALE, UNKNOWN, STALE),
        (UNKNOWN, UNKNOWN, UNKNOWN),
        (ErrorCode.ILLEGAL_GENERATION, UNKNOWN, ErrorCode.ILLEGAL_GENERATION),
        (0, 0, None),
        (0, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
    ],
)
def test_another_is_judged_by_its_epoch_where_the_group_knows_its_members(
    stage: Stage, before: ErrorCode, own: int, of_a_stranger: int, expected: int | None
) -> None:
    """None: the group is of the classic protocol, and the Heartbeat counts."""
    fence = fence_member(exchange_of(stage), MEMBER).judge((heartbeat(before),))
    assert isinstance(fence, Fence)

    told = fence.judge((fetched(own), fetched(of_a_stranger)))
    assert told == (before if expected is None else expected)


@pytest.mark.parametrize(
    ("own", "expected"), [(0, 0), (STALE, ErrorCode.ILLEGAL_GENERATION), (UNKNOWN, UNKNOWN)]
)
def test_in_a_transaction_an_epoch_that_is_over_is_called_a_generation(
    stage: Stage, own: int, expected: int
) -> None:
    """TxnOffsetCommit has no member epochs in any version."""
    fence = fence_member(exchange_of(stage, 3), MEMBER._replace(is_transaction=True))
    second = fence.judge((heartbeat(UNKNOWN),))
    assert isinstance(second, Fence)

    assert second.judge((fetched(own), fetched(UNKNOWN))) == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [(0, ErrorCode.UNSUPPORTED_VERSION), (STALE, ErrorCode.UNSUPPORTED_VERSION), (UNKNOWN, UNKNOWN)],
)
def test_members_of_the_newer_protocol_commit_by_versions_that_have_epochs(
    stage: Stage, own: int, expected: int
) -> None:
    second = fence_member(exchange_of(stage, 8), MEMBER).judge((heartbeat(UNKNOWN),))
    assert isinstance(second, Fence)

    assert second.judge((fetched(own), fetched(UNKNOWN))) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("Empty", "Empty", "Empty"), 0),
        (("Dead", "Dead", "Dead"), 0),
        (("Stable", "Dead", "Dead"), OUTSIDE),
        (("Dead", "Stable", "Dead"), OUTSIDE),
        (("Dead", "Assigning", "Dead"), OUTSIDE),
        (("Dead", "Dead", "Stable"), OUTSIDE),
        (("Dead", "Dead", "NotReady"), OUTSIDE),
    ],
)
def test_from_outside_a_group_must_have_no_members(
    stage: Stage, states: tuple[str, ...], expected: int
) -> None:
    fence = fence_outside(exchange_of(stage), "app", OUTSIDE)
    kinds = "DescribeGroupsResponse", "ConsumerGroupDescribeResponse", "StreamsGroupDescribeResponse"

    assert len(fence.requests) == len(kinds)
    answers = tuple(described(kind, state) for kind, state in zip(kinds, states, strict=True))
    assert fence.judge(answers) == expected


def test_from_outside_an_error_is_an_answer(stage: Stage) -> None:
    fence = fence_outside(exchange_of(stage, knows=False), "app", OUTSIDE)
    answer = messages.build("DescribeGroupsResponse", {"groups": [{"group_id": "app", "error_code": 15}]})

    assert len(fence.requests) == 1
    assert fence.judge((answer,)) == 15
