"""Why a connection ends, what is written and logged then, and what is left of it."""

import asyncio
import gc
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.endings import REFUSAL_DELAY_S
from bifrost.gateway.loop.paced_calls import BUDGET_NS, PacedCalls
from bifrost.session.close_reason import CloseReason
from support.physical_names import physical_name
from support.stage import messages
from support.stage.fake_transport import framed, receive
from support.stage.messages import produce, topic_id
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import handshake

from .line import HEARTBEAT, FakeGateway, Line, authenticated, connected, played, settled

OWN = topic_id(physical_name("acme", "orders"))

pytestmark = pytest.mark.usefixtures("connects")


def test_a_broker_that_cannot_be_reached_ends_the_connection(connects, logged: list[dict[str, Any]]) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        connects.fails = True
        line = authenticated(gateway)

        line.send(HEARTBEAT, 4)
        await settled()

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.BROKER_UNREACHABLE: 1}
    assert "broker 1 at kafka-1.internal:9092" in logged[-1]["detail"]


def test_if_the_broker_goes_the_client_goes() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.broker_side.connection_lost(None)

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.BROKER_CLOSED: 1}


def test_if_the_client_goes_its_broker_side_goes_and_it_is_counted_out() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        transport = line.broker_side.transport
        assert gateway.connections == {line.connection}

        line.connection.connection_lost(None)

        assert transport.is_closed

    gateway = played(scenario)
    assert gateway.ends == {CloseReason.CLIENT_CLOSED: 1}
    assert gateway.connections == set()


def test_a_client_that_goes_while_its_broker_is_connected_to_leaves_nothing() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        line.send(HEARTBEAT, 4)

        line.connection.connection_lost(ConnectionResetError(104, "Connection reset by peer"))
        await settled()

        side = line.connection._broker_side
        assert side is None or side.transport is None or side.transport.is_closed

    assert played(scenario).ends == {CloseReason.CLIENT_CLOSED: 1}


def test_the_last_answer_is_written_before_the_end() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        line.send(handshake("GSSAPI"), 1)

        assert len(line.client.take_frames()) == 1
        # The answer is read before the end is seen, as at a broker.
        assert not line.client.is_closed
        assert not line.client.is_reading()
        await asyncio.sleep(2 * REFUSAL_DELAY_S)
        assert line.client.is_closed
        assert not line.client.is_aborted

    assert played(scenario).ends == {CloseReason.AUTHENTICATION_FAILED: 1}


def test_a_client_that_does_not_read_its_last_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bifrost.gateway.clients.endings.CLOSE_TIMEOUT_S", 0.01)
    monkeypatch.setattr("bifrost.gateway.clients.endings.REFUSAL_DELAY_S", 0.01)

    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.send(handshake("GSSAPI"), 1)

        await asyncio.sleep(0.05)

        assert line.client.is_aborted

    played(scenario)


def test_who_does_not_authenticate_in_time_is_closed() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.send(handshake(), 1)

        await asyncio.sleep(0.15)

        assert line.client.is_closed

    assert played(scenario, authentication_timeout_ms=100).ends == {CloseReason.AUTHENTICATION_TIMEOUT: 1}


def test_clients_that_are_late_together_end_one_after_the_other() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        turns: list[Callable[[], None]] = []
        now_ns = count(0, BUDGET_NS - 1)  # There is time for one end in a turn.
        gateway.departures = PacedCalls("end_of_connection", turns.append, lambda: next(now_ns))
        lines = [Line(gateway) for _ in range(3)]

        await asyncio.sleep(0.15)
        closed = [[line.client.is_closed for line in lines]]
        for _ in range(2):
            turns.pop()()
            closed.append([line.client.is_closed for line in lines])

        assert closed == [[True, False, False], [True, True, False], [True, True, True]]

    assert played(scenario, authentication_timeout_ms=100).ends == {CloseReason.AUTHENTICATION_TIMEOUT: 3}


def test_who_authenticates_while_its_end_waits_for_a_turn_stays() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        turns: list[Callable[[], None]] = []
        now_ns = count(0, BUDGET_NS - 1)
        gateway.departures = PacedCalls("end_of_connection", turns.append, lambda: next(now_ns))
        other, line = Line(gateway), Line(gateway)
        await asyncio.sleep(0.15)
        assert other.client.is_closed

        line.authenticate()
        turns.pop()()

        assert not line.client.is_closed

    played(scenario, authentication_timeout_ms=100)


def test_who_has_authenticated_may_take_its_time() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)

        await asyncio.sleep(0.15)

        assert not line.client.is_closed

    played(scenario, authentication_timeout_ms=100)


def test_one_connection_too_many_is_closed_at_once() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        first, second = Line(gateway), Line(gateway)

        assert (first.client.is_closed, second.client.is_closed) == (False, True)
        second.connection.connection_lost(None)
        first.connection.connection_lost(None)
        assert not Line(gateway).client.is_closed

    gateway = played(scenario, max_connections=1)
    assert gateway.ends == {CloseReason.TOO_MANY_CONNECTIONS: 1, CloseReason.CLIENT_CLOSED: 1}


@pytest.mark.parametrize(
    ("first_bytes", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", CloseReason.TLS_ON_PLAINTEXT),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", CloseReason.HTTP),
        (b"\x00\x00\x00\x00", CloseReason.FRAME_TOO_LARGE),
        (b"\xff\xff\xff\xff", CloseReason.FRAME_TOO_LARGE),
        (b"\x00\x08\x00\x01", CloseReason.FRAME_TOO_LARGE),
        (framed(b"\x00\x03"), CloseReason.MALFORMED),
        (b"SSH-2.0-OpenSSH_9.6\r\n", CloseReason.FRAME_TOO_LARGE),
    ],
)
def test_who_speaks_something_else_is_told_in_the_log(
    logged: list[dict[str, Any]], first_bytes: bytes, reason: CloseReason
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        receive(line.connection, first_bytes)

        assert line.client.is_closed

    assert played(scenario).ends == {reason: 1}
    (entry,) = logged
    assert (entry["event"], entry["log_level"], entry["reason"], entry["peer"]) == (
        "connection_ended",
        "warning",
        str(reason),
        "192.0.2.1:50000",
    )


def test_what_came_before_the_garbage_is_answered() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        receive(line.connection, framed(request_frame(handshake(), 1, 1)) + b"\xff\xff\xff\xff")

        assert len(line.client.take_frames()) == 1
        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.FRAME_TOO_LARGE: 1}


def test_after_authentication_frames_may_be_larger() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)

        line.send(produce("orders", records=bytes(600_000)), 9)
        await settled()

        (frame,) = line.broker_side.transport.take_frames()
        assert len(frame) > 600_000

    played(scenario)


def test_a_wrong_password_is_one_line_with_the_peer_and_no_password(logged: list[dict[str, Any]]) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.send(handshake(), 1)

        line.send(messages.SaslAuthenticateRequest(auth_bytes=b"\0acme\0a-secret-guess"), 2)

        await asyncio.sleep(2 * REFUSAL_DELAY_S)
        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.AUTHENTICATION_FAILED: 1}
    (entry,) = logged
    assert entry["peer"] == "192.0.2.1:50000"
    assert "a-secret-guess" not in repr(logged)
    assert "acme-password" not in repr(logged)


@pytest.mark.parametrize(
    "frame", [b"\x00\x00\x00\x63", b"\x00", response_frame(messages.HeartbeatResponse(), 4, 99)]
)
def test_a_broker_that_misbehaves_ends_the_connection(frame: bytes) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.answer(frame)

        assert line.client.is_closed
        assert line.client.take_frames() == []

    assert played(scenario).ends == {CloseReason.BROKER_MISBEHAVED: 1}


def test_a_mistake_of_ours_ends_one_connection_with_a_trace(
    logged: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        bad, good = await connected(gateway), await connected(gateway)
        monkeypatch.setattr(bad.connection._session, "receive_from_client", lambda _frame: 1 / 0)

        bad.send(HEARTBEAT, 4)
        good.send(HEARTBEAT, 4)

        assert (bad.client.is_closed, good.client.is_closed) == (True, False)

    assert played(scenario).ends == {CloseReason.INTERNAL_ERROR: 1}
    trace = next(entry for entry in logged if entry["event"] == "internal_error")
    assert trace["tenant"] == "acme"
    assert isinstance(trace["exc_info"], ZeroDivisionError)


def test_a_connection_ends_once() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)

        line.connection.end(CloseReason.SHUTDOWN, "the gateway stops")
        line.connection.end(CloseReason.MALFORMED, "again")
        line.connection.connection_lost(None)

    assert played(scenario).ends == {CloseReason.SHUTDOWN: 1}


@pytest.mark.parametrize("by", ["the client", "a timer"])
def test_an_end_that_cannot_be_told_of_closes_the_connection_and_frees_its_place(
    by: str, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        broker_side = line.broker_side
        monkeypatch.setattr(gateway, "count_end", lambda *_: 1 / 0)

        if by == "a timer":
            line.connection.end(CloseReason.IDLE, "nothing happened")
        line.connection.connection_lost(None)

        assert broker_side.transport is None or broker_side.transport.is_closed
        assert gateway.connections == set()

    played(scenario)
    assert [one["place"] for one in logged if one["event"] == "internal_error"] == ["end_of_connection"]


def test_a_login_that_falls_due_in_a_broken_session_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = await connected(gateway)
        monkeypatch.setattr(line.connection._session, "hold_back", lambda: 1 / 0)

        line.broker_side._login_ends()

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.INTERNAL_ERROR: 1}


def test_a_connection_that_is_over_is_freed_without_the_garbage_collector() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        gc.collect()
        gc.disable()
        try:
            line.connection.connection_lost(None)
            await settled()
            del line
            left = [one for one in gc.get_objects() if isinstance(one, ClientConnection)]
        finally:
            gc.enable()

        assert left == []

    played(scenario)
