"""What the gateway answers itself again and again: the engine gives the answer that the session gave before."""

import pytest

from bifrost.forwarding.lane import Reason
from bifrost.forwarding.traffic import Traffic
from bifrost.session.authentication import MAX_REMEMBERED_BYTES
from bifrost.session.client_session import ClientSession
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.gateways.journalling import StillClock, journal, rows, written
from support.stage import messages
from support.stage.playbook import request_frame, response_frame, split_frames
from support.stage.stage import Stage

HEARTBEAT = messages.HeartbeatRequest(group_id="g")


def asked(name: str = "tests", correlation_id: int = 1, version: int = 4) -> bytes:
    request = messages.ApiVersionsRequest(client_software_name=name, client_software_version="1")
    return request_frame(request, version, correlation_id)


def answers(session: ClientSession) -> list[bytes]:
    found = split_frames(b"".join(session.to_client))
    session.to_client.clear()
    return found


def traffic(stage: Stage) -> Traffic:
    return stage.shared.lanes.traffic("acme", ApiKey.API_VERSIONS)


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_same_request_is_answered_by_the_engine_and_counted(stage: Stage, version: int) -> None:
    session = stage.play("acme").session
    before = traffic(stage).requests
    assert session.forward_request(asked(version=version)) == Reason.NO_LANE
    session.receive_from_client(asked(version=version))
    (first,) = answers(session)
    sizes = traffic(stage).bytes_received, traffic(stage).bytes_sent

    for number in (2, -7):
        assert session.forward_request(asked(correlation_id=number, version=version)) == Reason.PASSES
    again = answers(session)

    assert [int.from_bytes(one[:4], "big", signed=True) for one in (first, *again)] == [1, 2, -7]
    assert {one[4:] for one in again} == {first[4:]}
    assert traffic(stage).requests == before + 3
    assert traffic(stage).bytes_received - sizes[0] == 2 * (4 + len(asked(version=version)))
    assert traffic(stage).bytes_sent - sizes[1] == 2 * (4 + len(first))
    assert (session.to_broker, session.in_flight) == ([], 0)


def test_another_request_is_the_sessions_to_answer(stage: Stage) -> None:
    session = stage.play("acme").session
    session.receive_from_client(asked("tests"))
    frame = asked("tests")

    for other in (asked("texts"), frame + b"\0", frame[:-1], asked(version=3), frame[:4], frame[:8]):
        assert session.forward_request(other) == Reason.NO_LANE


def test_an_answer_with_an_error_is_not_remembered(stage: Stage) -> None:
    session = stage.play("acme").session

    for _ in range(2):
        assert session.forward_request(asked("?")) == Reason.NO_LANE
        session.receive_from_client(asked("?"))

    assert {int.from_bytes(one[4:6], "big") for one in answers(session)} == {ErrorCode.INVALID_REQUEST}
    assert traffic(stage).errors == [(ErrorCode.INVALID_REQUEST, True, 2)]


def test_a_long_request_is_not_remembered(stage: Stage) -> None:
    session = stage.play("acme").session
    long = asked("n" * MAX_REMEMBERED_BYTES)
    session.receive_from_client(long)

    assert session.forward_request(long) == Reason.NO_LANE


def test_the_answer_waits_for_those_before_it(stage: Stage) -> None:
    session = stage.play("acme").session
    session.receive_from_client(asked())
    session.receive_from_client(request_frame(HEARTBEAT, 4, 5))
    answers(session)

    session.receive_from_client(asked(correlation_id=6))

    assert (answers(session), session.in_flight) == ([], 2)
    session.receive_from_broker(response_frame(messages.HeartbeatResponse(), 4, 5))
    assert [int.from_bytes(one[:4], "big") for one in answers(session)] == [5, 6]


def test_with_a_journal_each_is_the_sessions_to_count(stage: Stage) -> None:
    stage.shared.journal = told = journal(StillClock())
    session = stage.play("acme").session

    for number in range(3):
        assert session.forward_request(asked(correlation_id=number)) == Reason.NO_LANE
        session.receive_from_client(asked(correlation_id=number))
    session.close()

    found = rows(written(told, ends_interval=True), "request", api="ApiVersions")
    assert sum(row["requests"] for row in found) == 3


def test_what_is_remembered_has_a_correlation_id(stage: Stage) -> None:
    session = stage.play("acme").session

    for request, answer in ((bytes(7), bytes(8)), (bytes(8), bytes(7))):
        with pytest.raises(ValueError, match="correlation ID"):
            session.remember_answer(request, answer, Traffic())
