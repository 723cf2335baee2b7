"""When a connection counts as idle."""

import pytest

from bifrost.session.close_reason import CloseReason
from support import messages
from support.fake_transport import framed, receive
from support.playbook import request_frame, response_frame

from .line import HEARTBEAT, FakeGateway, Line, authenticated, connected, played

pytestmark = pytest.mark.usefixtures("connects")


def idle_ms(line: Line) -> list[int]:
    """How long it was idle, looked at three times a second apart."""
    return [line.connection.idle_ms(now_ms) for now_ms in (10_000, 11_000, 12_000)]


def test_one_on_which_nothing_comes_is_idle_since_the_first_look() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        assert idle_ms(authenticated(gateway)) == [0, 1000, 2000]

    played(scenario)


def test_one_that_waits_for_an_answer_is_not() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        assert idle_ms(line) == [0, 0, 0]

        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))

        assert line.connection.idle_ms(13_000) == 1000

    played(scenario)


def test_even_a_part_of_a_request_counts() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        assert line.connection.idle_ms(10_000) == 0
        receive(line.connection, framed(request_frame(HEARTBEAT, 4, 9))[:7])

        assert line.connection.idle_ms(11_000) == 0
        assert line.connection.idle_ms(12_000) == 1000

    played(scenario)


def test_one_that_is_not_authenticated_has_its_own_time() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        assert idle_ms(Line(gateway)) == [0, 0, 0]

    played(scenario)


def test_one_that_does_not_read_its_answers_is_not_idle() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.connection.pause_writing()
        assert idle_ms(line) == [0, 0, 0]

        line.connection.resume_writing()
        assert line.connection.idle_ms(13_000) == 1000

    played(scenario)


def test_an_idle_one_ends_in_order() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)

        line.connection.end(CloseReason.IDLE, "nothing happened for 600000 ms")

        assert (line.client.has_written_eof, line.client.is_closed) == (True, False)

    assert played(scenario).ends == {CloseReason.IDLE: 1}
