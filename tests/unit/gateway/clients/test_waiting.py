"""What the messages of a connection need is asked for where other connections wait for it too, and once."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.filters.steps import Need, OthersPoll
from bifrost.forwarding.turns import Turns
from bifrost.gateway.clients.waiting import Waiting
from bifrost.session.needs import ROOM, TURN, IssuerKeys
from bifrost.tenancy.recent_records.shared_poll import PollEnd
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import fetch, topic_id
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage


class Connection:
    """A connection of acme's that goes on as ClientConnection does."""

    tenant = "acme"

    def __init__(self, session: Any) -> None:
        self._session = session

    def meet(self, need: Need) -> None:
        self._session.meet(need)

    def take_turn(self) -> None:
        self.meet(ROOM)


def waiting_of(gateway: Any, session: Any) -> Waiting:
    return Waiting(gateway, session, SimpleNamespace(leave=lambda _connection: None))  # type: ignore[arg-type]


def heartbeat(correlation_id: int) -> bytes:
    return request_frame(messages.HeartbeatRequest(group_id="g"), 4, correlation_id)


def test_a_connection_that_needs_room_has_a_turn_when_there_is_some(stage: Stage) -> None:
    stage.shared.lanes.in_flight_limits.limit(100, {"acme": 1})
    session = stage.play().session
    waiting, connection = (
        waiting_of(SimpleNamespace(shared=stage.shared), session),
        Connection(session),
    )  # type: ignore[arg-type]
    session.receive_from_client(heartbeat(1))
    session.receive_from_client(heartbeat(2))
    assert session.needs == (ROOM,)

    waiting.enrol(connection)  # type: ignore[arg-type]
    waiting.enrol(connection)  # type: ignore[arg-type]
    assert not stage.turns
    session.receive_from_broker(response_frame(messages.HeartbeatResponse(), 4, 1))
    stage.turns.pop(0)()

    assert (session.needs, session.in_flight) == ((), 1)


def test_a_connection_that_leaves_has_no_turn_any_more(stage: Stage) -> None:
    turns = Turns(lambda _call: None, lambda: 0)
    stage.shared.lanes.in_flight_limits.limit(100, {"acme": 1})
    session = stage.play().session
    gateway = SimpleNamespace(shared=stage.shared, turns=turns)
    waiting, connection = (
        waiting_of(gateway, session),
        Connection(session),
    )  # type: ignore[arg-type]
    session.receive_from_client(heartbeat(1))
    session.receive_from_client(heartbeat(2))
    waiting.enrol(connection)  # type: ignore[arg-type]
    waiting.leave(connection)  # type: ignore[arg-type]
    session.receive_from_broker(response_frame(messages.HeartbeatResponse(), 4, 1))

    assert not stage.turns
    session._requests.need = TURN
    waiting.enrol(connection)  # type: ignore[arg-type]
    assert turns.waiting == 1
    waiting.leave(connection)  # type: ignore[arg-type]
    assert turns.waiting == 0


def test_it_is_called_back_once_for_each_fetch_of_keys(stage: Stage) -> None:
    callbacks: list[Any] = []
    authenticators = SimpleNamespace(call_when_keys_are_fetched=callbacks.append)
    session = stage.play().session
    gateway: Any = SimpleNamespace(client_authenticators=authenticators)
    waiting, connection = (
        waiting_of(gateway, session),
        Connection(session),
    )
    for number in (1, 2):
        session._requests.need = IssuerKeys()
        waiting.enrol(connection)  # type: ignore[arg-type]
        waiting.enrol(connection)  # type: ignore[arg-type]
        assert len(callbacks) == number
        callbacks[-1]()
        assert session.needs == ()


def test_a_need_that_nothing_meets_is_an_error(stage: Stage) -> None:
    class Miracle(Need):
        pass

    session = stage.play().session
    session._requests.need = Miracle()

    with pytest.raises(AssertionError, match=r"Miracle\(\)"):
        waiting_of(SimpleNamespace(), session).enrol(Connection(session))  # type: ignore[arg-type]


def test_topic_ids_are_for_the_connection_itself_to_fetch(stage: Stage) -> None:
    session = stage.play().session
    waiting = waiting_of(SimpleNamespace(), session)  # type: ignore[arg-type]
    assert waiting.to_fetch is None

    unknown = topic_id(physical_name("acme", "new"))
    session.receive_from_client(request_frame(fetch(unknown), 13, 1))
    waiting.enrol(Connection(session))  # type: ignore[arg-type]

    assert waiting.to_fetch is not None
    assert waiting.to_fetch.ids == {unknown}  # type: ignore[union-attr]


def test_the_answer_to_another_connection_s_fetch_lets_it_go_on(stage: Stage) -> None:
    session, ends = stage.play().session, [PollEnd(), PollEnd()]
    waiting, connection = (
        waiting_of(SimpleNamespace(), session),
        Connection(session),
    )  # type: ignore[arg-type]
    assert not waiting.is_busy

    async def run() -> None:
        for end in ends:
            session._requests.need = OthersPoll(frozenset({end}), 2**62)
            waiting.enrol(connection)  # type: ignore[arg-type]
            waiting.enrol(connection)  # type: ignore[arg-type]
            assert waiting.is_busy
            if end is ends[1]:
                waiting.leave(connection)  # type: ignore[arg-type]
            end.come()
            for _ in range(3):
                await asyncio.sleep(0)

    asyncio.run(run())
    need = session._requests.need
    assert isinstance(need, OthersPoll)
    assert need.ends == {ends[1]}
