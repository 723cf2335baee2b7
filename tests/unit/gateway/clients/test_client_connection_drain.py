"""What becomes of a connection when the gateway stops."""

import asyncio

import pytest

from bifrost.session.close_reason import CloseReason
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import framed, receive
from support.stage.messages import fetch, topic_id
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import handshake

from .line import HEARTBEAT, FakeGateway, Line, authenticated, connected, played, settled

pytestmark = pytest.mark.usefixtures("connects")

DRAINED = {CloseReason.DRAINED: 1}


def assert_left(line: Line) -> None:
    """The connection has ended in order: nothing more is written, and what comes is thrown away."""
    assert line.connection.has_ended
    assert (line.client.has_written_eof, line.client.is_closed) == (True, False)
    assert line.client.is_reading()
    assert line.client.protocol is not None


def test_one_with_nothing_in_flight_ends_at_once() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)

        line.connection.drain()

        assert_left(line)
        line.client.protocol.connection_lost(None)
        assert gateway.connections == set()

    assert played(scenario).ends == DRAINED


def test_one_that_was_not_authenticated_yet_ends_as_well() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.send(handshake(), 1)

        line.connection.drain()

        assert len(line.client.take_frames()) == 1
        assert_left(line)

    assert played(scenario).ends == DRAINED


def test_what_is_in_flight_is_answered_and_nothing_more_is_read() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        line.send(HEARTBEAT, 4)
        transport = line.broker_side.transport

        line.connection.drain()

        assert not line.client.is_reading()
        line.send(HEARTBEAT, 4)  # It was received before, and is read now.
        assert len(transport.take_frames()) == 1
        for correlation_id in (3, 4):
            assert not line.connection.has_ended
            line.answer(response_frame(messages.HeartbeatResponse(), 4, correlation_id))
            assert len(line.client.take_frames()) == 1
        assert_left(line)
        assert transport.is_closed

    assert played(scenario).ends == DRAINED


def test_the_last_answer_is_written_once_where_the_client_has_to_read_first() -> None:
    """The transport says that it is full while the answer is being written, and then nothing is in flight."""

    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        line.connection.drain()
        line.client.is_full = True

        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))

        assert len(line.client.take_frames()) == 1
        assert_left(line)

    assert played(scenario).ends == DRAINED


def test_a_part_of_a_request_is_dropped() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        frame = framed(request_frame(HEARTBEAT, 4, 9))
        receive(line.connection, frame[:-3])

        line.connection.drain()
        receive(line.connection, frame[-3:])
        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))

        assert line.broker_side.transport.take_frames() == []
        assert len(line.client.take_frames()) == 1
        assert_left(line)

    assert played(scenario).ends == DRAINED


def test_a_request_that_waits_for_its_broker_is_still_sent() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.send(HEARTBEAT, 4)

        line.connection.drain()
        assert not line.connection.has_ended
        await settled()

        assert len(line.broker_side.transport.take_frames()) == 1
        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))
        assert_left(line)

    assert played(scenario).ends == DRAINED


def test_a_request_that_waits_for_a_look_up_is_dropped() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        gateway.cluster.may_answer.clear()
        line = await connected(gateway)
        line.send(fetch(topic_id(physical_name("acme", "orders"))), 13)
        assert gateway.cluster.asked == []
        await settled()
        assert len(gateway.cluster.asked) == 1

        line.connection.drain()
        line.answer(response_frame(messages.HeartbeatResponse(), 4, 3))
        gateway.cluster.may_answer.set()
        await settled()

        assert_left(line)

    assert played(scenario).ends == DRAINED


def test_one_that_has_ended_is_left_alone() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.connection.end(CloseReason.MALFORMED, "")

        line.connection.drain()

        assert not line.client.has_written_eof

    assert played(scenario).ends == {CloseReason.MALFORMED: 1}


def test_over_tls_the_connection_is_closed() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.client.is_tls = True

        line.connection.drain()
        await asyncio.sleep(0)

        assert (line.client.has_written_eof, line.client.is_closed) == (False, True)

    assert played(scenario).ends == DRAINED
