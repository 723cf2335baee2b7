"""A session whose tenant has more in flight than it may."""

import pytest

from bifrost.forwarding.turns import Turns
from bifrost.session.client_session import ClientSession
from bifrost.session.needs import ROOM, TURN
from support.stage import messages
from support.stage.messages import produce
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

HEARTBEAT = messages.HeartbeatRequest(group_id="g")


def send(session: ClientSession, correlation_id: int, message: object = HEARTBEAT, version: int = 4) -> None:
    session.receive_from_client(request_frame(message, version, correlation_id))


def answer(session: ClientSession, correlation_id: int) -> None:
    session.receive_from_broker(response_frame(messages.HeartbeatResponse(), 4, correlation_id))


@pytest.fixture
def limited(stage: Stage) -> Stage:
    """acme may have two requests in flight."""
    stage.shared.lanes.in_flight_limits.limit(100, {"acme": 2})
    return stage


def waits_for_room(session: ClientSession) -> bool:
    return ROOM in session.needs


def sessions(stage: Stage, *tenants: str) -> list[ClientSession]:
    return [stage.play(tenant).session for tenant in tenants]


@pytest.mark.parametrize("is_warm", [False, True])
def test_one_too_many_of_the_tenant_is_held(limited: Stage, is_warm: bool) -> None:
    first, second, other = sessions(limited, "acme", "acme", "globex")
    if is_warm:  # The short way knows the lane.
        send(second, 9)
        answer(second, 9)
        second.to_broker.clear()
    send(first, 1)
    send(first, 2)

    send(second, 1)
    send(other, 1)

    assert (waits_for_room(second), second.is_holding, second.in_flight, second.to_broker) == (
        True,
        True,
        0,
        [],
    )
    assert (waits_for_room(other), other.in_flight) == (False, 1)
    assert limited.shared.lanes.in_flight_limits.load("acme").in_flight == 2


def test_a_turn_is_for_one_request_while_there_is_no_more_room(limited: Stage) -> None:
    first, second = sessions(limited, "acme", "acme")
    send(first, 1)
    send(first, 2)
    for correlation_id in (1, 2, 3):
        send(second, correlation_id)
    answer(first, 1)

    second.meet(ROOM)

    assert (second.in_flight, waits_for_room(second)) == (1, True)
    answer(first, 2)
    second.meet(ROOM)
    assert second.in_flight == 2
    answer(second, 1)
    second.meet(ROOM)
    assert (second.in_flight, waits_for_room(second), second.is_holding) == (2, False, False)


def test_what_follows_keeps_its_order_whatever_it_is(limited: Stage) -> None:
    first, second = sessions(limited, "acme", "acme")
    send(first, 1)
    send(first, 2)
    versions = messages.ApiVersionsRequest(client_software_name="x", client_software_version="1")
    second.to_client.clear()

    send(second, 1)
    send(second, 2, versions, 3)
    assert second.to_client == []
    answer(first, 1)
    second.meet(ROOM)
    assert second.to_client == []
    answer(second, 1)

    answered = b"".join(second.to_client)
    assert answered[4:8] == (1).to_bytes(4, "big")
    assert (2).to_bytes(4, "big") in answered


def test_what_needs_no_answer_is_not_counted(limited: Stage) -> None:
    (one,) = sessions(limited, "acme")

    for correlation_id in range(5):
        send(one, correlation_id, produce("orders", acks=0), 9)

    assert limited.shared.lanes.in_flight_limits.load("acme").in_flight == 0
    assert not one.is_holding


def test_what_a_connection_had_in_flight_when_it_ended_is_not_counted_any_more(limited: Stage) -> None:
    first, second = sessions(limited, "acme", "acme")
    send(first, 1)
    send(first, 2)

    first.close()

    assert limited.shared.lanes.in_flight_limits.load("acme").in_flight == 0
    send(second, 1)
    assert second.in_flight == 1


def test_a_stopped_session_waits_no_more(limited: Stage) -> None:
    first, second = sessions(limited, "acme", "acme")
    send(first, 1)
    send(first, 2)
    send(second, 1)

    second.stop()
    second.meet(ROOM)

    assert (waits_for_room(second), second.has_finished, second.to_broker) == (False, True, [])


def test_room_that_was_not_used_in_a_turn_is_asked_for_again(limited: Stage) -> None:
    """The slice may end before the request is sent on, and others have the room by then."""
    first, second = sessions(limited, "acme", "acme")
    send(first, 1)
    send(first, 2)
    send(second, 1)
    turns = limited.shared.turns = Turns(lambda _call: None, lambda: 0)
    turns._is_scheduled = True  # The slice is over.

    second.meet(ROOM)
    assert second.needs == (TURN,)
    limited.shared.turns = None
    second.meet(TURN)

    assert (waits_for_room(second), second.in_flight) == (True, 0)


def test_a_stopped_session_is_not_let_go_any_more(limited: Stage) -> None:
    """A login at the broker that is renewed meanwhile ends so."""
    (one,) = sessions(limited, "acme")
    one.hold_back()
    one.stop()

    one.let_go()

    assert one.is_holding
    assert one.has_finished


def test_its_own_limit_holds_a_turn_back(stage: Stage) -> None:
    limits = stage.shared.lanes.in_flight_limits
    limits.limit(100, {"acme": 2})
    first, second = sessions(stage, "acme", "acme")
    second._max_in_flight = 1
    send(first, 1)
    send(second, 1)
    send(second, 2)  # Held for the connection's own sake.
    assert not waits_for_room(second)

    answer(second, 1)

    assert second.in_flight == 1
