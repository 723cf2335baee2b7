"""When a connection counts as idle."""

import pytest

from bifrost.gateway.clients import client_connection
from bifrost.session.close_reason import CloseReason
from support.stage import messages
from support.stage.fake_transport import framed, receive
from support.stage.playbook import request_frame, response_frame

from .line import HEARTBEAT, FakeGateway, Line, authenticated, connected, played

pytestmark = pytest.mark.usefixtures("connects")


def test_one_on_which_nothing_comes_has_received_no_more() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        connection = authenticated(gateway).connection

        assert connection.bytes_received is not None
        assert connection.bytes_received == connection.bytes_received > 0

    played(scenario)


def test_one_that_waits_for_an_answer_is_not() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        assert line.connection.bytes_received is None

        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))

        assert line.connection.bytes_received is not None

    played(scenario)


def test_even_a_part_of_a_request_counts() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        before = line.connection.bytes_received
        assert before is not None

        receive(line.connection, framed(request_frame(HEARTBEAT, 4, 9))[:7])

        assert line.connection.bytes_received == before + 7

    played(scenario)


def test_one_that_is_not_authenticated_has_its_own_time() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        assert Line(gateway).connection.bytes_received is None

    played(scenario)


def test_one_that_does_not_read_its_answers_is_not_idle() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.connection.pause_writing()
        assert line.connection.bytes_received is None

        line.connection.resume_writing()
        assert line.connection.bytes_received is not None

    played(scenario)


def test_one_that_is_not_read_is_idle_once_its_client_has_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[object] = []
    monkeypatch.setattr(client_connection, "has_peer_closed", lambda transport: transport in closed)

    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        closed.append(line.client)
        assert line.connection.bytes_received is None, "it is read, so that the end will be seen"

        line.broker_side.pause_writing()
        assert line.connection.bytes_received is not None

        closed.clear()
        assert line.connection.bytes_received is None

    played(scenario)


def test_an_idle_one_ends_in_order() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)

        line.connection.end(CloseReason.IDLE, "nothing happened for 600000 ms")

        assert (line.client.has_written_eof, line.client.is_closed) == (True, False)

    assert played(scenario).ends == {CloseReason.IDLE: 1}
