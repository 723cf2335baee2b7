"""What is counted of one tenant's messages of one API."""

from itertools import pairwise

import pytest

from bifrost.forwarding.lanes import NO_TENANT
from bifrost.forwarding.traffic import DURATION_BOUNDS_S, MAX_ERROR_CELLS, OTHER_ERRORS, Traffic
from bifrost.session.close_reason import SessionEnded
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

HEARTBEAT = messages.HeartbeatRequest(group_id="g")
COMMIT = messages.OffsetCommitRequest(
    group_id="g", topics=[{"name": "orders", "partitions": [{"partition_index": 0}]}]
)
METADATA = messages.MetadataRequest(topics=[{"name": "orders"}], allow_auto_topic_creation=False)


def errors(stage: Stage, api_key: ApiKey) -> set[tuple[int, bool, int]]:
    return set(stage.shared.lanes.traffic("acme", api_key).errors)


def test_the_bounds_of_durations_go_from_100_us_to_30_s_in_small_steps() -> None:
    steps = [above / below for below, above in pairwise(DURATION_BOUNDS_S)]

    assert (DURATION_BOUNDS_S[0], DURATION_BOUNDS_S[-1]) == (0.0001, 30)
    assert max(steps) <= 3.01


def test_errors_are_counted_by_code_and_by_who_gave_them() -> None:
    traffic = Traffic()

    traffic.fail(ErrorCode.UNKNOWN_SERVER_ERROR, is_own=False)
    traffic.fail(ErrorCode.INVALID_REQUEST, is_own=True, times=3)
    traffic.fail(ErrorCode.INVALID_REQUEST, is_own=False)
    traffic.fail(ErrorCode.INVALID_REQUEST, is_own=False)

    assert traffic.errors == [(-1, False, 1), (42, True, 3), (42, False, 2)]


def test_codes_without_a_name_and_those_beyond_the_bound_are_counted_together() -> None:
    traffic, known = Traffic(), list(ErrorCode)[2 : 2 + MAX_ERROR_CELLS]

    traffic.fail(31_000, is_own=False)
    for code in known:
        traffic.fail(code, is_own=False)
        traffic.fail(code, is_own=True)

    assert len(traffic.errors) <= MAX_ERROR_CELLS
    assert sum(times for _, _, times in traffic.errors) == 1 + 2 * len(known)
    others = [times for code, is_own, times in traffic.errors if code == OTHER_ERRORS and not is_own]
    assert others[0] > 2


def test_errors_of_brokers_are_counted_where_answers_pass_unread(stage: Stage) -> None:
    session = stage.play("acme").session
    codes = [{"partition_index": 0, "error_code": code} for code in (0, 22, 22, 25)]
    result = messages.OffsetCommitResponse(
        topics=[{"name": physical_name("acme", "orders"), "partitions": codes}]
    )

    for version in (2, 8):
        session.receive_from_client(request_frame(COMMIT, version, version))
        session.receive_from_broker(response_frame(result, version, version))
    session.receive_from_client(request_frame(HEARTBEAT, 4, 9))
    session.receive_from_broker(response_frame(messages.HeartbeatResponse(error_code=27), 4, 9))

    assert errors(stage, ApiKey.OFFSET_COMMIT) == {(22, False, 4), (25, False, 2)}
    assert errors(stage, ApiKey.HEARTBEAT) == {(27, False, 1)}


def test_many_different_codes_of_one_answer_are_counted_as_other(stage: Stage) -> None:
    session = stage.play("acme").session
    codes = [{"partition_index": 0, "error_code": code} for code in range(1, 21)]
    result = messages.OffsetCommitResponse(
        topics=[{"name": physical_name("acme", "orders"), "partitions": codes}]
    )

    session.receive_from_client(request_frame(COMMIT, 8, 1))
    session.receive_from_broker(response_frame(result, 8, 1))

    found = errors(stage, ApiKey.OFFSET_COMMIT)
    assert {code for code, _, _ in found} == {*range(1, 9), OTHER_ERRORS}
    assert sum(times for _, _, times in found) == len(codes)


def test_errors_of_answers_that_are_decoded_are_counted_once(stage: Stage) -> None:
    session = stage.play("acme").session
    unknown = {"error_code": ErrorCode.LEADER_NOT_AVAILABLE, "name": physical_name("acme", "orders")}

    session.receive_from_client(request_frame(METADATA, 9, 1))
    session.receive_from_broker(response_frame(messages.MetadataResponse(topics=[unknown]), 9, 1))

    assert b"orders" in session.to_client[-1]
    assert errors(stage, ApiKey.METADATA) == {(ErrorCode.LEADER_NOT_AVAILABLE, False, 1)}


def test_errors_of_the_gateway_s_own_are_counted_by_the_api_or_as_not_served(stage: Stage) -> None:
    session = stage.play("acme").session

    session.receive_from_client(request_frame(messages.ListPartitionReassignmentsRequest(), 0, 1))
    session.receive_from_client(request_frame(messages.ApiVersionsRequest(client_software_name="-"), 3, 2))
    session.receive_from_client(request_frame(messages.AddPartitionsToTxnRequest(), 4, 3))  # for brokers

    denied = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, True, 1)
    assert errors(stage, ApiKey.LIST_PARTITION_REASSIGNMENTS) == {denied}
    assert errors(stage, ApiKey.API_VERSIONS) == {(ErrorCode.INVALID_REQUEST, True, 1)}
    not_served = stage.shared.lanes.traffic("acme", None).errors
    assert not_served == [(ErrorCode.UNSUPPORTED_VERSION, True, 1)]


def test_failures_to_authenticate_are_errors_of_no_tenant(stage: Stage) -> None:
    session = stage.session()
    session.receive_from_client(request_frame(messages.SaslHandshakeRequest(mechanism="PLAIN"), 1, 1))
    wrong = messages.SaslAuthenticateRequest(auth_bytes=b"\0acme-user\0wrong")
    with pytest.raises(SessionEnded):
        session.receive_from_client(request_frame(wrong, 2, 2))

    found = stage.shared.lanes.traffic(NO_TENANT, ApiKey.SASL_AUTHENTICATE).errors
    assert found == [(ErrorCode.SASL_AUTHENTICATION_FAILED, True, 1)]
