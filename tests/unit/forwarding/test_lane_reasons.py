"""The reason why a message is not sent on as it is: the engine gives it, and the session acts on it."""

import ast
from enum import IntEnum
from pathlib import Path

import pytest

from bifrost.filters.fetch import INITIAL_EPOCH
from bifrost.forwarding import lane as lane_module
from bifrost.forwarding.lane import Reason
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.session.needs import ROOM
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.message import Message
from support.stage import messages
from support.stage.lanes import table_of
from support.stage.messages import fetch, fetched, produce
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

HEARTBEAT = messages.HeartbeatRequest(group_id="g")
LIST_GROUPS = messages.build("ListGroupsRequest", {})
ALL_TOPICS = messages.build("MetadataRequest", {"topics": None})
UNKNOWN_TOPIC = messages.build(
    "MetadataRequest", {"topics": [{"topic_id": b"an ID of a topic", "name": None}]}
)


@pytest.fixture
def session(stage: Stage) -> ClientSession:
    """A session that knows the lanes of all messages here."""
    session = stage.play("acme").session
    table = table_of(stage)
    for api_key, version in (
        (ApiKey.HEARTBEAT, 4),
        (ApiKey.LIST_GROUPS, 0),
        (ApiKey.PRODUCE, 9),
        (ApiKey.FETCH, 12),
        (ApiKey.METADATA, 12),
        (ApiKey.CREATE_TOPICS, 5),
    ):
        lane = table.lane(api_key, version)
        assert lane is not None
        session._lanes[api_key << 16 | version] = lane
    stage.fetch_sessions.claim(1, 7, "acme")
    return session


def test_the_stub_has_the_compiled_reasons() -> None:
    stub = ast.parse(Path(lane_module.__file__).with_name("lane.pyi").read_text(encoding="utf-8"))
    (stubbed,) = (one for one in stub.body if isinstance(one, ast.ClassDef) and one.name == "Reason")
    told = {
        target.id: one.value.value
        for one in stubbed.body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant)
        for target in one.targets
        if isinstance(target, ast.Name)
    }

    assert told == {one.name: int(one) for one in Reason}
    assert issubclass(Reason, IntEnum)
    assert all(told.values()), "zero, which stands for nothing, is no reason"


@pytest.mark.parametrize(
    ("request_", "version", "reason"),
    [
        (HEARTBEAT, 4, Reason.PASSES),
        (HEARTBEAT, 3, Reason.NO_LANE),
        (LIST_GROUPS, 0, Reason.UNUSUAL_HEADER),  # It has no client ID, and nothing stands behind its header.
        (messages.build("CreateTopicsRequest", {"topics": []}), 5, Reason.FOR_FILTERS),
        (produce(acks=1), 9, Reason.PASSES),
        (produce(acks=0), 9, Reason.UNANSWERED),
        (fetch(), 12, Reason.PASSES),
        (fetch(session_id=7, session_epoch=1), 12, Reason.PASSES),
        (fetch(session_id=8, session_epoch=1), 12, Reason.LOST_SESSION),
        (fetch(session_id=8, session_epoch=INITIAL_EPOCH), 12, Reason.FOR_FILTERS),
        (fetch(replica_id=1), 12, Reason.FOR_FILTERS),
        (UNKNOWN_TOPIC, 12, Reason.NOT_IN_PLACE),
    ],
)
def test_a_request_that_is_not_sent_on_leaves_no_trace(
    session: ClientSession, request_: Message, version: int, reason: Reason
) -> None:
    frame = request_frame(request_, version, 1, None)

    assert session.forward_request(frame) == reason
    is_sent = reason == Reason.PASSES
    assert (bool(session.to_broker), session.in_flight) == (is_sent, int(is_sent))

    lane = session._lanes.get(int.from_bytes(frame[:4], "big"))
    if lane is not None:
        # Names are looked up where a message is rewritten.
        judged = Reason.PASSES if reason == Reason.NOT_IN_PLACE else reason
        assert session.judge_request(lane, frame) == judged


def test_tags_of_a_header_are_left_to_the_session_which_asks_again(session: ClientSession) -> None:
    frame = request_frame(HEARTBEAT, 4, 1, b"me", b"\1\5\1x")
    lane = session._lanes[ApiKey.HEARTBEAT << 16 | 4]

    assert session.forward_request(frame) == Reason.UNUSUAL_HEADER
    assert session.judge_request(lane, frame, len(frame) - 20) == Reason.PASSES


def test_a_request_without_room_waits_and_is_judged_again(stage: Stage, session: ClientSession) -> None:
    stage.shared.lanes.in_flight_limits.limit(100, {"acme": 1})
    session.receive_from_client(request_frame(HEARTBEAT, 4, 1))
    session.to_broker.clear()
    acks_0 = request_frame(produce(acks=0), 9, 2)

    assert session.forward_request(request_frame(HEARTBEAT, 4, 2)) == Reason.NO_ROOM
    assert session.forward_request(acks_0) == Reason.NO_ROOM
    session.receive_from_client(acks_0)
    assert session.needs == (ROOM,)
    assert session.forward_request(request_frame(HEARTBEAT, 4, 3)) == Reason.HELD
    session.meet(ROOM)

    assert (len(session.to_broker), session.in_flight) == (1, 1)


def test_a_response_is_judged_with_the_request_that_it_answers(stage: Stage, session: ClientSession) -> None:
    answer = response_frame(messages.HeartbeatResponse(), 4, 1)
    assert session.forward_response(answer) == Reason.NOT_AWAITED
    session.forward_request(request_frame(HEARTBEAT, 4, 1))

    assert session.forward_response(response_frame(messages.HeartbeatResponse(), 4, 2)) == Reason.NOT_AWAITED
    assert session.judge_response(answer[:3]) == Reason.NOT_AWAITED
    assert session.forward_response(answer[:4]) == Reason.UNUSUAL_HEADER
    assert session.forward_response(answer[:4] + b"\1\0\0" + answer[5:]) == Reason.UNUSUAL_HEADER
    stage.shared.lanes.in_flight_limits.load("acme").is_over_budget = True
    assert session.forward_response(answer) == Reason.OVER_BUDGET
    stage.shared.lanes.in_flight_limits.load("acme").is_over_budget = False
    assert session.to_client == []
    assert session.forward_response(answer) == Reason.PASSES
    assert (len(session.to_client), session.in_flight) == (1, 0)


def test_a_new_fetch_session_is_claimed_by_the_session(session: ClientSession) -> None:
    session.forward_request(request_frame(fetch(), 12, 1))
    answer = response_frame(fetched(session_id=9), 12, 1)

    assert session.forward_response(answer) == Reason.NEW_SESSION
    assert session.judge_response(answer, 5, is_claimed=True) == Reason.PASSES
    session.receive_from_broker(answer)

    assert session._fetches.owns(9)
    assert len(session.to_client) == 1


def test_a_client_that_goes_on_with_its_fetch_session_passes_unasked(
    stage: Stage, session: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    judge = session._fetches.owns
    monkeypatch.setattr(session._fetches, "owns", lambda number: asked.append(number) or judge(number))

    def exchange(number: int) -> list[Reason]:
        request = request_frame(fetch(session_id=number, session_epoch=1), 12, 1)
        answer = response_frame(fetched(session_id=number), 12, 1)
        reasons = [session.forward_request(request)]
        return [*reasons, session.forward_response(answer)] if reasons[0] == Reason.PASSES else reasons

    passes = [Reason.PASSES, Reason.PASSES]
    assert [exchange(7), exchange(7), asked] == [passes, passes, [7]]

    stage.fetch_sessions.claim(1, 9, "acme")
    assert [exchange(9), exchange(9), exchange(7), asked] == [passes, passes, passes, [7, 9, 7]]

    stage.fetch_sessions.claim(1, 7, "globex")
    assert [exchange(7), exchange(7)] == [[Reason.LOST_SESSION]] * 2
    assert exchange(0) == passes


def test_the_engine_needs_a_whole_mark(session: ClientSession) -> None:
    with pytest.raises(ValueError, match="not enough memory"):
        session.use_fetch_session(7, bytearray(7), 1)


def test_what_filters_kept_with_a_request_is_looked_at_with_its_answer(session: ClientSession) -> None:
    session.receive_from_client(request_frame(ALL_TOPICS, 12, 1))
    answer = response_frame(messages.build("MetadataResponse", {"cluster_id": "c"}), 12, 1)

    assert session.judge_response(answer) == Reason.KEPT


@pytest.mark.parametrize("unknown", [0, -1, 99, Reason.NOT_AWAITED])
def test_a_request_is_refused_for_a_reason_that_is_not_known(
    session: ClientSession, monkeypatch: pytest.MonkeyPatch, unknown: int
) -> None:
    monkeypatch.setattr(session, "judge_request_fields", lambda _plan, _fields: unknown)

    with pytest.raises(AssertionError, match="no reason to send"):
        session.receive_from_client(request_frame(produce(acks=0), 9, 1))

    assert (session.to_broker, session.in_flight) == ([], 0)


@pytest.mark.parametrize("unknown", [0, -1, 99, Reason.UNANSWERED])
def test_a_response_is_refused_for_a_reason_that_is_not_known(
    session: ClientSession, monkeypatch: pytest.MonkeyPatch, unknown: int
) -> None:
    session.forward_request(request_frame(fetch(), 12, 1))
    monkeypatch.setattr(session, "judge_response_fields", lambda _fields: unknown)

    with pytest.raises(AssertionError, match="no reason to send"):
        session.receive_from_broker(response_frame(fetched(session_id=9), 12, 1))

    assert session.to_client == []


def test_an_answer_to_no_request_ends_the_session(session: ClientSession) -> None:
    with pytest.raises(SessionEnded, match="no request asked for"):
        session.receive_from_broker(response_frame(messages.HeartbeatResponse(), 4, 1))


def test_a_body_does_not_begin_outside_its_frame(session: ClientSession) -> None:
    frame = request_frame(HEARTBEAT, 4, 1)
    lane = session._lanes[ApiKey.HEARTBEAT << 16 | 4]

    for start in (-1, len(frame) + 1):
        with pytest.raises(ValueError, match="behind its header"):
            session.judge_request(lane, frame, start)
    with pytest.raises(ValueError, match="behind its header"):
        session.judge_request(lane, frame[:9])
