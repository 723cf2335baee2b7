"""Requests as routers read them, in one segment or several."""

from itertools import pairwise

import pytest

from bifrost.gateway.routing.request import read_request, way_of
from bifrost.routes.route_kinds import RouteKind
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.messages import HeartbeatRequest, HeartbeatResponse, ListGroupsRequest
from bifrost.wire.programs import compile_layout

CORRELATION_ID = 0x01020304


def frame_of(
    message: HeartbeatRequest | ListGroupsRequest, version: int, client_id: bytes | None = b"me"
) -> bytes:
    key = message.SCHEMA.api_key
    assert key is not None
    size = -1 if client_id is None else len(client_id)
    head = REQUEST_PREFIX.pack(key, version, CORRELATION_ID, size) + (client_id or b"")
    if message.SCHEMA.request_header_version(version) >= 2:
        head += b"\0"
    return bytes(encode(compile_layout(message.SCHEMA.name, version), message, head))


@pytest.mark.parametrize("version", [0, 3, 4])
@pytest.mark.parametrize("client_id", [None, b"", b"me"])
@pytest.mark.parametrize("cuts", [(), (5,), (15,), (4, 20)])
def test_a_request_is_read_however_it_is_cut(
    version: int, client_id: bytes | None, cuts: tuple[int, ...]
) -> None:
    frame = frame_of(HeartbeatRequest(group_id="group", generation_id=7, member_id="m"), version, client_id)
    edges = [0, *cuts, len(frame)]
    segments = [memoryview(frame)[a:b] for a, b in pairwise(edges)]

    request = read_request(list(segments))

    assert bytes(request.whole) == frame
    message = request.decoded()
    assert isinstance(message, HeartbeatRequest)
    assert (message.group_id, message.generation_id, message.member_id) == ("group", 7, "m")
    assert b"".join(request.encoded(message)) == frame
    tags = b"\0" if version >= 4 else b""
    assert request.response_head == CORRELATION_ID.to_bytes(4, "big") + tags


def test_a_request_may_have_no_body() -> None:
    request = read_request([frame_of(ListGroupsRequest(), 0)])

    assert request.decoded() == ListGroupsRequest()


def test_an_answer_is_read_as_it_was_made() -> None:
    request = read_request([frame_of(HeartbeatRequest(), 4)])

    answer = request.answered_by(HeartbeatResponse(error_code=25))

    assert answer.startswith(request.response_head)
    assert request.read(answer) == HeartbeatResponse(error_code=25)


def test_only_requests_by_leader_have_shapes() -> None:
    assert way_of(ApiKey.HEARTBEAT, 4).shapes is None
    assert way_of(ApiKey.HEARTBEAT, 4).kind is RouteKind.GROUP
    assert way_of(ApiKey.FETCH, 12).shapes is not None


@pytest.mark.parametrize("key", [ApiKey.VOTE, ApiKey.API_VERSIONS])
def test_what_is_not_routed_is_a_bug(key: ApiKey) -> None:
    with pytest.raises(AssertionError, match="not routed"):
        way_of(key, 1)
